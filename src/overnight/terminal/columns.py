"""A plain table: names above columns, no lines."""

from collections.abc import Iterable

from rich.table import Table


def columns(*names: str, numbers: Iterable[str] = ()) -> Table:
    """A table without lines: the first column takes what is cut, numbers stand to the right."""
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for name in names:
        right = name in numbers
        table.add_column(name, justify="right" if right else "left", no_wrap=right, overflow="ellipsis")
    return table
