"""The lines of OpenAI's batch files: validated as a whole, answered one by one."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Models, Turn
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.answers.schema import UnusableSchemaError
from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, Shape, canonical
from overnight_emulator.batches.seen_ids import SeenIds
from overnight_emulator.dialects.openai.chat import complete
from overnight_emulator.dialects.openai.embeddings import embed, texts_of
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.dialects.openai.moderations import USUAL_MODEL, inputs_of, moderate
from overnight_emulator.dialects.openai.prompts import (
    chat_prompt,
    chat_shape,
    chat_turns,
    responses_prompt,
    responses_turns,
)
from overnight_emulator.dialects.openai.responses import respond
from overnight_emulator.dialects.openai.rules import CHAT, EMBEDDINGS, MODERATIONS, RESPONSES, check_request, exists
from overnight_emulator.dialects.openai.strict import check_strictly
from overnight_emulator.identity import new_id
from overnight_emulator.model_limits import too_long
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth

_UNFINISHED = {
    "expired": ("batch_expired", "This request could not be executed before the completion window expired."),
    "cancelled": ("batch_cancelled", "This request was not executed because the batch was cancelled."),
}


RETENTION_SECONDS = 30 * 86_400
MOST_REQUESTS = 50_000
MOST_BYTES = 209_715_200
_PEEKED = 1 << 20


class _Line(msgspec.Struct):
    custom_id: Any = None
    method: Any = None
    url: Any = None
    body: Any = None


_read_line = msgspec.json.Decoder(_Line).decode
_write = msgspec.json.Encoder().encode


class Refused(Exception):
    """The first flaw found in an input."""

    def __init__(self, code: str, message: str, param: str | None = None, line: int | None = None) -> None:
        super().__init__(message)
        self.flaw = Flaw(code, message, param, line)


class OpenAIRows:
    usage_key = "usage"
    failed_apart = True

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.models = Models(truth)
        self._embedder = Embedder(truth.seed)

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        if file is None or file.purpose != "batch":
            found = "does not exist" if file is None else f"has the purpose '{file.purpose}', not 'batch'"
            return Flaw("invalid_request", f"The input file {batch.input_file_id} {found}.", "file_id")
        most = self._truth.limits.bytes or MOST_BYTES
        if file.bytes > most:
            return Flaw("invalid_request", too_large(file.bytes, most), "file_id")
        try:
            return self._content(batch, lines)
        except Refused as refused:
            return refused.flaw

    def too_many_tokens(self, model: str, limit: int) -> Flaw:
        return Flaw(
            "token_limit_exceeded",
            f"Enqueued token limit reached for {model} in organization org-emulator. Limit: {limit} enqueued tokens."
            " Please try again once some in_progress batches have been completed.",
        )

    def read(self, line: bytes, batch: Batch) -> Row:  # noqa: ARG002 - the line says it all
        read = _read_line(line)
        return Row(read.custom_id, read.body, sha256(canonical(read.body)).digest())

    def shape(self, row: Row, batch: Batch) -> Shape | None:
        shape = chat_shape(row.body) if batch.endpoint == CHAT else None
        return None if shape is None or too_long(self.models, row.body["model"], shape.turns) else shape

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:
        if batch.endpoint in {EMBEDDINGS, MODERATIONS}:
            return look_at(self.models, self._embedder, self._truth, row.body, batch.endpoint, row.digest)
        return answer(self.models, self._truth, row.body, batch.endpoint, moment, row.digest)

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply:
        said = message or "The server had an error while processing this request."
        return Reply(status, ApiError(status, said, kind=kind, code=code).body)

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:
        response = {"status_code": reply.status, "request_id": f"req_{row_id}", "body": reply.body}
        return _envelope(row, row_id, response, None)

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:
        code, message = _UNFINISHED[end]
        return _envelope(row, row_id, None, {"code": code, "message": message})

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:
        file = StoredFile(
            id=new_id("file-"),
            dialect=batch.dialect,
            filename=f"{batch.id}_{what}.jsonl",
            purpose="batch_output",
            created_at=ended_at,
            expires_at=now + (batch.details.get("output_lifetime") or RETENTION_SECONDS),
            batch_id=batch.id,
        )
        return store.take_file(part, file)

    def _content(self, batch: Batch, lines: Iterable[bytes]) -> Content:
        model, total, tokens = "", 0, 0
        turns_of = _TURNS[batch.endpoint]
        seen = SeenIds(lambda: (_read_line(line).custom_id for line in lines))
        blank: int | None = None
        for number, line in enumerate(lines, 1):
            if line.isspace():
                blank = blank or number
                continue
            if blank is not None:
                raise Refused("invalid_json_line", _NOT_JSON, line=blank)
            read = _parsed(line, number)
            _check_envelope(read, batch.endpoint, seen, number)
            model = self._checked_model(read.body, model, number)
            total += 1
            tokens += self.models.input_tokens(turns_of(read.body), model)
        limit = self._truth.limits.requests or MOST_REQUESTS
        if not total:
            raise Refused("empty_file", "The input file contains no requests.")
        if total > limit:
            raise Refused("too_many_tasks", f"The input file contains {total} requests, more than the {limit} allowed.")
        return Content(total, model, tokens)

    def _checked_model(self, body: dict[str, Any], before: str, number: int) -> str:
        """The one model of the file."""
        model = body.get("model")
        if not isinstance(model, str) or not model:
            raise Refused("invalid_request", "The request body has no model.", "body.model", number)
        if before and model != before:
            message = f"The model '{model}' differs from '{before}' on the first line; a file has one model."
            raise Refused("mismatched_model", message, "body.model", number)
        if not before and not exists(model, self._truth):
            message = f"The model '{model}' does not exist or cannot be used in batches."
            raise Refused("model_not_found", message, "body.model", number)
        if body.get("stream"):
            raise Refused("streaming_unsupported", "Streaming is not supported in batches.", "body.stream", number)
        return model


def answer(
    models: Models,
    truth: Truth,
    body: dict[str, Any],
    endpoint: str,
    moment: float,
    digest: bytes,
    before: tuple[Turn, ...] | None = None,
) -> Reply:
    """One request of either endpoint. `before` is what a live one follows; in a batch there is no such thing."""
    try:
        check_request(body, endpoint, truth)
        if truth.strict:
            check_strictly(body, endpoint, truth, models)
        if endpoint == CHAT:
            return complete(models, chat_prompt(body, digest), body, moment)
        if before is None:
            _check_alone(body)
        return respond(models, responses_prompt(body, digest, before or ()), body, moment)
    except ApiError as refusal:
        return Reply(refusal.status, refusal.body)
    except UnusableSchemaError as error:
        invalid = ApiError(400, f"Invalid schema: {error}.", param="response_format", code="invalid_json_schema")
        return Reply(invalid.status, invalid.body)


def look_at(
    models: Models, embedder: Embedder, truth: Truth, body: dict[str, Any], endpoint: str, digest: bytes
) -> Reply:
    """One request for embeddings or moderations, live or in a batch."""
    try:
        check_request({"model": USUAL_MODEL, **body} if endpoint == MODERATIONS else body, endpoint, truth)
        return moderate(models, body, digest) if endpoint == MODERATIONS else embed(embedder, models, body)
    except ApiError as refusal:
        return Reply(refusal.status, refusal.body)


def _embedded(body: dict[str, Any]) -> tuple[Turn, ...]:
    try:
        return tuple(Turn("user", text) for text in texts_of(body))
    except ApiError:
        return ()  # its row will say why


def _moderated(body: dict[str, Any]) -> tuple[Turn, ...]:
    try:
        return tuple(Turn("user", text) for text, _ in inputs_of(body))
    except ApiError:
        return ()


_TURNS = {CHAT: chat_turns, RESPONSES: responses_turns, EMBEDDINGS: _embedded, MODERATIONS: _moderated}


def _check_alone(body: dict[str, Any]) -> None:
    for name in ("previous_response_id", "background"):
        if body.get(name):
            message = f"'{name}' is not simulated by this emulator in batches."
            raise ApiError(400, message, param=name, code="unsupported_parameter")


def too_large(size: int, limit: int) -> str:
    return f"The file is {size} bytes, larger than the {limit} maximum."


_NOT_JSON = "This line is not parseable as valid JSON."


def _parsed(line: bytes, number: int) -> _Line:
    try:
        return _read_line(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Refused("invalid_json_line", _NOT_JSON, line=number) from error


def _check_envelope(line: _Line, endpoint: str, seen: SeenIds, number: int) -> None:
    if not isinstance(line.custom_id, str) or not line.custom_id:
        raise Refused("missing_required_parameter", "Missing required parameter: 'custom_id'.", "custom_id", number)
    if not seen.add(line.custom_id):
        message = f"The custom_id '{line.custom_id}' was used before in this file."
        raise Refused("duplicate_custom_id", message, "custom_id", number)
    if line.method != "POST":
        raise Refused("invalid_method", f"The method is {line.method!r}, wanted 'POST'.", "method", number)
    if line.url != endpoint:
        message = f"The url {line.url!r} is not the batch's endpoint '{endpoint}'."
        raise Refused("invalid_url", message, "url", number)
    if not isinstance(line.body, dict):
        raise Refused("missing_required_parameter", "Missing required parameter: 'body'.", "body", number)


def _envelope(row: Row, row_id: str, response: dict[str, Any] | None, error: dict[str, Any] | None) -> bytes:
    line = {"id": f"batch_req_{row_id}", "custom_id": row.custom_id, "response": response, "error": error}
    return _write(line) + b"\n"


def peek_model(path: Path) -> str | None:
    """The model of the first line, if it can be read: faults are chosen by it before anything is validated."""
    with path.open("rb") as lines:
        try:
            body = _read_line(lines.readline(_PEEKED)).body
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return None
    model = body.get("model") if isinstance(body, dict) else None
    return model if isinstance(model, str) else None
