"""What a later stage is told of the rows it takes: one by one, or in groups. There is no other list of it."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from overnight.core.ask import Item, Message, thinking_text
from overnight.core.task import Thread

# All answers to one item, or all turns of one conversation.
Group = Literal["item", "thread"]


class HandedOn(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is handed on, besides the fields of its item. These win over fields of the same name."""

    answer: str | None
    thoughts: str | None
    item_id: str
    arm: str
    provider: str
    model: str
    template: str
    thinking: str
    replicate: int
    turn: int
    # What the model said in every turn so far.
    answers: list[str | None]
    # Everything that was said, in order, with the system text and this answer; None where nobody can tell.
    conversation: list[dict[str, str]] | None
    status: str


HANDED_ON: tuple[str, ...] = HandedOn.__struct_fields__
_OF_ARM = ("item_id", "arm", "provider", "model", "template", "thinking", "replicate")
_MEMBERS = ("answers", "members", "missing")
# What is common to the rows of a group, then the rows themselves.
GROUPED: dict[Group, tuple[str, ...]] = {
    "item": ("item_id", *_MEMBERS),
    "thread": (*_OF_ARM, "conversation", *_MEMBERS),
}


def handed_on(thread: Thread, asked: Sequence[Message] | None) -> HandedOn:
    """The last turn of a thread, with all that led to it. `asked`: the messages that it answers."""
    arm, last = thread.arm, thread.turns[-1]
    said = [] if last.answer is None else [Message("assistant", last.answer)]
    return HandedOn(
        answer=last.answer,
        thoughts=last.thoughts,
        item_id=thread.item.id,
        arm=arm.name,
        provider=arm.model.provider,
        model=arm.model.name,
        template=arm.template,
        thinking=thinking_text(arm.model.options.thinking),
        replicate=thread.replicate,
        turn=len(thread.turns) - 1,
        answers=[turn.answer for turn in thread.turns],
        conversation=None if asked is None else [_plain(message) for message in (*asked, *said)],
        status=last.outcome,
    )


def row_item(row: HandedOn, fields: dict[str, Any], kept: Sequence[str] = HANDED_ON) -> Item:
    """A row as an item of a later stage: its item's fields, and what is handed on, or what of it is `kept`."""
    return Item(row_id(row.item_id, row.arm, row.replicate), {**fields, **_parts(row, kept)})


def group_item(
    rows: Sequence[HandedOn], by: Group, missing: int, fields: dict[str, Any], kept: Sequence[str] = HANDED_ON
) -> Item:
    """A group as one item: what its rows have in common, what of each is `kept`, and how many are missing."""
    first, last = rows[0], rows[-1]
    shared = msgspec.structs.asdict(last if by == "thread" else first)
    members = [_parts(row, kept) for row in rows]
    own = {"answers": [row.answer for row in rows], "members": members, "missing": missing}
    name = first.item_id if by == "item" else row_id(first.item_id, first.arm, first.replicate)
    return Item(name, {**fields, **{key: value for key, value in shared.items() if key in GROUPED[by]}, **own})


def _parts(row: HandedOn, kept: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in kept}


def row_id(item: str, arm: str, replicate: int) -> str:
    """The id of a row as an item of a later stage."""
    return f"{item}@{arm}" + (f"#{replicate}" if replicate else "")


def turns_of(thread: Thread) -> Iterable[Thread]:
    """The conversation as it was after each of its turns."""
    for count in range(1, len(thread.turns) + 1):
        yield msgspec.structs.replace(thread, turns=thread.turns[:count])


def _plain(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.content}
