"""Items with nothing in a column that the questions name: counted, shown by example, and never asked unnoticed."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from overnight.core.errors import StudyError
from overnight.core.wording import number_of

OnEmpty = Literal["refuse", "allow", "skip"]
# What a study may write.
CHOICES = ("allow", "skip")

_EXAMPLES = 3
# How other programs write that nothing is there. It may be a word as well, so that it is only told.
_MEANT_AS_NOTHING = frozenset({"NA", "N/A", "#N/A", "NaN", "nan", "None", "NULL", "null"})
_LONGEST_WORD = max(map(len, _MEANT_AS_NOTHING))


def is_blank(value: Any) -> bool:
    """None, no text, or nothing but spaces."""
    return value is None or (value.__class__ is str and (not value or value.isspace()))


def are_texts(values: Sequence[Any]) -> bool:
    """Whether each is a text, and none is blank."""
    return {*map(type, values)} <= {str} and all(values) and not any(map(str.isspace, values))


def says_something(values: Sequence[Any]) -> bool:
    """Whether each is a text that nobody needs to look at: neither blank nor a word that may stand for nothing."""
    return are_texts(values) and (min(map(len, values)) > _LONGEST_WORD or _MEANT_AS_NOTHING.isdisjoint(values))


class EmptyFields:
    """One reading of a table, as far as its empty fields go."""

    def __init__(self, table: str, on_empty: OnEmpty) -> None:
        self._table = table
        self._on_empty = on_empty
        self._items = 0
        self._count = 0
        self._examples: list[str] = []
        self._words: Counter[tuple[str, str]] = Counter()

    def takes(
        self, fields: Mapping[str, Any], asked: Sequence[str], place: Callable[[int], str], number: int, item_id: str
    ) -> bool:
        """Whether this item is asked about. `asked`: the columns that the questions name."""
        missing: list[str] = []
        for column in asked:
            value = fields.get(column)
            if value.__class__ is str and len(value) > _LONGEST_WORD and not value.isspace():
                continue  # nearly every one: a text
            if is_blank(value):
                missing.append(column)
            elif value.__class__ is str and value in _MEANT_AS_NOTHING:
                self._words[column, value] += 1
        if not missing:
            return True
        self._count += 1
        if len(self._examples) < _EXAMPLES:
            self._examples.append(f"'{item_id}' ({place(number)}: {', '.join(missing)})")
        return self._on_empty == "allow"

    def finish(self, items: int) -> None:
        """After the last item: StudyError where they are refused, or where none is left."""
        self._items = items
        if self._count and self._on_empty == "refuse":
            found = self._told("nothing in a column that the questions name")
            skip = "`empty: skip` in the study (--empty skip without one) leaves them out"
            choice = f"{skip}, `empty: allow` asks all the same"
            raise StudyError(f"{self._table}: {found}; fill them in, or choose: {choice}")
        if self._count == items and self._on_empty == "skip":
            raise StudyError(f"{self._table}: every item has nothing in a column that the questions name")

    def notes(self) -> list[str]:
        """What the user should know before paying."""
        found = []
        if self._count:
            are = "is" if self._count == 1 else "are"
            done = "left out" if self._on_empty == "skip" else "asked with nothing in its place"
            found.append(f"{self._table}: {self._told(f'an empty field and {are} {done}')}")
        for (column, word), count in self._words.items():
            found.append(
                f"{self._table}: {number_of(count, 'item')} with '{word}' in column '{column}', asked as it stands"
            )
        return found

    def _told(self, what: str) -> str:
        more = self._count - len(self._examples)
        examples = ", ".join(self._examples) + (f" and {more:,} more" if more else "")
        have = "has" if self._count == 1 else "have"
        return f"{self._count:,} of {number_of(self._items, 'item')} {have} {what}: {examples}"
