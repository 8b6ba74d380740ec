"""Lines that have an id and a body, and no more: `{"custom_id", "body"}`."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, Shape, canonical
from overnight_emulator.dialects.lookalike.answers import answer
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.prompts import chat_shape, chat_turns
from overnight_emulator.identity import new_id
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth


class BareLine(msgspec.Struct):
    custom_id: Any = None
    body: Any = None


read_line = msgspec.json.Decoder(BareLine).decode
write = msgspec.json.Encoder().encode
UNREADABLE = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)


class BareRows:
    """A dialect says otherwise where it does otherwise; `most` is the most requests of a batch."""

    usage_key = "usage"
    failed_apart = True
    most = 50_000

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.models = Models(truth)

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        if file is None:
            return Flaw("invalid_file", f"The input file {batch.input_file_id} was not found.")
        model, total, tokens = str(batch.details.get("model") or ""), 0, 0
        for number, line in enumerate(lines, 1):
            try:
                body = read_line(line).body
                model = model or body["model"]
            except (*UNREADABLE, LookupError, TypeError):
                return Flaw("invalid_line", f"Line {number} of the input cannot be read.", line=number)
            total += 1
            tokens += self.models.tokens.of(sum(len(turn.text) for turn in chat_turns(body)), model)
        limit = self._truth.limits.requests or self.most
        if not total:
            return Flaw("empty_file", "The input file contains no requests.")
        if total > limit:
            return Flaw("too_many_tasks", f"The input contains too many requests: {total}, and {limit} are allowed.")
        return Content(total, model, tokens)

    def too_many_tokens(self, model: str, limit: int) -> Flaw:
        message = f"Enqueued token limit reached for {model}. Limit: {limit} enqueued tokens."
        return Flaw("token_limit_exceeded", message)

    def read(self, line: bytes, batch: Batch) -> Row:
        found = read_line(line)
        body = {**found.body, "model": found.body.get("model") or batch.details.get("model")}
        return Row(found.custom_id, body, sha256(canonical(body)).digest())

    def shape(self, row: Row, batch: Batch) -> Shape | None:  # noqa: ARG002 - as below
        return chat_shape(row.body)

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - the row says it all
        return answer(self.models, self._truth, row.body, row.digest, moment)

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply:
        said = message or "The server had an error while processing this request."
        return Reply(status, ApiError(status, said, kind=kind, code=code).body)

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:
        response = {"status_code": reply.status, "body": reply.body}
        return write({"id": row_id, "custom_id": row.custom_id, "response": response, "error": None}) + b"\n"

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:  # noqa: ARG002 - nothing is said of it
        return b""

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:  # noqa: ARG002
        file = StoredFile(
            id=new_id("file-"),
            dialect=batch.dialect,
            filename=f"{batch.id}_{what}.jsonl",
            purpose="batch_output",
            created_at=ended_at,
            expires_at=None,
            batch_id=batch.id,
            details={"what": what},
        )
        return store.take_file(part, file)
