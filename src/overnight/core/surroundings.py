"""What the system says when it refuses a file or a folder, and what the user can do about it.

Everything here is of the surroundings: a full disk, a missing right, a limit on open files. It is never a fault of
ours, and it gets one line: the path, the cause, the way out.
"""

import errno
from pathlib import Path

from overnight.core.errors import LedgerError

GO_ON = "then the same command goes on from here"
_ELSEWHERE = "or keep runs in another folder: --runs DIR"
_ROOM = f"free some room there, {GO_ON}"
_RIGHT = f"give yourself the right to, {_ELSEWHERE}"
_IN_THE_WAY = f"move what is in the way, {_ELSEWHERE}"

# By errno: the cause in plain words, and the way out.
_KNOWN: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", _ROOM),
    errno.EDQUOT: ("your quota on that disk is used up", _ROOM),
    errno.EFBIG: ("the file would pass the limit on file sizes", f"raise it (`ulimit -f unlimited`), {GO_ON}"),
    errno.EMFILE: ("this process may not open more files", f"raise the limit (`ulimit -n 1024`), {GO_ON}"),
    errno.ENFILE: ("the system may not open more files", f"close other programs, {GO_ON}"),
    errno.EACCES: ("no permission", _RIGHT),
    errno.EPERM: ("not permitted", _RIGHT),
    errno.EROFS: ("the file system is read-only", f"make it writable, {_ELSEWHERE}"),
    errno.EIO: ("the disk reports an error", "check the disk; copy the run to another one before going on"),
    errno.ENAMETOOLONG: ("the name is too long", "choose a shorter one, for a run with --as NAME"),
    errno.ENOTDIR: ("a file is in the place of a folder", _IN_THE_WAY),
    errno.EISDIR: ("a folder is in the place of a file", _IN_THE_WAY),
    errno.EEXIST: ("something else has that name", _IN_THE_WAY),
    errno.ELOOP: ("a symbolic link is in the place of a file", "put the real file there"),
    errno.ENOENT: ("it is not there", "check the path, and whether somebody has removed it"),
    errno.ENOMEM: ("the machine is out of memory", f"close other programs, {GO_ON}"),
}


def words_of(error: OSError) -> str:
    """`the disk is full; free some room there, ...`."""
    if error.errno is None or error.errno not in _KNOWN:
        return error.strerror or str(error)
    return "; ".join(_KNOWN[error.errno])


def file_words(error: OSError) -> str:
    """The same with the path, for an error that nobody nearer has put into words."""
    where = error.filename2 or error.filename
    text = where.decode(errors="replace") if isinstance(where, bytes) else where
    return f"{text}: {words_of(error)}" if text is not None else words_of(error)


def disk_trouble(path: Path, error: OSError, what: str = "cannot write") -> LedgerError:
    return LedgerError(f"{path}: {what}: {words_of(error)}")
