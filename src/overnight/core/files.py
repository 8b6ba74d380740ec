"""Files that users name: looked at before they are opened, so that nobody waits at a device for ever."""

import stat
from pathlib import Path

from overnight.core.arguments import misfit
from overnight.core.errors import StudyError

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


def plain_file(path: Path, what: str) -> Path:
    """The path of a file that can be read to its end; StudyError begins with `what` and says what is there instead."""
    name = f"{what} {path}" if what else str(path)
    problem = misfit(path, Path)
    if problem is not None:
        raise StudyError(f"{what or 'file'}: {problem}")
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            with path.open("rb"):
                return path
    except FileNotFoundError:
        raise StudyError(f"{name}: there is no such file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StudyError(f"{name}: cannot read: {reason}") from None
    kind = next((words for is_kind, words in _KINDS if is_kind(mode)), "a device")
    raise StudyError(f"{name}: this is {kind}, not a file")
