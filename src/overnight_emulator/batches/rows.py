"""The rows of a batch: what a dialect must be able to say about them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from overnight_emulator.answers.answering import Models, Turn
from overnight_emulator.batches.batch import Batch, Flaw, Usage
from overnight_emulator.store import Store, StoredFile


class Row(msgspec.Struct, frozen=True):
    """One request of a batch. `digest` is the SHA-256 of the canonical body: what identifies the question.

    The body names the model, also where the provider is told it elsewhere. `beside` is what else its line holds.
    """

    custom_id: str
    body: dict[str, Any]
    digest: bytes
    beside: dict[str, Any] = {}


class Reply(msgspec.Struct, frozen=True):
    """What a request came to: an HTTP status and a body; `usage` only when there is something to bill."""

    status: int
    body: dict[str, Any]
    usage: Usage | None = None


class Content(msgspec.Struct, frozen=True):
    """What a valid input contains."""

    total: int
    model: str
    tokens: int


class Shape(NamedTuple):
    """A row as its words and all the rest: rows with one `key` differ in nothing but what is said in their turns.

    Nothing but a model's answer may depend on what is said. Where a rule of the dialect does, there is no shape.
    """

    key: Hashable
    turns: tuple[Turn, ...]


class RowFormat(Protocol):
    """One dialect's way of reading, answering and writing rows. Called from worker threads.

    `usage_key` is the field of an answer that counts its tokens; `failed_apart` says whether rows that failed go
    into a file of their own.
    """

    usage_key: str
    failed_apart: bool
    models: Models

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        """Look at a whole input and stop at the first flaw. Without a file there are no lines.

        They can be read more than once.
        """

    def too_many_tokens(self, model: str, limit: int) -> Flaw: ...

    def read(self, line: bytes, batch: Batch) -> Row:
        """Read a line that was found valid."""

    def shape(self, row: Row, batch: Batch) -> Shape | None:
        """None when each such row has to be looked at whole."""

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply: ...

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply: ...

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes: ...

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:
        """The line of a row that was not run because its batch has `expired` or was `cancelled`; empty for none."""

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:
        """Put a written file (`what` is output or errors) where users find it; its name, None when it is empty."""


def canonical(body: Any) -> bytes:
    """JSON with sorted keys and no spaces, in UTF-8."""
    return msgspec.json.encode(body, order="sorted")
