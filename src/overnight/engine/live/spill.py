"""The cut: when batches are given up for live calls, so that a study is done by its deadline. Pure."""

import msgspec

# A batch that is cancelled takes up to ten minutes to end, and some more until that is seen.
CANCELLING = 900.0
# Rows that most accounts can ask live in a minute, with room to spare.
_ROWS_PER_MINUTE = 200
_LEAST_NEED = 1200.0


class Spill(msgspec.Struct, frozen=True, kw_only=True):
    """How the rest is finished live: so many seconds before the deadline, for so many nano-dollars at most."""

    before: float | None = None
    max_cost: int | None = None


def live_need(rows: int) -> float:
    """Seconds that asking so many rows live takes, the end of the batches included."""
    return CANCELLING + max(_LEAST_NEED, rows / _ROWS_PER_MINUTE * 60)


def cut_at(deadline: float, spill: Spill, rows: int) -> float:
    """When to give up the batches, with so many rows still open."""
    return deadline - (live_need(rows) if spill.before is None else spill.before)


def grace(deadline: float, now: float) -> float:
    """How long a batch may take to end once it is cancelled, before its rows are asked live anyway.

    Until it has ended nobody knows which of its rows were run. So it is given the time that cancelling takes, but
    not more than half of what is left.
    """
    return max(0.0, min(CANCELLING, (deadline - now) / 2))
