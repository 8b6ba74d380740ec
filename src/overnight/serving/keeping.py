"""Open runs that nobody works on are taken up: so a laptop may submit, and sleep.

Each is resumed by a command of its own, which holds the run in the ordinary way. One that ends in trouble is tried
again later, and later each time: a key may be missing here, or a provider away.
"""

import threading
import time
from collections.abc import Callable

from overnight.api.places import all_runs
from overnight.api.status import unfinished
from overnight.core.errors import OvernightError
from overnight.serving.commands import Commands
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

RESUME = "resume"
# Seconds between two looks at all runs, and between two tries of one that ended in trouble: these double.
_BETWEEN_LOOKS = 20.0
_FIRST_WAIT, _LONGEST_WAIT = 60.0, 3600.0


class Keeper:
    """Looks at all runs now and then, in a thread of its own, until it is stopped."""

    def __init__(
        self, settings: Settings, commands: Commands, say: Callable[[str], None], every: float = _BETWEEN_LOOKS
    ) -> None:
        self._settings = settings
        self._commands = commands
        self._say = say
        self._every = every
        # By run: when it may be tried again, and how long was waited before.
        self._waits: dict[str, tuple[float, float]] = {}
        self._taken: set[str] = set()
        self._said = ""
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="keeper", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _keep(self) -> None:
        while not self._over.is_set():
            try:
                self.look()
            except OvernightError as error:
                self._tell(str(error))  # a database may be away for a while
            self._over.wait(self._every)

    def look(self) -> None:
        """Take up every run that is open, that nobody works on, and whose turn it is."""
        for folder in all_runs(self._settings):
            if self._over.is_set():
                return
            self._note_end(folder.name)
            if self._is_due(folder):
                self._commands.start(folder.name, RESUME, RESUME)
                self._taken.add(folder.name)
                self._tell(f"{folder.name}: taken up")

    def _is_due(self, folder: RunFolder) -> bool:
        name = folder.name
        if self._commands.works(name, RESUME) or self._waits.get(name, (0.0, 0.0))[0] > time.monotonic():
            return False
        try:
            return not folder.worked_on and unfinished(folder)
        except OvernightError as error:
            self._put_off(name, str(error))
            return False

    def _note_end(self, name: str) -> None:
        latest = self._commands.latest(name, RESUME)
        if name not in self._taken or latest is None or latest.exit_code is None:
            return
        self._taken.discard(name)
        if latest.exit_code == 0:
            self._waits.pop(name, None)
        else:
            self._put_off(name, latest.lines[-1] if latest.lines else f"it ended with code {latest.exit_code}")

    def _put_off(self, name: str, why: str) -> None:
        wait = min(_LONGEST_WAIT, 2 * self._waits[name][1] if name in self._waits else _FIRST_WAIT)
        self._waits[name] = (time.monotonic() + wait, wait)
        self._tell(f"{name}: {why}")

    def _tell(self, line: str) -> None:
        if line != self._said:
            self._said = line
            self._say(line)
