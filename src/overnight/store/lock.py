"""A lock on a file that the kernel lets go of when its process dies, whatever ends it."""

import fcntl
import os
from pathlib import Path


def take_lock(path: Path, *, shared: bool = False) -> int:
    """The open lock, to be closed when it is no longer needed; BlockingIOError when others hold it.

    Whoever removes a folder removes the lock in it: a lock on a file that is no longer under its name protects
    nothing, and is taken anew.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
            if _is_at(path, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether a process holds the lock now. It is looked at, and let go of in the same breath."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False  # nobody has ever held it
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def _is_at(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False
