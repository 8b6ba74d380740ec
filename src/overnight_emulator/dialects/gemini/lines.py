"""The lines of Gemini's batch files: a key and a request; answers and failures come back in one file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, Shape
from overnight_emulator.dialects.gemini.objects import rpc_code
from overnight_emulator.dialects.google.embedding import embed
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.generating import digest_of, generate
from overnight_emulator.dialects.google.prompts import content_shape, turns_of
from overnight_emulator.dialects.google.rules import exists
from overnight_emulator.dialects.google.spelling import camel
from overnight_emulator.model_limits import too_long
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth

MOST_BYTES = 2 << 30
RETENTION_SECONDS = 42 * 86_400
# None is documented; this is beyond what a file can hold.
_MOST_REQUESTS = 10_000_000
_write = msgspec.json.Encoder().encode


class Misread(Exception):
    """A line that is no request."""


class GeminiRows:
    usage_key = "usageMetadata"
    failed_apart = False

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.models = Models(truth)
        self._embedder = Embedder(truth.seed)

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        """Codes are the HTTP statuses with which a create is refused."""
        model = batch.details["model"]
        if not exists(model, self._truth):
            return Flaw("404", f"models/{model} is not found, or is not supported for batchGenerateContent.")
        if file is None:
            return Flaw("404", f"The input file files/{batch.input_file_id} does not exist.")
        most = self._truth.limits.bytes or MOST_BYTES
        if file.bytes > most:
            return Flaw("400", f"The input file is {file.bytes} bytes, larger than the {most} maximum.")
        total = tokens = 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                _, request = read_line(line, _wanted(batch))
            except Misread as misread:
                return Flaw("400", f"Failed to parse the input file: line {number}: {misread}", line=number)
            total += 1
            contents = {"contents": [request["content"]]} if batch.details["embeds"] else request
            tokens += self.models.input_tokens(turns_of(contents), model)
        return _content(total, model, tokens, self._truth.limits.requests or _MOST_REQUESTS)

    def too_many_tokens(self, model: str, limit: int) -> Flaw:
        metric = "generativelanguage.googleapis.com/batch_enqueued_tokens"
        return Flaw(
            "429",
            "You exceeded your current quota, please check your plan and billing details."
            f" Quota exceeded for metric: {metric}, limit: {limit}, model: {model}",
        )

    def read(self, line: bytes, batch: Batch) -> Row:
        key, request = read_line(line, _wanted(batch))
        body = {**request, "model": batch.details["model"]}
        return Row(key or "", body, digest_of(body), {} if key is None else {"key": key})

    def shape(self, row: Row, batch: Batch) -> Shape | None:
        shape = None if batch.details["embeds"] else content_shape(row.body)
        if shape is None or too_long(self.models, row.body["model"], shape.turns):
            return None
        return shape._replace(key=(shape.key, bool(row.beside)))

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - answers carry no time here
        if not batch.details["embeds"]:
            return generate(self.models, self._truth, row.body, row.digest)
        try:
            return embed(self._embedder, self.models, row.body["model"], row.body)
        except GoogleError as refused:
            return Reply(refused.status, refused.body)

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply:
        said = message or "An internal error has occurred. Please retry."
        return Reply(status, GoogleError(status, said, word=kind, reason=code).body)

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:  # noqa: ARG002 - rows have no id of their own
        key = {"key": row.custom_id} if row.beside else {}
        if reply.status == 200:
            return _write({**key, "response": reply.body}) + b"\n"
        error = reply.body["error"]
        return _write({**key, "error": {"code": rpc_code(reply.status), "message": error["message"]}}) + b"\n"

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:  # noqa: ARG002 - there is no such line
        return b""

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:  # noqa: ARG002 - one file only
        file = StoredFile(
            id=f"batch-{batch.id}",
            dialect=batch.dialect,
            filename="",
            purpose="batch_output",
            created_at=ended_at,
            expires_at=now + RETENTION_SECONDS,
            batch_id=batch.id,
        )
        return store.take_file(part, file)


def _wanted(batch: Batch) -> str:
    """The field without which a request of this batch is none."""
    return "content" if batch.details["embeds"] else "contents"


def read_line(line: bytes, wanted: str) -> tuple[str | None, dict[str, Any]]:
    """The key, if there is one, and the request in its written form."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Misread("not valid JSON") from error
    request = camel(found.get("request")) if isinstance(found, dict) else None
    if not isinstance(request, dict) or not request.get(wanted):
        raise Misread(f"no request with {wanted}")
    key = found.get("key")
    if key is not None and not isinstance(key, str):
        raise Misread("the key is not a string")
    return key, request


def _content(total: int, model: str, tokens: int, limit: int) -> Content | Flaw:
    if not total:
        return Flaw("400", "The input file contains no requests.")
    if total > limit:
        return Flaw("400", f"The input file contains {total} requests, more than the {limit} allowed.")
    return Content(total, model, tokens)
