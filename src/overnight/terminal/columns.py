"""A plain table: names above columns, no lines."""

from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

_GAP = 2


def columns(*names: str, numbers: Iterable[str] = ()) -> Table:
    """A table without lines: the first column takes what is cut, numbers stand to the right."""
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, _GAP, 0, 0))
    for name in names:
        right = name in numbers
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="ellipsis")
    return table


def fitting(names: Sequence[str], rows: Sequence[Mapping[str, str]], width: int, spare: Iterable[str]) -> list[str]:
    """The columns that there is room for: of the `spare` ones, the first goes first where it is narrow."""
    shown = list(names)
    for name in spare:
        if sum(max(len(one), *(len(row[one]) for row in rows)) + _GAP for one in shown) <= width + _GAP:
            break
        if name in shown:
            shown.remove(name)
    return shown
