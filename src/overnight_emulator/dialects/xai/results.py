"""The requests and results of xAI's batches. The tokens of thoughts are counted apart from those of the answer."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import msgspec

from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, canonical
from overnight_emulator.dialects.lookalike.bare_lines import UNREADABLE, BareRows, write
from overnight_emulator.dialects.openai.prompts import chat_turns
from overnight_emulator.dialects.openai.rules import exists
from overnight_emulator.store import StoredFile

_read = msgspec.json.Decoder(dict[str, Any]).decode


def request_of(one: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The id and the body of a request in a batch."""
    return one["batch_request_id"], one["batch_request"]["chat_get_completion"]


def apart(completion: dict[str, Any]) -> dict[str, Any]:
    usage = completion["usage"]
    thought = usage["completion_tokens_details"]["reasoning_tokens"]
    spoken = {**usage, "completion_tokens": usage["completion_tokens"] - thought, "cost_in_usd_ticks": 0}
    return {**completion, "usage": spoken}


class XaiRows(BareRows):
    failed_apart = False

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        # A create that a fault has delayed arrives when it is born.
        closed_at = None if file is None else file.details.get("cancelled")
        if file is None or (closed_at is not None and closed_at < batch.created_at):
            return Flaw("not_found", "The batch was closed before it was filled.")
        model, total, tokens = "", 0, 0
        for line in lines:
            try:
                _, body = request_of(_read(line))
            except (*UNREADABLE, LookupError, TypeError):
                return Flaw("invalid", "A request of the batch cannot be read.")
            model, total = str(body.get("model")), total + 1
            tokens += self.models.tokens.of(sum(len(turn.text) for turn in chat_turns(body)), model)
        if not exists(model, self._truth):
            return Flaw("unknown", f"The model {model} does not exist.")
        return Content(total, model, tokens)

    def read(self, line: bytes, batch: Batch) -> Row:  # noqa: ARG002 - the line says it all
        custom_id, body = request_of(_read(line))
        return Row(custom_id, body, sha256(canonical(body)).digest())

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:  # noqa: ARG002 - results have no id of theirs
        if reply.status == 200:
            body = reply.body
            if "completion_tokens_details" in (body.get("usage") or {}):
                body = apart(body)
            outcome: dict[str, Any] = {"response": {"chat_get_completion": body}}
        else:
            outcome = {"error": str((reply.body.get("error") or {}).get("message"))}
        return write({"batch_request_id": row.custom_id, "batch_result": outcome}) + b"\n"
