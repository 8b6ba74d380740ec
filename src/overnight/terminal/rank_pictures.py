"""A ranking as a table: ranks with their intervals, abilities with their errors, and a dot with whiskers for each."""

from typing import Any

import polars as pl
from rich.table import Table

from overnight.terminal.plain_text import one_line, shortened

_PICTURE_WIDTH = 41
_WIDEST_ID = 32
_REACH = 1.959964


def item_table(table: pl.DataFrame) -> Table:
    """Rank, interval, ability, error, and a dot with whiskers that reach as far as a 95% interval."""
    table_of_items = headed(
        ("rank", "right"), ("95%", "left"), ("ID", "left"), ("theta", "right"), ("se", "right"), ("", "left")
    )
    rows = table.to_dicts()
    finite = [row for row in rows if _is_finite(row["theta"]) and _is_finite(row["se"])]
    low = min((_ends(row)[0] for row in finite), default=0.0)
    high = max((_ends(row)[1] for row in finite), default=1.0)
    for row in rows:
        span = "" if row["rank_lwr"] is None else f"{row['rank_lwr']}-{row['rank_upr']}"
        rank = "?" if row["rank"] is None else str(row["rank"])
        label = short(str(row["ID"]))
        table_of_items.add_row(rank, span, label, number(row["theta"]), number(row["se"]), whisker(row, low, high))
    return table_of_items


def whisker(row: dict[str, Any], low: float, high: float) -> str:
    """`  ---o---  ` on a scale from low to high, with the zero of the scale marked; arrows for what lies beyond."""
    theta, error = row["theta"], row["se"]
    if theta is None or theta != theta:  # noqa: PLR0124 - only NaN differs from itself
        return ""
    if not _is_finite(theta):
        return ">".rjust(_PICTURE_WIDTH) if theta > 0 else "<"
    line = [" "] * _PICTURE_WIDTH
    if low < 0 < high:
        line[_place(0.0, low, high)] = "|"
    begin, end = _ends(row) if _is_finite(error) else (theta, theta)
    for at in range(_place(begin, low, high), _place(end, low, high) + 1):
        line[at] = "-"
    line[_place(theta, low, high)] = "o"
    return "".join(line).rstrip()


def _ends(row: dict[str, Any]) -> tuple[float, float]:
    """The 95% interval that the table has, or the one that its error makes."""
    if row.get("theta_lwr") is not None:
        return row["theta_lwr"], row["theta_upr"]
    return row["theta"] - _REACH * row["se"], row["theta"] + _REACH * row["se"]


def _place(value: float, low: float, high: float) -> int:
    share = (value - low) / (high - low) if high > low else 0.5
    return min(max(round(share * (_PICTURE_WIDTH - 1)), 0), _PICTURE_WIDTH - 1)


def headed(*headings: tuple[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, side in headings:
        table.add_column(name, justify=side, no_wrap=True)
    return table


def short(text: str) -> str:
    return shortened(one_line(text), _WIDEST_ID)


def number(value: float | None) -> str:
    if value is None or value != value:  # noqa: PLR0124 - only NaN differs from itself
        return "?"
    # plus zero: no negative zero
    return f"{round(value, 3) + 0.0:.3f}" if _is_finite(value) else f"{value:+}"


def _is_finite(value: float | None) -> bool:
    return value is not None and abs(value) < float("inf")
