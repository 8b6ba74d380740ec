"""Commands that the dashboard starts: each is what a user would type, in a process of its own.

So a run is held in the ordinary way, what is heavy takes no memory here, and a fault ends nobody but itself.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from overnight.core.clock import time_text
from overnight.core.errors import Unavailable
from overnight.settings import Settings

# Lines of what a command said that are kept to be shown.
_MOST_LINES = 200
_LONGEST_LINE = 2_000
# Seconds that a command has to put on record what it is at, when the dashboard ends.
_PATIENCE = 30.0


@dataclass
class Command:
    """One command: what it was told to do, what it says, and how it ended."""

    verb: str
    process: subprocess.Popen[str]
    begun_at: float
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_MOST_LINES))
    said: int = 0

    @property
    def exit_code(self) -> int | None:
        """None while it works."""
        return self.process.poll()

    @property
    def begun_text(self) -> str:
        return time_text(self.begun_at)

    def wait(self, seconds: float) -> int | None:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None


class Commands:
    """The latest command of each kind for each run."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: dict[tuple[str, str], Command] = {}
        self._starting = threading.Lock()

    def latest(self, run: str, kind: str) -> Command | None:
        return self._known.get((run, kind))

    def newest(self, run: str, kinds: Sequence[str]) -> Command | None:
        found = [one for kind in kinds if (one := self.latest(run, kind)) is not None]
        return max(found, key=lambda one: one.begun_at, default=None)

    def works(self, run: str, kind: str) -> bool:
        known = self.latest(run, kind)
        return known is not None and known.exit_code is None

    def start(self, run: str, kind: str, verb: str, *arguments: str | Path) -> Command:
        """Unless one of this kind works for the run already: then that one."""
        with self._starting:
            known = self.latest(run, kind)
            if known is not None and known.exit_code is None:
                return known
            begun = self._known[run, kind] = Command(
                verb, _process(self._typed(verb, run, arguments), self._runs()), time.time()
            )
        threading.Thread(target=_listen, args=(begun,), name=f"{verb} {run}", daemon=True).start()
        return begun

    def _typed(self, verb: str, run: str, arguments: Sequence[str | Path]) -> list[str]:
        rehearsal = "--emulate" if self._settings.emulate else "--no-emulate"
        return [sys.executable, "-m", "overnight", verb, run, *map(str, arguments), rehearsal]

    def _runs(self) -> str:
        """Told by the environment: an address may have a password in it, and all can see what a command is given."""
        database = self._settings.database
        return str(self._settings.runs.resolve()) if database is None else database.text

    def signs(self, run: str | None) -> tuple[tuple[str, str, int, int | None], ...]:
        """What is different when a command, of a run or of any, has said something or has ended."""
        known = sorted(self._known.items())
        return tuple((*key, one.said, one.exit_code) for key, one in known if run is None or key[0] == run)

    def close(self) -> None:
        """What still works is stopped as by Ctrl-C: it puts on record what it is at, and ends.

        Whoever does not wait for that leaves nothing that works on: it is killed, as at the end of our patience.
        """
        working = [one for one in self._known.values() if one.exit_code is None]
        try:
            for one in working:
                one.process.send_signal(signal.SIGINT)
            until = time.monotonic() + _PATIENCE
            for one in working:
                one.wait(max(0.0, until - time.monotonic()))
        finally:
            for one in working:
                if one.exit_code is None:
                    one.process.kill()
                    one.process.wait()


def _process(typed: Sequence[str], runs: str) -> subprocess.Popen[str]:
    """In a session of its own: Ctrl-C in the dashboard's terminal is for the dashboard."""
    try:
        return subprocess.Popen(  # noqa: S603 - our own program, with the name of a run that is there
            typed,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, "PYTHONUNBUFFERED": "1", "OVERNIGHT_RUNS": runs},
            start_new_session=True,
        )
    except OSError as error:
        raise Unavailable(f"a command could not be started: {error.strerror or error}") from error


def _listen(command: Command) -> None:
    pipe = command.process.stdout
    assert pipe is not None
    with pipe:
        for line in pipe:
            command.lines.append(line.rstrip("\n")[:_LONGEST_LINE])
            command.said += 1
    command.process.wait()
