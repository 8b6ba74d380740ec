"""How urgent an item is: what is more urgent is asked first."""

from math import isfinite
from typing import Any

WORDS = {"high": 3.0, "medium": 2.0, "low": 1.0}
WANTED = "a number, or high, medium or low"


def priority_of(value: Any) -> float | None:
    """From a number or a word; None for anything else."""
    if isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if isfinite(number) else None
