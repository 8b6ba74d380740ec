"""One emulator for all rehearsals of a folder: found or started by whoever needs it, shared by processes and by calls.

In its state's folder lie, beside what it was sent:

    lock           held by the emulator as long as it lives: who finds it free knows that `address.json` is stale
    in-use         shared by all who use it; the emulator ends when nobody has for a while, and its state stays
    starting       held by whoever looks for it or starts it, so that two at once start one
    address.json   written by the emulator: where it listens, how fast its time passes, what it holds for true

The kernel lets go of a lock when its process dies, so nothing here outlives a `kill -9`, and no other program can pass
for the emulator: its port is its own while the lock is held.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from overnight.core.errors import StudyError, Unavailable
from overnight.core.opening import PRIVATE_FILE, make_folders_above, make_private_folder
from overnight.core.surroundings import disk_trouble
from overnight.emulation.shared_state import state_of
from overnight.settings import Settings
from overnight.store.lock import take_lock

# How long an emulator that nobody uses stays, for the next call of a loop or a script. Real seconds.
LINGERS = 5
_PATIENCE, _BETWEEN = 60.0, 0.01
# The emulator itself looks whether anybody uses it, which takes an instant; users hold on for longer.
_AN_INSTANT = 0.2
_OURS = re.compile(r"http://127\.0\.0\.1:\d{1,5}")
_NEVER_USED = (0, 0)


class _Told(msgspec.Struct, frozen=True):
    """What a running emulator says of itself. `truth` are the files of its truth, with their digests."""

    url: str
    time_scale: float
    truth: list[tuple[str, str]]


class Rehearsal:
    """The provider of a folder's rehearsals, from when it is first needed until `close`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._state = state_of(settings)
        self._in_use: int | None = None
        self._made = False
        self._url = ""

    def address(self) -> str:
        """Where the emulator listens; it is found, or started, by the first call."""
        if not self._url:
            try:
                self._url = self._found()
            except BaseException:
                self._let_go()
                raise
        return self._url

    def close(self, *, keep: bool = True) -> None:
        """The state is removed only by who made it, when it is not to be kept and nobody else uses it."""
        self._let_go()
        if self._made and not keep:
            _remove(self._state)

    def _let_go(self) -> None:
        if self._in_use is not None:
            with suppress(OSError):
                os.utime(self._in_use)
            os.close(self._in_use)
            self._in_use = None

    def _found(self) -> str:
        starting = self._taken("starting")
        try:
            self._use()
            return self._found_or_started()
        finally:
            os.close(starting)

    def _found_or_started(self) -> str:
        child: subprocess.Popen[bytes] | None = None
        for _ in _patiently():
            if (child is not None and child.poll() is None) or _is_running(self._state):
                told = _told(self._state)
                if told is not None and self._fits(told):
                    return told.url
                child = child if told is None else None
            elif child is None:
                child = _start(self._state, self._settings)
            else:
                raise Unavailable(_why_it_ended(self._state))
        raise Unavailable(f"{self._state}: another emulator uses this folder; end it, then the same command goes on")

    def _use(self) -> None:
        self._in_use = self._taken("in-use", shared=True)
        os.utime(self._in_use)

    def _taken(self, name: str, *, shared: bool = False) -> int:
        """A lock in the state's folder, which is made if it is not there."""
        state = self._state
        problem: OSError | None = None
        for _ in _patiently():
            try:
                if not state.is_dir():
                    make_folders_above(state)
                    make_private_folder(state)
                    self._made = True
                return take_lock(state / name, shared=shared)
            except (FileNotFoundError, BlockingIOError) as error:
                # Somebody removes what they made, or the emulator is about to end: then it is made anew.
                problem = error
            except OSError as error:
                raise disk_trouble(state, error, "cannot keep the rehearsal there") from error
        raise disk_trouble(state, problem or OSError(), "cannot keep the rehearsal there") from problem

    def _fits(self, told: _Told) -> bool:
        """Whether we may use it; one with another truth makes way if nobody else uses it."""
        other = _difference(told, self._settings)
        if other is None:
            return True
        self._let_go()
        has_ended = _end(self._state)
        self._use()
        if has_ended:
            return False
        # Who has no truth of their own takes the one that is there.
        if self._settings.truth is None and told.time_scale == self._settings.time_scale:
            return True
        raise StudyError(
            f"rehearsals in {self._state.parent} are under way with {other}; wait for them, or rehearse in another "
            "folder: --runs DIR"
        )


