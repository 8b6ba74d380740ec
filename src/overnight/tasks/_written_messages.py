"""Messages that the items hold themselves, in a column of their own."""

from collections.abc import Collection
from typing import Any

import msgspec

from overnight.core.ask import Message, Role
from overnight.core.template import columns_text, nearest_column


class _Turn(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message as an item may hold it: anything more in it would be lost on the way, so it is refused."""

    role: Role
    content: str


def messages_of(value: Any) -> tuple[Message, ...]:
    """The messages an item holds, as a list or as its JSON text; at least one."""
    if isinstance(value, str):
        turns = msgspec.json.decode(value, type=list[_Turn])
    else:
        turns = msgspec.convert(value, list[_Turn])
    if not turns:
        raise msgspec.ValidationError("the list is empty")
    return tuple(Message(turn.role, turn.content) for turn in turns)


class MessagesColumn:
    """The column that holds conversations: it can be missing just as a template's can."""

    def __init__(self, column: str) -> None:
        self.names = (column,)

    def missing(self, columns: Collection[str]) -> str | None:
        """What is wrong when the items have these columns and no others; None when all is well."""
        (column,) = self.names
        if column in columns:
            return None
        known = f"{columns_text(columns)}{nearest_column(column, columns)}"
        return f"`messages` asks for '{column}', which is no column of the items; {known}"
