"""The Gemini API's batches, which are operations: read into the contract's nouns."""

from collections.abc import Iterator
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.contract import Batch, Counts, Limits
from overnight.providers.google_api.refusals import (
    count_of,
    decoded,
    failure_of,
    failure_refusal,
    listed,
    moment_of,
    status_of,
)
from overnight.providers.reading.listing import Page, readable
from overnight.providers.reading.patient_json import UNREADABLE

WINDOW_SECONDS = 48 * 3_600
# No number of requests is published. A batch that expires gives up nothing, so none should be too long.
LIMITS = Limits(
    requests=50_000, bytes=2_000_000_000, batches_at_once=100, window_seconds=WINDOW_SECONDS, discount="50%"
)
_write = msgspec.json.Encoder().encode


def short_id(name: str) -> str:
    """The id of a batch, whether or not it comes with the name of its collection."""
    return name.rsplit("/", 1)[-1]


def read_batch(body: bytes) -> Batch:
    return batch_of(decoded(body, "gemini"))


def read_page(body: bytes, date: float | None) -> Page:
    operations, token = listed(decoded(body, "gemini"), "operations", "gemini")
    batches, unread = readable(operations, batch_of)
    return Page(batches, token is not None, token, date, unread)


def batch_of(operation: Any) -> Batch:
    """An operation; where the batch stands is in its metadata. One without a known state is taken to be running."""
    name = operation.get("name") if isinstance(operation, dict) else None
    if not isinstance(name, str) or not name:
        raise Unavailable("gemini: the answer is not in Google's format (is the base URL right?)")
    metadata = _mapping(operation, "metadata") or operation
    status, phase, known = status_of(metadata.get("state"))
    stats, created_at = _mapping(metadata, "batchStats"), moment_of(metadata.get("createTime"))
    tag, given = metadata.get("displayName"), _mapping(metadata, "inputConfig").get("fileName")
    return Batch(
        id=short_id(name),
        phase=phase,
        status=status,
        created_at=created_at,
        expires_at=None if created_at is None else created_at + WINDOW_SECONDS,
        tag=tag if isinstance(tag, str) and tag else None,
        input_ref=given if isinstance(given, str) and given else None,
        counts=Counts(
            count_of(stats.get("requestCount")),
            count_of(stats.get("successfulRequestCount")),
            count_of(stats.get("failedRequestCount")),
        ),
        parts=_parts(operation, metadata) if phase != "running" else (),
        refusal=failure_refusal(failure_of(operation.get("error"))) if phase == "failed" else None,
        known_status=known,
    )


def _parts(operation: dict[str, Any], metadata: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """A file of answers, or the batch itself where they lie in it."""
    for place in (_mapping(operation, "response"), _mapping(metadata, "output"), _mapping(metadata, "dest")):
        file = place.get("responsesFile") or place.get("fileName")
        if isinstance(file, str) and file:
            return (("output", file),)
        if place.get("inlinedResponses"):
            return (("output", f"batches/{short_id(operation['name'])}"),)
    return ()


def inlined_lines(body: bytes) -> Iterator[bytes]:
    """The answers that lie in a batch itself, each as the line that a file would have of it."""
    operation = decoded(body, "gemini")
    metadata = _mapping(operation, "metadata")
    for place in (_mapping(operation, "response"), _mapping(metadata, "output")):
        inlined = place.get("inlinedResponses")
        listed = inlined.get("inlinedResponses") if isinstance(inlined, dict) else inlined
        if isinstance(listed, list):
            yield from (_line(one) + b"\n" for one in listed)
            return


def _line(answer: Any) -> bytes:
    """One that cannot be written again is a line that nobody can read: what is around it is not lost."""
    try:
        return _write(answer)
    except UNREADABLE:
        return b"{}"


def _mapping(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}
