"""How many live calls are under way at once: more while that brings more answers, fewer when it does not.

Answers are counted in rounds, about one for each call that may be under way. Below a handful nothing can be told from
a round, so the window just doubles; from there on each doubling must pay. What does not pay is given up again, down
to one call at a time where a server takes them in turn anyway.
"""

from typing import Literal, NamedTuple

MOST = 512
# From this size on, a round says something about the rate.
_JUDGED = 8
_ROUND = 16
# A doubling must bring this much more to be worth it; a halving may cost this little.
_PAYS = 1.2
_COSTS = 0.9
# Rounds without a change before the window is tried again.
_HOLD = 10


class Best(NamedTuple):
    size: int
    rate: float


class Window:
    def __init__(self, fixed: int | None = None, most: int | None = None) -> None:
        """`fixed` is the user's word, `most` what there is room for."""
        self._most = MOST if most is None else min(MOST, most)
        self._fixed = fixed if fixed is None or most is None else min(fixed, most)
        self._aim: Literal["more", "less", "hold"] = "more"
        self._best: Best | None = None
        self._held = 0
        # Whether the last round spoke against more. One may be slow by chance (a stall, a long answer): two are not.
        self._doubted = False
        # Whether the window was cut when it was small: then a few answers are enough before it is tried again.
        self._brief = False
        self._landed = 0
        self._began: float | None = None
        self._cut_at = float("-inf")
        self.size = 1
        # Whether a call had to wait for the window since the round began.
        self.pressed = False

    def landed(self, now: float) -> None:
        """One more answer. The very first one opens a window that the user has set."""
        if self._fixed is not None and self._began is None:
            self.size = self._fixed
        if self._began is None:
            self._began = now
        self._landed += 1
        if self._landed >= self._round:
            self._turn(now)

    @property
    def _round(self) -> int:
        unjudged = self.size < _JUDGED and (self._aim == "more" or self._brief)
        return self.size if unjudged else max(_ROUND, self.size)

    def cut(self, launched_at: float, now: float) -> None:
        """Trouble: half as many. Calls that had begun before the last cut tell nothing new."""
        if launched_at < self._cut_at:
            return
        self._cut_at = now
        if self.size > 1:  # else there is nothing to halve, and nothing was learned about more
            self.size //= 2
            self._aim, self._best, self._held, self._doubted = "hold", None, _HOLD // 2, False
            self._brief = True
        self._restart(now)

    def _turn(self, now: float) -> None:
        """The end of a round."""
        rate = self._landed / max(1e-9, now - (self._began or 0.0))
        pressed = self.pressed
        self._restart(now)
        if self._fixed is not None:
            self.size = min(self._fixed, self.size * 2)
        elif pressed:
            self.size = self._next(rate)

    def _restart(self, now: float) -> None:
        self._landed, self._began, self.pressed = 0, now, False

    def _next(self, rate: float) -> int:
        if self._aim == "hold":
            return self._on_hold(rate)
        if self.size < _JUDGED and self._aim == "more":
            return self.size * 2
        if self._aim == "more":
            return self._after_more(rate)
        return self._after_less(rate)

    def _after_more(self, rate: float) -> int:
        if self._best is None or rate > self._best.rate * _PAYS:
            self._best, self._doubted = Best(self.size, rate), False
            return min(self._most, self.size * 2)
        if not self._doubted:
            self._doubted = True
            return self.size
        self._aim, self._doubted = "less", False
        return max(1, self._best.size // 2)

    def _after_less(self, rate: float) -> int:
        assert self._best is not None
        if rate < self._best.rate * _COSTS:
            self._aim, self._held = "hold", 0
            return self._best.size
        self._best = Best(self.size, max(rate, self._best.rate))
        if self.size == 1:
            self._aim, self._held = "hold", 0
        return max(1, self.size // 2)

    def _on_hold(self, rate: float) -> int:
        self._held += 1
        if self._held < _HOLD:
            return self.size
        self._aim, self._best, self._brief = "more", Best(self.size, rate), False
        return min(self._most, self.size * 2)
