"""Which items are asked first: those of higher priority, by a column of the items; and how many of them at all."""

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any

import msgspec

from overnight.core.ask import Item
from overnight.core.errors import StudyError
from overnight.core.priority import WANTED, priority_of
from overnight.core.stage import Stage
from overnight.core.template import columns_text, nearest_column
from overnight.core.wording import found_text
from overnight.study.items import ItemSource
from overnight.study.origin import Origin

# Items that are kept in memory while they are put in order, in bytes; more go to a file without a name.
_IN_MEMORY = 16 << 20


class PriorityEntry(msgspec.Struct, frozen=True, kw_only=True):
    """The column, and how many items are asked; without a column they go in the order of the table."""

    column: str | None = None
    first: int | None = None


def check_priority(priority: str | PriorityEntry | None, origin: Origin, *, has_items: bool) -> None:
    if priority is None:
        return
    if not has_items:
        raise origin.error(("priority",), "this is for a stage with `items`, and counts for all stages after it")
    entry = _entry(priority)
    if entry.column is None and entry.first is None:
        raise origin.error(("priority",), "wanted the name of a column, or {column: ..., first: ...}")
    if entry.column is not None and not entry.column.strip():
        raise origin.error(("priority",), "wanted the name of a column")
    if entry.first is not None and entry.first < 1:
        raise origin.error(("priority", "first"), f"{entry.first} is less than 1")


def _entry(priority: str | PriorityEntry) -> PriorityEntry:
    return PriorityEntry(column=priority) if isinstance(priority, str) else priority


def priority_definition(priority: str | PriorityEntry | None) -> dict[str, Any]:
    return {} if priority is None else {"priority": msgspec.structs.asdict(_entry(priority))}


def ordered(source: ItemSource, priority: str | PriorityEntry | None, origin: Origin) -> Callable[[], Iterator[Item]]:
    """How a stage's items are read: as the table has them, or the most urgent first."""
    if priority is None:
        return source.read
    entry = _entry(priority)
    if entry.column is not None and source.columns is not None and entry.column not in source.columns:
        known = f"{columns_text(source.columns)}{nearest_column(entry.column, source.columns)}"
        raise origin.error(("priority",), f"{source.name} has no column '{entry.column}'; {known}")
    return partial(_read, source, entry)


def _read(source: ItemSource, entry: PriorityEntry) -> Iterator[Item]:
    items = source.read() if entry.column is None else _most_urgent_first(source, entry.column)
    return islice(items, entry.first)


def _most_urgent_first(source: ItemSource, column: str) -> Iterator[Item]:
    """Those of one priority stay in the order of the table."""
    urgency, places = array("d"), array("q", [0])
    with SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        for item in source.read():
            found = priority_of(item.fields.get(column))
            if found is None:
                raise StudyError(f"{source.name}: item '{item.id}': {_problem(item, column)}")
            urgency.append(found)
            file.write(msgspec.msgpack.encode((item.id, item.fields)))
            places.append(file.tell())
        for number in sorted(range(len(urgency)), key=lambda one: -urgency[one]):
            file.seek(places[number])
            name, fields = msgspec.msgpack.decode(file.read(places[number + 1] - places[number]))
            yield Item(name, fields)


def _problem(item: Item, column: str) -> str:
    if column in item.fields:
        return f"column '{column}' is {found_text(item.fields[column])}; wanted {WANTED}"
    return f"there is no column '{column}'; {columns_text(item.fields)}{nearest_column(column, item.fields)}"


def with_priorities(stages: Sequence[Stage], written: Mapping[str, str | PriorityEntry | None]) -> tuple[Stage, ...]:
    """Each with the column that its items' priority is in: rows go on to later stages with the fields of their item.

    Whatever is wrong in a column is said here.
    """
    columns: dict[str, str | None] = {}
    for stage in stages:
        priority = written[stage.name]
        own = None if priority is None else _entry(priority).column
        columns[stage.name] = columns[stage.of] if stage.of is not None else own
        if own is not None and stage.items is not None:
            for _ in stage.items():
                pass
    return tuple(msgspec.structs.replace(stage, priority=columns[stage.name]) for stage in stages)
