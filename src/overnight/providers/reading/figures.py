"""Numbers as providers write them: counts, seconds and moments, each within sense, or not known at all.

Whatever is beyond belief is None here, at one place for all vendors: a count that no ledger can hold, a wait of a
thousand years, or a digit string that Python will not read must not cost a run its other rows.
"""

import math
from typing import Annotated, Any

import msgspec

# The largest whole number that every reader of JSON has exactly.
MOST = 2**53
# Until the year 5138, in seconds: later dates cannot be shown on every system.
_LAST_MOMENT = 1e11
# Nobody is asked to come again later than that.
LONGEST_WAIT = 86_400.0
_DIGITS = 16

# In a row: one count that is none makes the whole usage unknown, since the others may be parts of it.
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]


def count_of(value: Any) -> int | None:
    """A number of things, as a number or as its digits."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else None
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST
    return value if fits else None


def seconds_of(value: Any) -> float | None:
    """A time to wait; None for what is no time, a day for anything longer."""
    try:
        seconds = float(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return None if math.isnan(seconds) else min(max(0.0, seconds), LONGEST_WAIT)


def moment_of(seconds: float | None) -> float | None:
    """Seconds since 1970, where a calendar has them."""
    return seconds if seconds is not None and 0 <= seconds <= _LAST_MOMENT else None
