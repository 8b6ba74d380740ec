"""The requests of a Message Batch: one line each on disk, answered one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Models, Turn
from overnight_emulator.answers.schema import UnusableSchemaError
from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, Shape, canonical
from overnight_emulator.batches.seen_ids import SeenIds
from overnight_emulator.dialects.anthropic.errors import ApiError
from overnight_emulator.dialects.anthropic.messages import write_message
from overnight_emulator.dialects.anthropic.prompts import message_prompt, message_shape, message_turns
from overnight_emulator.dialects.anthropic.rules import check_params
from overnight_emulator.dialects.anthropic.strict import check_strictly
from overnight_emulator.identity import new_id
from overnight_emulator.model_limits import too_long
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth

RETENTION_SECONDS = 29 * 86_400
INVALID = "invalid_request_error"
FULL = "rate_limit_error"
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_UNFINISHED = {"expired": "expired", "cancelled": "canceled"}


class Request(msgspec.Struct):
    """One request as the create holds it; `params` are looked at only when it is its turn."""

    custom_id: Any = None
    params: Any = None


_read_line = msgspec.json.Decoder(Request).decode
_write = msgspec.json.Encoder().encode


class AnthropicRows:
    usage_key = "usage"
    failed_apart = False

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.models = Models(truth)

    def validate(
        self,
        batch: Batch,  # noqa: ARG002 - the lines say it all
        file: StoredFile | None,
        lines: Iterable[bytes],
    ) -> Content | Flaw:
        """The ids are checked when a batch is made, the rest of a request only when it is its turn."""
        seen = SeenIds(lambda: (_read_line(line).custom_id for line in lines))
        tokens, models = 0, Counter[str]()
        for place, line in enumerate(lines):
            read = _read_line(line)
            wrong = _wrong_id(read.custom_id, seen)
            if wrong is not None:
                return Flaw(INVALID, f"requests.{place}.custom_id: {wrong}")
            model = model_of(read.params)
            models[model] += 1
            tokens += self.models.input_tokens(_turns(read.params), model)
        if file is None or not seen.count:
            return Flaw(INVALID, "requests: at least one request is required")
        return Content(seen.count, models.most_common(1)[0][0], tokens)

    def too_many_tokens(self, model: str, limit: int) -> Flaw:
        return Flaw(FULL, f"The batch queue of {model} is full: it holds {limit} tokens. Please try again later.")

    def read(self, line: bytes, batch: Batch) -> Row:  # noqa: ARG002 - the line says it all
        read = _read_line(line)
        params = read.params if isinstance(read.params, dict) else {}
        return Row(read.custom_id, params, sha256(canonical(params)).digest())

    def shape(self, row: Row, batch: Batch) -> Shape | None:  # noqa: ARG002 - the row says it all
        shape = message_shape(row.body)
        return None if shape is None or too_long(self.models, row.body["model"], shape.turns) else shape

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - messages carry no time
        return answer(self.models, self._truth, row.body, row.digest, batch.details["version"], in_batch=True)

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply:
        return Reply(status, ApiError(status, message or "Internal server error", kind=kind, code=code).body(None))

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:  # noqa: ARG002 - lines have no id of their own
        if reply.status == 200:
            return _envelope(row, {"type": "succeeded", "message": reply.body})
        return _envelope(row, {"type": "errored", "error": reply.body})

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:  # noqa: ARG002 - as above
        return _envelope(row, {"type": _UNFINISHED[end]})

    def keep(
        self,
        store: Store,
        batch: Batch,
        what: str,
        part: Path,
        ended_at: float,
        now: float,  # noqa: ARG002 - results are kept from the creation on
    ) -> str | None:
        file = StoredFile(
            id=new_id("results-"),
            dialect=batch.dialect,
            filename=f"{batch.id}_{what}.jsonl",
            purpose="batch_output",
            created_at=ended_at,
            expires_at=batch.created_at + RETENTION_SECONDS,
            batch_id=batch.id,
        )
        return store.take_file(part, file)


def answer(
    models: Models, truth: Truth, params: dict[str, Any], digest: bytes, version: str, *, in_batch: bool
) -> Reply:
    """One message, live or in a batch."""
    try:
        check_params(params, truth, version, in_batch=in_batch)
        if truth.strict:
            check_strictly(params, truth, models)
        return write_message(models, message_prompt(params, digest), params, "batch" if in_batch else "standard")
    except ApiError as refusal:
        return Reply(refusal.status, refusal.body(None))
    except UnusableSchemaError as error:
        invalid = ApiError(400, f"output_config.format.schema: {error}")
        return Reply(invalid.status, invalid.body(None))


def _wrong_id(custom_id: Any, seen: SeenIds) -> str | None:
    if custom_id is None:
        return "Field required"
    if not isinstance(custom_id, str) or not _ID.fullmatch(custom_id):
        return f"String should match pattern '{_ID.pattern}'"
    unique = seen.add(custom_id)
    return None if unique else f"'{custom_id}' was used before in this batch; custom ids must be unique"


def model_of(params: Any) -> str:
    model = params.get("model") if isinstance(params, dict) else None
    return model if isinstance(model, str) else ""


def _turns(params: Any) -> tuple[Turn, ...]:
    return message_turns(params) if isinstance(params, dict) else ()


def _envelope(row: Row, result: dict[str, Any]) -> bytes:
    return _write({"custom_id": row.custom_id, "result": result}) + b"\n"
