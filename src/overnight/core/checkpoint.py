"""The seam at which tests kill the process: every fsync, commit and send passes through here.

`OVERNIGHT_KILL_AT=17` ends the process with SIGKILL at the 17th checkpoint, `OVERNIGHT_KILL_AT="committed intake"` at
the first with that in its name; `OVERNIGHT_CHECKPOINTS=FILE` writes down each one's name. Unset, a checkpoint is one
comparison.
"""

import os
import signal
from collections.abc import Mapping
from pathlib import Path


class _Seam:
    def __init__(self, environ: Mapping[str, str]) -> None:
        self.read(environ)

    def read(self, environ: Mapping[str, str]) -> None:
        where = environ.get("OVERNIGHT_KILL_AT", "0")
        self._kill_at = int(where) if where.isdigit() else 0
        self._kill_in = "" if where.isdigit() else where
        log = environ.get("OVERNIGHT_CHECKPOINTS")
        self._log = Path(log) if log else None
        self._passed = 0
        self.armed = bool(self._kill_at or self._kill_in or self._log)

    def passed(self, name: str) -> None:
        self._passed += 1
        if self._log:
            with self._log.open("a") as log:
                log.write(name + "\n")
        if self._passed == self._kill_at or (self._kill_in and self._kill_in in name):
            os.kill(os.getpid(), signal.SIGKILL)


_seam = _Seam(os.environ)


def checkpoint(name: str) -> None:
    """The process may die here."""
    if _seam.armed:
        _seam.passed(name)


def rearm(environ: Mapping[str, str]) -> None:
    """For a forked child of a test: read the environment anew."""
    _seam.read(environ)
