"""What the user has agreed to before: one small file of the user's own, never a part of a run."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec

from overnight.core.errors import StudyError


class Kept(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hosts, each with the variables whose keys may go there (an empty name: no key), and paths that may be read."""

    hosts: dict[str, tuple[str, ...]] = {}
    paths: tuple[str, ...] = ()

    def with_host(self, host: str, variable: str) -> "Kept":
        variables = (*self.hosts.get(host, ()), variable)
        return msgspec.structs.replace(self, hosts={**self.hosts, host: tuple(dict.fromkeys(variables))})

    def with_path(self, path: str) -> "Kept":
        return msgspec.structs.replace(self, paths=tuple(dict.fromkeys((*self.paths, path))))


def kept_file() -> Path:
    """By the process's own environment alone: what a `.env` says does not count here."""
    given = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(given) if given.startswith("/") else Path(os.path.expanduser("~/.config"))  # noqa: PTH111 - never raises
    return base / "overnight" / "allowed.json"


def read_kept() -> Kept:
    path = kept_file()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Kept)
    except (FileNotFoundError, NotADirectoryError):
        return Kept()
    except OSError as error:
        raise StudyError(f"{path}: cannot read what you have allowed: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: not a list of what you have allowed ({error}); mend it or remove it") from None


def write_kept(kept: Kept) -> bool:
    """Whole or not at all, for the user's eyes only. False where the user has no place for it."""
    path = kept_file()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent, prefix="allowed.")  # 0600, whatever the umask
    except OSError:
        return False
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
        os.replace(part, path)  # noqa: PTH105 - as the rest here
    except OSError:
        with suppress(OSError):
            os.unlink(part)  # noqa: PTH108 - same
        return False
    return True
