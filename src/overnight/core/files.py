"""Files that users name: looked at before they are opened, so that nobody waits at a device for ever."""

import stat
from pathlib import Path

from overnight.core.arguments import misfit
from overnight.core.errors import StudyError

_KINDS = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))


def text_file(path: Path, what: str) -> str:
    """What a file of text holds."""
    try:
        return plain_file(path, what).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise StudyError(f"{what} {path}: not UTF-8: byte 0x{error.object[error.start]:02x} at {error.start}") from None
    except OSError as error:
        raise StudyError(f"{what} {path}: cannot read: {error.strerror}") from None


def folder_at(path: Path, what: str) -> Path:
    """A folder that is there, or is made now."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise StudyError(f"{what}: {path} is there already, and is no folder") from None
    except OSError as error:
        raise StudyError(f"{what}: the folder {path} cannot be made: {error.strerror}") from None
    return path


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
