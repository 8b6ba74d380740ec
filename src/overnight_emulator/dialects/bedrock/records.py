"""The records of Bedrock's jobs: in and out by S3, in the order of the input."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, Shape, canonical
from overnight_emulator.dialects.bedrock.asking import turns_of
from overnight_emulator.dialects.bedrock.converse import answer
from overnight_emulator.dialects.s3 import put_object
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth

_FEWEST = 100
_MOST = 50_000
_read = msgspec.json.Decoder(dict[str, Any]).decode
_write = msgspec.json.Encoder().encode


class BedrockRows:
    usage_key = "usage"
    failed_apart = False

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.models = Models(truth)

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        if file is None:
            return Flaw("Validation", f"The input {batch.details['input_uri']} does not exist.")
        model, total, tokens = batch.details["model"], 0, 0
        for number, line in enumerate(lines, 1):
            try:
                body = _read(line)["modelInput"]
                tokens += self.models.input_tokens(turns_of(body), model)
            except (msgspec.MsgspecError, LookupError, TypeError, AttributeError, RecursionError, UnicodeDecodeError):
                return Flaw("Validation", f"Record {number} of the input cannot be read.", line=number)
            total += 1
        fewest = self._truth.limits.fewest_requests or _FEWEST
        limit = self._truth.limits.requests or _MOST
        if total < fewest:
            return Flaw("Validation", f"The input has {total} records; the minimum of a job is {fewest} records.")
        if total > limit:
            return Flaw("Validation", f"The input has too many records: {total}, and {limit} are allowed.")
        return Content(total, model, tokens)

    def too_many_tokens(self, model: str, limit: int) -> Flaw:
        return Flaw("Quota", f"Enqueued token limit reached for {model}. Limit: {limit} enqueued tokens.")

    def read(self, line: bytes, batch: Batch) -> Row:
        found = _read(line)
        body = {**found["modelInput"], "model": batch.details["model"]}
        return Row(str(found.get("recordId") or ""), body, sha256(canonical(body)).digest())

    def shape(self, row: Row, batch: Batch) -> Shape | None:  # noqa: ARG002 - each line repeats its own request
        return None

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - the row says it all
        return answer(self.models, self._truth, row.body, row.digest)

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply:  # noqa: ARG002
        return Reply(status, {"message": message or "The model could not be invoked."})

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:  # noqa: ARG002 - records have no id of theirs
        asked = {name: part for name, part in row.body.items() if name != "model"}
        line: dict[str, Any] = {"recordId": row.custom_id, "modelInput": asked}
        if reply.status == 200:
            return _write({**line, "modelOutput": reply.body}) + b"\n"
        error = {"errorCode": reply.status, "errorMessage": reply.body.get("message")}
        return _write({**line, "error": error}) + b"\n"

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:  # noqa: ARG002 - there is no such line
        return b""

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:  # noqa: ARG002 - one kind of file
        """In a folder of the job's own, beside a manifest."""
        bucket, _, prefix = batch.details["output_uri"].removeprefix("s3://").partition("/")
        folder = "/".join(piece for piece in (prefix.strip("/"), batch.id) if piece)
        source = batch.details["input_uri"].rsplit("/", 1)[-1]
        if part.stat().st_size:
            put_object(store, bucket, f"{folder}/{source}.out", part, ended_at)
        else:
            part.unlink()
        manifest = store.path(f"{batch.id}.manifest.part")
        manifest.write_bytes(_write({"totalRecordCount": 0 if batch.check is None else batch.check.total}))
        put_object(store, bucket, f"{folder}/manifest.json.out", manifest, ended_at)
        return f"s3://{bucket}/{folder}"
