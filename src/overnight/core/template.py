"""A prompt with places: `{name}` stands for an item's field, every other brace for itself."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import msgspec

from overnight.core.errors import StudyError, nearest

_BRACED = re.compile(r"\{([^{}]+)\}")
_SHOWN_COLUMNS = 12


class Template:
    """Parsed once, rendered often. Values go in as they are: what they contain is never looked at again."""

    __slots__ = ("_parts", "_places", "name", "names", "text")

    def __init__(self, text: str, name: str = "prompt") -> None:
        self.text = text
        self.name = name
        self._parts: list[str] = []
        self._places: list[tuple[int, str]] = []
        end = 0
        for braced in _BRACED.finditer(text):
            if braced[1].isidentifier():
                self._parts += [text[end : braced.start()], ""]
                self._places.append((len(self._parts) - 1, braced[1]))
                end = braced.end()
        self._parts.append(text[end:])
        self.names: tuple[str, ...] = tuple(dict.fromkeys(name for _, name in self._places))

    def __repr__(self) -> str:
        return f"Template({self.name!r})"

    def render(self, fields: Mapping[str, Any]) -> str:
        parts = self._parts.copy()
        try:
            for index, name in self._places:
                value = fields[name]
                parts[index] = value if value.__class__ is str else text_of(value)
        except KeyError:
            raise StudyError(self.missing(fields.keys())) from None
        return "".join(parts)

    def render_all(self, rows: Sequence[Mapping[str, Any]]) -> list[str]:
        """The same for many items at once, column by column."""
        columns: list[Iterable[str]] = [repeat(part, len(rows)) for part in self._parts]
        try:
            for index, name in self._places:
                values = [fields[name] for fields in rows]
                columns[index] = [value if value.__class__ is str else text_of(value) for value in values]
        except KeyError:
            return [self.render(fields) for fields in rows]  # which says what is missing
        return list(map("".join, zip(*columns, strict=True)))

    def missing(self, columns: Collection[str]) -> str | None:
        """What is wrong when the items have these columns and no others; None when all is well."""
        for name in self.names:
            if name not in columns:
                return (
                    f"template '{self.name}' asks for {{{name}}}, which is no column of the items; "
                    f"{columns_text(columns)}{nearest_column(name, columns)}"
                )
        return None


def text_of(value: Any) -> str:
    """A field's value as a prompt shows it: nothing for None, JSON for what has a structure."""
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case list() | tuple() | dict():
            return msgspec.json.encode(value).decode()
        case _:
            return str(value)


def columns_text(columns: Collection[str]) -> str:
    """`the columns are a, b`: the first dozen, so that a wide table does not hide the message."""
    shown = ", ".join(list(columns)[:_SHOWN_COLUMNS])
    hidden = len(columns) - _SHOWN_COLUMNS
    return f"the columns are {shown}" + (f" and {hidden} more" if hidden > 0 else "")


def nearest_column(name: str, columns: Collection[str]) -> str:
    """Like `nearest`, but another spelling in capitals and small letters is nearest of all."""
    same = [column for column in columns if column.casefold() == name.casefold()]
    return f"; did you mean '{same[0]}'?" if same else nearest(name, columns)
