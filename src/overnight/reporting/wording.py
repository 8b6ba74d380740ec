"""Numbers as a report writes them: fixed decimals, no locale, and the same on every machine."""

import math
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from overnight.core.money import DOLLAR
from overnight.prices import dollars
from overnight.reporting.parts import Form

_MINUS = "\u2212"
# What has more decimals than this is noise to a reader.
_DECIMALS = 3


def known(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def number_text(value: float, decimals: int = 2) -> str:
    """`1,234.50`, with a real minus; what rounds to nought has no sign."""
    if not math.isfinite(value):
        return "" if math.isnan(value) else f"{_MINUS if value < 0 else ''}\u221e"
    text = f"{rounded(abs(value), decimals):,.{decimals}f}"
    return text if value >= 0 or not text.strip("0.,") else _MINUS + text


def rounded(value: float, decimals: int) -> Decimal:
    """As it is done on paper: a half goes up. Python's own way makes 62 of 62.5 and 88 of 87.5."""
    # Digits past the twelfth are those of binary fractions, and no measurement's.
    return Decimal(f"{value:.12g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def percent_text(share: float, decimals: int = 1) -> str:
    return f"{number_text(100 * share, decimals)}%"


def money_text(amount: float) -> str:
    return dollars(round(amount * DOLLAR))


def p_text(p: float) -> str:
    """`p = 0.03`, `p < 0.001`."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def span_text(low: float, high: float, *, percent: bool = False, decimals: int | None = None) -> str:
    """`0.12 to 0.40`."""
    if percent:
        return f"{number_text(100 * low, 1)} to {percent_text(high)}"
    places = 2 if decimals is None else decimals
    return f"{number_text(low, places)} to {number_text(high, places)}"


def cell_text(value: Any, form: Form | None) -> str:
    """A table's cell. What is not known is empty."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and form is None:
        return f"{value:,}"
    if isinstance(value, int | float):
        if form == "percent":
            return percent_text(value)
        if form == "dollars":
            return money_text(value)
        return number_text(value, _DECIMALS if form is None else int(form))
    return str(value)


def csv_text(value: Any) -> str:
    """The same for programs: a point, six digits that count, nothing for what is missing."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def listed(words: Sequence[str], most: int = 4) -> str:
    """`A, B and C`; `A, B, C, D and 3 others`."""
    shown = list(words[:most])
    rest = len(words) - len(shown)
    if rest:
        return f"{', '.join(shown)} and {rest:,} {'other' if rest == 1 else 'others'}"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""
