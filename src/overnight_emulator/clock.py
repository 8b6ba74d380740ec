"""Virtual time: it starts at the real time of a state's first start and passes `scale` times faster.

Time stands still while the emulator is stopped, so that a rehearsal can be taken up again days later, and it
never goes back: a restart continues from the latest moment any reply has mentioned.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Clock:
    def __init__(self, scale: float, start: float) -> None:
        self.scale = scale
        self._start = start
        self._real_start = time.monotonic()
        self._behind = 0.0

    def now(self) -> float:
        return self._start + (time.monotonic() - self._real_start) * self.scale - self._behind

    @contextmanager
    def earlier(self, seconds: float) -> Iterator[None]:
        """As things stood some time ago, for an answer that is made without a pause."""
        self._behind = seconds
        try:
            yield
        finally:
            self._behind = 0.0

    def advance(self, seconds: float) -> None:
        self._start += seconds

    def real_seconds(self, virtual_seconds: float) -> float:
        """How long a stretch of virtual time takes on the wall clock."""
        return max(0.0, virtual_seconds / self.scale)
