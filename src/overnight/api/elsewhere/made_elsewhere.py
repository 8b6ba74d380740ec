"""Requests that were made elsewhere: a provider's own file, or somebody else's batch. Nothing is rendered."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from overnight.core.ask import Arm, Ask, Item, Message
from overnight.core.task import ColumnKind, Row, Thread

# The item's field that holds the request body, as the text it had in the file.
BODY = "body"
ARM = "arm"


class Ready:
    """Each item is one line of the file, named by its custom id; its body is sent as it stands."""

    name = "ready"
    version = "1"
    columns: Mapping[str, ColumnKind] = {}
    reads_items = False
    most_turns = 1

    def __init__(self, arms: Sequence[Arm]) -> None:
        self._arms = {arm.name: arm for arm in arms}

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        for item in items:
            body = Message("user", item.fields[BODY])
            yield Ask(arm=self._arms[item.fields[ARM]], item=item.id, messages=(body,))

    def spec(self) -> dict[str, Any]:
        return {}

    def follow_up(self, thread: Thread) -> Sequence[Ask]:  # noqa: ARG002 - one line, one answer
        return ()

    def read(self, thread: Thread) -> Iterator[Row]:
        for _ in thread.turns:
            yield {}


def body_of(ask: Ask) -> bytes:
    """The bytes to send: what the file had."""
    return ask.messages[0].content.encode()
