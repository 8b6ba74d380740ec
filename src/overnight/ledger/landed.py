"""Results of one attempt's rows as they come in, column by column.

An object for each row would cost more than to keep the row. They are put on record as they are held here.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from operator import itemgetter, lt
from typing import Any, NamedTuple, Self, TypeVar

import msgspec

from overnight.core.result import Cause, Outcome, Result, Usage

T = TypeVar("T")
Kind = tuple[Outcome, Cause | None]


class Fate(msgspec.Struct, frozen=True, gc=False):
    """What becomes of a row: `final` settles it, else it goes back to the queue with so many tries."""

    final: bool
    tries: int


class Places(NamedTuple):
    """Where the bytes of rows are: file, offset, length and digest of each line; None for a row that is in no file."""

    file: list[int | None]
    offset: list[int | None]
    length: list[int | None]
    digest: list[bytes | None]

    @classmethod
    def nowhere(cls, rows: int) -> Self:
        return cls([None] * rows, [None] * rows, [None] * rows, [None] * rows)

    def add(self, file: int, offset: int, length: int, digest: bytes) -> None:
        self.file.append(file)
        self.offset.append(offset)
        self.length.append(length)
        self.digest.append(digest)

    def add_nowhere(self) -> None:
        for column in (self.file, self.offset, self.length, self.digest):
            column.append(None)


class Landed(msgspec.Struct):
    """Rows that came, in the order in which they came. Texts of answers are not here: they stay in their files."""

    line: list[int]
    outcome: list[Outcome]
    cause: list[Cause | None]
    detail: list[str | None]
    file: list[int | None]
    offset: list[int | None]
    length: list[int | None]
    digest: list[bytes | None]
    input: list[int | None]
    cached: list[int | None]
    cache_write: list[int | None]
    output: list[int | None]
    reasoning: list[int | None]
    # What each cost, in nano-dollars; None where nobody can say.
    cost: list[int | None]
    # How often it was asked, where it goes back to the queue; None where this settles it.
    tries: list[int | None]
    # Bytes of its answer.
    written: list[int]

    @classmethod
    def of(
        cls,
        lines: Sequence[int],
        results: Sequence[Result],
        places: Places | None = None,
        costs: Iterable[int | None] | None = None,
        tries: Iterable[int | None] | None = None,
    ) -> Self:
        """Without `places`, in no file; without `costs`, nobody can say them; without `tries`, all is settled."""
        count = len(results)
        file, offset, length, digest = places or Places.nowhere(count)
        usages = [one.usage for one in results]
        return cls(
            line=list(lines),
            outcome=[one.outcome for one in results],
            cause=[one.cause for one in results],
            detail=[one.detail for one in results],
            file=file,
            offset=offset,
            length=length,
            digest=digest,
            input=[usage.input for usage in usages],
            cached=[usage.cached for usage in usages],
            cache_write=[usage.cache_write for usage in usages],
            output=[usage.output for usage in usages],
            reasoning=[usage.reasoning for usage in usages],
            cost=[None] * count if costs is None else list(costs),
            tries=[None] * count if tries is None else list(tries),
            written=[_size(one.answer) for one in results],
        )

    @classmethod
    def none(cls) -> Self:
        return cls.of((), ())

    def __len__(self) -> int:
        return len(self.line)

    def add(self, other: "Landed") -> None:
        for column, more in zip(_columns(self), _columns(other), strict=True):
            column.extend(more)

    def chosen(self, places: Sequence[int]) -> "Landed":
        """The rows at these places, in their order."""
        chosen_of = _chooser(places)
        return Landed(*map(chosen_of, _columns(self)))

    def where(self, wanted: Sequence[bool]) -> "Landed":
        """The rows at whose places this is true."""
        if all(wanted):
            return self
        return Landed(*(list(compress(column, wanted)) for column in _columns(self)))

    def in_order(self) -> "Landed":
        """By line: neighbours go into the same pages of the ledger. Of a line that came twice, the first counts."""
        lines = self.line
        if all(map(lt, lines, lines[1:])):
            return self
        place_of = dict(zip(reversed(lines), reversed(range(len(lines))), strict=True))
        return self.chosen([place_of[line] for line in sorted(place_of)])

    def by_kind(self) -> dict[Kind, "Landed"]:
        """By outcome and cause: rows that ended alike."""
        kinds = list(zip(self.outcome, self.cause, strict=True))
        if len(found := set(kinds)) == 1:
            return {found.pop(): self}
        places: dict[Kind, list[int]] = {}
        for place, kind in enumerate(kinds):
            places.setdefault(kind, []).append(place)
        return {kind: self.chosen(these) for kind, these in places.items()}


def _columns(rows: Landed) -> Sequence[list[Any]]:
    return msgspec.structs.astuple(rows)


def chosen(column: Sequence[T], places: Sequence[int]) -> list[T]:
    """What stands at these places, in their order."""
    return _chooser(places)(column)


def _chooser(places: Sequence[int]) -> Callable[[Sequence[Any]], list[Any]]:
    """The same of any column."""
    if len(places) < 2:
        return lambda column: [column[place] for place in places]
    them, count = itemgetter(*places), len(places)

    def chosen_of(column: Sequence[Any]) -> list[Any]:
        first = column[0]
        # Half of the columns say the same of every row, which is seen faster than they are gone through.
        if first is column[-1] and column.count(first) == len(column):
            return [first] * count
        return list(them(column))

    return chosen_of


def counted(usage: Usage) -> tuple[int | None, ...]:
    """Input, cached, newly cached, output and reasoning tokens."""
    return (usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning)


def _size(answer: str | None) -> int:
    if not answer:
        return 0
    return len(answer) if answer.isascii() else len(answer.encode())
