"""Rows of results, and keys, as tables that fit the terminal."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from overnight.api import KeyStatus
from overnight.core.wording import number_of
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line, shortened

FIRST_ROWS = 20
_STATUS_STYLES = {"answered": "green", "refused": "yellow", "truncated": "yellow", "failed": "red", "pending": "cyan"}
_WIDEST_ITEM = 24
_WIDEST_MODEL = 28
_NARROWEST_TEXT = 20
_GAP = 2
# No terminal is wider: making a line of a whole novel to show its beginning is slow.
_LONGEST_TEXT = 4_000
_ANSWERED = ("status", "answer")
_FAILED = ("cause", "why")


def rows(frame: pl.DataFrame, width: int, *, failed: bool) -> Table:
    """Item, model and status of rows, and as much of the answer (or the reason) as there is room for.

    Where pairs were judged, who won: the answer tells only whether it was the first or the second.
    """
    repeated = frame.height > 0 and frame["replicate"].n_unique() > 1
    judged = not failed and "winner_id" in frame.columns and frame["verdict"].count() > 0
    own = [name for name, there in (("replicate", repeated), ("model", True), ("winner", judged)) if there]
    headings = ("item", *own, *(_FAILED if failed else _ANSWERED))
    cells = [_cells(row, own, failed=failed) for row in frame.iter_rows(named=True)]
    taken = [max(len(one[index]) for one in (headings, *cells)) + _GAP for index in range(len(headings) - 1)]
    room = max(_NARROWEST_TEXT, width - sum(taken) - 1)
    table = columns(*headings)
    for row, one in zip(frame["status"], cells, strict=True):
        state = Text(one[-2], style=_STATUS_STYLES.get(row, ""))
        table.add_row(*one[:-2], state, Text(shortened(one[-1], room), no_wrap=True, overflow="ellipsis"))
    return table


def _cells(row: Mapping[str, Any], own: Sequence[str], *, failed: bool) -> tuple[str, ...]:
    state, text = (row["cause"], row["detail"]) if failed else (row["status"], row["answer"] or row["cause"])
    return (
        shortened(one_line(row["item_id"]), _WIDEST_ITEM),
        *(_SHOWN[name](row) for name in own),
        state or "",
        one_line((text or "")[:_LONGEST_TEXT]),
    )


def _winner(row: Mapping[str, Any]) -> str:
    return shortened(one_line(row["winner_id"] or row["verdict"] or ""), _WIDEST_ITEM)


_SHOWN: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "replicate": lambda row: str(row["replicate"]),
    "model": lambda row: shortened(row["model"], _WIDEST_MODEL),
    "winner": _winner,
}


def plain_rows(frame: pl.DataFrame, width: int) -> list[Table | Text]:
    """Rows of any table, with as many of its columns as there is room for, and what is not in them.

    Where there is no room for all, what is the same in all rows is told once, below them.
    """
    cells = {name: [_cell(value) for value in frame[name]] for name in frame.columns}
    shown, below = list(cells), []
    if _taken(cells, shown) > width and frame.height > 1:
        alike = [name for name, column in cells.items() if len(set(column)) == 1]
        shown = [name for name in cells if name not in alike]
        said = [f"{name} {cells[name][0]}" for name in alike if cells[name][0]]
        below += [f"the same in each of these rows: {', '.join(said)}"] if said else []
    hidden: list[str] = []
    while len(shown) > 1 and _taken(cells, shown) > width:
        hidden.insert(0, shown.pop())
    below += [f"columns without room here: {', '.join(hidden)}"] if hidden else []
    table = columns(*shown)
    for row in zip(*(cells[name] for name in shown), strict=True):
        table.add_row(*row)
    return [table, *(Text(line, style="dim") for line in below)]


def _taken(cells: Mapping[str, Sequence[str]], names: Sequence[str]) -> int:
    """How wide these columns are together."""
    return sum(max(len(name), *map(len, cells[name]), 0) + _GAP for name in names)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else shortened(one_line(str(value)), _WIDEST_MODEL)


def rows_line(count: int, pending: int, name: str, *, failed: bool) -> str:
    """How many there are, how many of them are still to come, and how to get the rest."""
    rows_there = number_of(count, "failed row" if failed else "row")
    if pending:
        rows_there += f" ({pending:,} of them pending)"
    if count <= FIRST_ROWS:
        return f"{name}: {rows_there}"
    flag = " --failed" if failed else ""
    left_out = count - FIRST_ROWS
    return f"{name}: {left_out:,} more of {rows_there}; all of them: overnight results {name}{flag} -o {name}.csv"


def keys(found: Sequence[KeyStatus]) -> Table:
    table = columns("provider", "variable", "key", "")
    for one in found:
        word, style = _key_words(one)
        told = Text(one_line(one.message))
        told.append(f"\n{one.takes}", style="dim")
        table.add_row(one.provider, one.variable, Text(word, style=style), told)
    return table


def _key_words(one: KeyStatus) -> tuple[str, str]:
    if not one.found:
        return "none", "dim"
    if one.works is None:
        return "found", "cyan"
    return ("works", "green") if one.works else ("refused", "red")
