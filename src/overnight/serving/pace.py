"""How fast a run goes, and when its end is in sight: measured while somebody looks."""

from collections import deque
from dataclasses import dataclass, field

# A rate is of so many seconds at most, and of so many looks.
_WINDOW = 600.0
_MOST_LOOKS = 400
# Before this time has passed, a rate would be a guess.
_SHORTEST = 3.0


@dataclass(frozen=True)
class Rate:
    """Rows a second, and the seconds until all are settled at this rate."""

    per_second: float
    seconds_left: float | None


@dataclass
class Pace:
    """The rows that were done at each look at a run, by the clock of the people who wait."""

    _looks: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_MOST_LOOKS))

    def look(self, now: float, done: int) -> None:
        if self._looks and done < self._looks[-1][1]:
            self._looks.clear()  # rows are asked again: what was measured before is of another work
        if not self._looks or done != self._looks[-1][1]:
            self._looks.append((now, done))
        while len(self._looks) > 2 and self._looks[0][0] < now - _WINDOW:
            self._looks.popleft()

    def rate(self, now: float, pending: int) -> Rate | None:
        """None as long as nothing can be said."""
        if len(self._looks) < 2 or now - self._looks[0][0] < _SHORTEST:
            return None
        since, before = self._looks[0]
        speed = (self._looks[-1][1] - before) / (now - since)
        return Rate(speed, pending / speed if pending else None)