@contextmanager
def emulator(settings: Settings, keep: Callable[[], bool] = lambda: True) -> Iterator[Rehearsal | None]:
    """The rehearsals' provider while the block runs; None when this is not a rehearsal."""
    if not settings.emulate:
        yield None
        return
    rehearsal = Rehearsal(settings)
    try:
        yield rehearsal
    finally:
        rehearsal.close(keep=keep())


def _patiently(seconds: float = _PATIENCE) -> Iterator[None]:
    """At once, and then again and again for a while."""
    until = time.monotonic() + seconds
    yield
    while time.monotonic() < until:
        time.sleep(_BETWEEN)
        yield


def _is_running(state: Path) -> bool:
    """Whether an emulator lives on this state; asked by one process at a time, so that none stands in its way."""
    try:
        os.close(take_lock(state / "lock", shared=True))
    except BlockingIOError:
        return True
    return False


def _told(state: Path) -> _Told | None:
    """What the emulator that holds the lock says; None while it says nothing."""
    try:
        told = msgspec.json.decode((state / "address.json").read_bytes(), type=_Told)
    except (OSError, msgspec.DecodeError):
        return None
    return told if _OURS.fullmatch(told.url) else None


def _difference(told: _Told, settings: Settings) -> str | None:
    """In what the emulator is not the one that was asked for, in words for its other users."""
    if told.time_scale != settings.time_scale:
        return f"time {told.time_scale:g} times as fast, and not {settings.time_scale:g} times (OVERNIGHT_TIME_SCALE)"
    wanted = None if settings.truth is None else os.path.realpath(settings.truth)
    has = told.truth[0][0] if told.truth else None
    if wanted == has and all(_digest(Path(path)) == digest for path, digest in told.truth):
        return None
    theirs = "no truth file" if has is None else f"the truth file {has}"
    if wanted == has:
        return f"{theirs} as it was before it was changed"
    return f"{theirs}, and not {'none' if wanted is None else wanted}"


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


def _start(state: Path, settings: Settings) -> "subprocess.Popen[bytes]":
    (state / "address.json").unlink(missing_ok=True)
    # -P: no module is taken from the working folder, which may be a stranger's.
    command = [sys.executable, "-P", "-m", "overnight_emulator", "--port", "0", "--state", str(state.resolve())]
    command += ["--time-scale", str(settings.time_scale), "--until-unused", str(LINGERS), "--strict"]
    if settings.truth is not None:
        command += ["--truth", os.path.realpath(settings.truth)]
    log = os.open(state / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE_FILE)
    try:
        # In a session of its own: Ctrl-C in a terminal reaches every process of the group, and others may use it too.
        # None of our streams, which would be waited for as long as it lives.
        child = subprocess.Popen(  # noqa: S603 - our own module
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )
    finally:
        os.close(log)
    threading.Thread(target=child.wait, daemon=True, name="emulator").start()  # whenever it ends, no zombie stays
    return child


def _why_it_ended(state: Path) -> str:
    with suppress(OSError):
        said = (state / "log").read_text(errors="replace").strip().splitlines()
        if said:
            return f"the emulator did not start: {said[-1].removeprefix('overnight emulator: ')}"
    return "the emulator did not start; `overnight emulator` shows why"


def _end(state: Path) -> bool:
    """End the emulator if nobody uses it, and wait until it has ended. Its state stays."""
    for _ in _patiently(_AN_INSTANT):
        with suppress(BlockingIOError):
            alone = take_lock(state / "in-use")
            os.utime(alone, _NEVER_USED)
            os.close(alone)
            return _has_ended(state)
    return False


def _has_ended(state: Path) -> bool:
    for _ in _patiently():
        if not _is_running(state):
            return True
        if (state / "in-use").stat().st_mtime != 0:  # somebody has come meanwhile
            return False
    return False


def _remove(state: Path) -> None:
    """Unless others use it, or are about to."""
    with suppress(OSError):
        starting = take_lock(state / "starting")
        try:
            if _end(state):
                alone = take_lock(state / "in-use")
                shutil.rmtree(state, ignore_errors=True)
                os.close(alone)
        finally:
            os.close(starting)
