"""The lines of Vertex's batch files: a request, and beside it whatever the user adds, which comes back as it is read.

The input goes through an importer that knows tables rather than JSON: what looks like a number is one afterwards, and
one line that it cannot read fails the whole job.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Models
from overnight_emulator.batches.batch import Batch, Flaw
from overnight_emulator.batches.rows import Content, Reply, Row, Shape
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.generating import digest_of, generate
from overnight_emulator.dialects.google.prompts import turns_of
from overnight_emulator.dialects.google.spelling import camel, moment_text
from overnight_emulator.dialects.storage.objects import Objects, split_uri
from overnight_emulator.patterns import matches_any
from overnight_emulator.store import Store, StoredFile
from overnight_emulator.truth import Truth
from overnight_emulator.uploads import digest_of as file_digest

AGENT = "service-1@gcp-sa-aiplatform.iam.gserviceaccount.com"
_MOST_BYTES = 1 << 30
_MOST_REQUESTS = 200_000
_DEEPEST = 15
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_COLUMN = re.compile(r"[A-Za-z_]\w{0,299}")
_WRITTEN_BY_SERVICE = frozenset({"status", "processed_time", "request", "response"})
_ID_NAMES = ("custom_id", "key", "id")
_write = msgspec.json.Encoder().encode


class Misread(Exception):
    """A line that the importer cannot take."""


class VertexRows:
    usage_key = "usageMetadata"
    failed_apart = False

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self.models = Models(truth)

    def validate(self, batch: Batch, file: StoredFile | None, lines: Iterable[bytes]) -> Content | Flaw:
        """Codes are those of gRPC, with which a job fails."""
        flaw = self._bucket_flaw(batch) or self._file_flaw(batch, file)
        if flaw is not None:
            return flaw
        model, total, tokens = batch.details["model"], 0, 0
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                request, _ = read_line(line)
            except Misread as misread:
                return Flaw("3", f"Failed to import data. Error at line {number}: {misread}", line=number)
            total += 1
            tokens += self.models.input_tokens(turns_of(request), model)
        limit = self._truth.limits.requests or _MOST_REQUESTS
        if not total or total > limit:
            return Flaw("3", f"Failed to import data: {total} requests, wanted from 1 to {limit}.")
        return Content(total, model, tokens)

    def too_many_tokens(self, model: str, limit: int) -> Flaw:
        return Flaw("8", f"Quota exceeded for batch tokens of {model}. Limit: {limit} enqueued tokens.")

    def read(self, line: bytes, batch: Batch) -> Row:
        request, beside = read_line(line)
        body = {**request, "model": batch.details["model"]}
        named = next((beside[name] for name in _ID_NAMES if name in beside), "")
        return Row(str(named), body, digest_of(body), {"processed_time": moment_text(batch.created_at), **beside})

    def shape(self, row: Row, batch: Batch) -> Shape | None:  # noqa: ARG002 - each line repeats its own request
        return None

    def answer(self, row: Row, batch: Batch, moment: float) -> Reply:  # noqa: ARG002 - answers carry no time here
        return generate(self.models, self._truth, row.body, row.digest)

    def error(self, status: int, code: str | None, kind: str | None, message: str | None) -> Reply:
        said = message or "An internal error has occurred. Please retry."
        return Reply(status, GoogleError(status, said, word=kind, reason=code).body)

    def render(self, row: Row, reply: Reply, row_id: str) -> bytes:  # noqa: ARG002 - rows have no id of their own
        named = next((name for name in _ID_NAMES if name in row.beside), None)
        beside = {**row.beside, **({} if named is None else {named: row.custom_id})}
        line = {name: imported(value) for name, value in beside.items()}
        line["request"] = {name: part for name, part in row.body.items() if name != "model"}
        if reply.status == 200:
            return _write({"status": "", **line, "response": reply.body}) + b"\n"
        phrase = HTTPStatus(reply.status).phrase
        return _write({"status": f"{phrase}: {_write(reply.body).decode()}", **line}) + b"\n"

    def render_unfinished(self, row: Row, end: str, row_id: str) -> bytes:  # noqa: ARG002 - there is no such line
        return b""

    def keep(self, store: Store, batch: Batch, what: str, part: Path, ended_at: float, now: float) -> str | None:  # noqa: ARG002 - one kind of file
        """In the user's bucket, in a folder of the job's own under the prefix that was asked for."""
        target = split_uri(batch.details["output_prefix"])
        assert target is not None
        bucket, prefix = target
        folder = f"{prefix.strip('/')}/prediction-model-{moment_text(batch.created_at)}".lstrip("/")
        shards = list(_shards(part, self._truth.limits.shard_rows))
        part.unlink()
        objects = Objects(store)
        for number, shard in enumerate(shards):
            name = "predictions.jsonl" if len(shards) == 1 else f"predictions-{number:05d}-of-{len(shards):05d}.jsonl"
            objects.put(bucket, f"{folder}/{name}", shard, file_digest(shard), ended_at, "application/octet-stream")
        return f"gs://{bucket}/{folder}" if shards else None

    def _bucket_flaw(self, batch: Batch) -> Flaw | None:
        """It is not the caller who reads and writes, but the service's own agent."""
        for uri, permission in ((batch.details["input_uri"], "get"), (batch.details["output_prefix"], "create")):
            bucket, _ = split_uri(uri) or ("", "")
            if matches_any(bucket, self._truth.buckets.missing):
                return Flaw("9", f"The Cloud Storage bucket of `{uri}` does not exist.")
            if matches_any(bucket, self._truth.buckets.refuse_service):
                wanted = f"storage.objects.{permission} access to the Google Cloud Storage object"
                return Flaw("7", f"Vertex AI Service Agent {AGENT} does not have {wanted} `{uri}`.")
        return None

    def _file_flaw(self, batch: Batch, file: StoredFile | None) -> Flaw | None:
        if file is None:
            return Flaw("5", f"The input file `{batch.details['input_uri']}` does not exist.")
        most = self._truth.limits.bytes or _MOST_BYTES
        return (
            Flaw("3", f"The input is {file.bytes} bytes, larger than the {most} maximum.")
            if file.bytes > most
            else None
        )


def read_line(line: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """The request in its written form, and what stands beside it."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Misread("not valid JSON") from error
    if not isinstance(found, dict) or not isinstance(found.get("request"), dict):
        raise Misread("no `request`")
    _check_importable(found, 1)
    beside = {name: value for name, value in found.items() if name not in _WRITTEN_BY_SERVICE}
    return camel(found["request"]), beside


def _check_importable(value: Any, depth: int) -> None:
    if depth > _DEEPEST:
        raise Misread(f"nested deeper than {_DEEPEST} levels")
    if isinstance(value, list):
        for part in value:
            _check_importable(part, depth + 1)
    if not isinstance(value, dict):
        return
    if not value:
        raise Misread("an empty object")
    for name, part in value.items():
        if not _COLUMN.fullmatch(name):
            raise Misread(f"'{name}' is not a valid name of a column")
        _check_importable(part, depth + 1)


def imported(value: Any) -> Any:
    """What looks like a number has become one."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return value
    return int(value) if value.lstrip("+-").isdecimal() else float(value)


def _shards(part: Path, rows: int) -> Iterator[Path]:
    with part.open("rb") as lines:
        number = 0
        while portion := list(islice(lines, rows)):
            shard = part.with_suffix(f".{number}.part")
            shard.write_bytes(b"".join(portion))
            yield shard
            number += 1
