"""One emulator for many programs: it says in its state's folder where it listens, and ends when nobody uses it.

A user holds a shared lock on the file `in-use` of that folder for as long as it works, and sets the file's time when it
begins and ends. The kernel lets go of a lock when its process dies, whatever ends it.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

ADDRESS, IN_USE = "address.json", "in-use"
_BETWEEN = 0.1
_PRIVATE = 0o600


class StateInUseError(RuntimeError):
    """Two emulators on one state would answer from two minds."""


def state_folder(given: Path | None, stack: ExitStack) -> Path:
    """The folder of an emulator's own, locked as long as `stack` is open; a temporary one where none is given."""
    if given is None:
        return Path(stack.enter_context(TemporaryDirectory(prefix="overnight-emulator-")))
    given.mkdir(parents=True, exist_ok=True)
    lock = stack.enter_context((given / "lock").open("w"))
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise StateInUseError(f"{given}: another emulator is using this state") from error
    (given / ADDRESS).unlink(missing_ok=True)  # of one that was killed
    return given


@contextmanager
def address_file(folder: Path, url: str, time_scale: float, truth: Sequence[Path]) -> Iterator[None]:
    """Who may read the folder finds the emulator by it. The truth's files have digests, to tell when they change."""
    told = {
        "url": url,
        "pid": os.getpid(),
        "time_scale": time_scale,
        "truth": [(str(path), hashlib.sha256(path.read_bytes()).hexdigest()) for path in truth],
    }
    path = folder / ADDRESS
    part = path.with_suffix(".part")
    part.unlink(missing_ok=True)
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
    with os.fdopen(handle, "wb") as file:
        file.write(msgspec.json.encode(told))
    part.replace(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


async def until_unused(folder: Path, seconds: float, stopped: asyncio.Event) -> int:
    """Until nobody has used it for so long. A file that was last set in 1970 says that it is to end at once.

    Returns the lock that keeps newcomers waiting, to be closed when the state is; -1 if there is none.
    """
    last_used, last_set = time.monotonic(), 0
    while not stopped.is_set():
        await asyncio.sleep(_BETWEEN)
        try:
            handle = os.open(folder / IN_USE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
        except OSError:
            return -1  # its folder is gone
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            last_used = time.monotonic()
        else:
            found = os.fstat(handle).st_mtime_ns
            if found != last_set:
                last_used, last_set = time.monotonic(), found
            if found == 0 or time.monotonic() - last_used >= seconds:
                return handle
        os.close(handle)
    return -1
