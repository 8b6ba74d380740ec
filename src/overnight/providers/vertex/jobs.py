"""Vertex's batch prediction jobs, read into the contract's nouns."""

import re
from datetime import UTC, datetime
from typing import Any

import msgspec

from overnight.core.errors import Unavailable
from overnight.providers.buckets import OwnBuckets, Place
from overnight.providers.contract import Batch, Counts, Fence, Intent, Limits, Refusal
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

# Up to three days in the queue, then a day of work. Results lie in the user's own bucket.
WINDOW_SECONDS = 4 * 86_400
LIMITS = Limits(
    requests=200_000,
    bytes=1_000_000_000,
    window_seconds=WINDOW_SECONDS,
    kept="as long as your bucket does",
    discount="50%",
)
TAG = "overnight"
# The usual region.
STORAGE = "https://storage.googleapis.com"
LOCATION = "us-central1"
BUCKETS = OwnBuckets(provider="vertex", scheme="gs")
_AGENT_ROLE = "Storage Object Admin (roles/storage.objectAdmin)"
_NOT_IN_A_LABEL = re.compile(r"[^a-z0-9_-]+")
_LONGEST_LABEL = 63


def job_body(intent: Intent, input_uri: str, output: Place) -> bytes:
    """What is asked for. The token is in the name, in a label, and in the folder of the output."""
    prefix = "/".join(part for part in (output.name, intent.token) if part)
    run = _NOT_IN_A_LABEL.sub("-", intent.run.lower())[:_LONGEST_LABEL]
    return msgspec.json.encode(
        {
            "displayName": intent.token,
            "labels": {TAG: intent.token, **({"run": run} if run else {})},
            "model": f"publishers/google/models/{intent.model.name}",
            "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": [input_uri]}},
            "outputConfig": {
                "predictionsFormat": "jsonl",
                "gcsDestination": {"outputUriPrefix": f"gs://{output.bucket}/{prefix}"},
            },
        }
    )


def since(fence: Fence) -> dict[str, str]:
    """A filter that leaves out what is surely older than the fence."""
    if fence.at is None or fence.at <= 0:
        return {}
    return {"filter": f'create_time>="{datetime.fromtimestamp(fence.at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}"'}


def read_job(body: bytes) -> Batch:
    return job_of(decoded(body, "vertex"))


def read_page(body: bytes, date: float | None) -> Page:
    jobs, token = listed(decoded(body, "vertex"), "batchPredictionJobs", "vertex")
    batches, unread = readable(jobs, job_of)
    return Page(batches, token is not None, token, date, unread)


def job_of(job: Any) -> Batch:
    name = job.get("name") if isinstance(job, dict) else None
    if not isinstance(name, str) or not name:
        raise Unavailable("vertex: the answer is not in Google's format (is the base URL right?)")
    status, phase, known = status_of(job.get("state"))
    labels = _mapping(job, "labels")
    tag = labels.get(TAG) or job.get("displayName")
    return Batch(
        id=name.rsplit("/", 1)[-1],
        phase=phase,
        status=status,
        created_at=moment_of(job.get("createTime")),
        tag=tag if isinstance(tag, str) and tag else None,
        input_ref=_input(job),
        counts=_counts(job),
        parts=_parts(job) if phase != "running" else (),
        refusal=_refusal(job) if phase == "failed" else None,
        known_status=known,
    )


def _input(job: dict[str, Any]) -> str | None:
    uris = _mapping(_mapping(job, "inputConfig"), "gcsSource").get("uris")
    given = [uris] if isinstance(uris, str) else uris
    return given[0] if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str) else None


def _counts(job: dict[str, Any]) -> Counts:
    stats = _mapping(job, "completionStats")
    done, failed, left = (count_of(stats.get(f"{name}Count")) for name in ("successful", "failed", "incomplete"))
    return Counts(done + failed + left, done, failed, left)


def _parts(job: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """The folder that this job itself names: another job's files can never be in it."""
    folder = _mapping(job, "outputInfo").get("gcsOutputDirectory")
    return (("output", folder),) if isinstance(folder, str) and folder else ()


def _refusal(job: dict[str, Any]) -> Refusal:
    """Who reads and writes the buckets is Vertex's own agent, not the caller: that is said where it may not."""
    failure = failure_of(job.get("error"))
    refusal = failure_refusal(failure)
    if failure is None or failure.code != 7:
        return refusal
    buckets = dict.fromkeys(uri.split("/")[2] for uri in _uris(job))
    where = " and ".join(f"gs://{bucket}" for bucket in buckets) or "the buckets"
    grant = f"give the Vertex AI service agent of the project the role {_AGENT_ROLE} on {where}"
    return msgspec.structs.replace(refusal, message=f"{refusal.message}; {grant}")


def _uris(job: dict[str, Any]) -> list[str]:
    output = _mapping(_mapping(job, "outputConfig"), "gcsDestination").get("outputUriPrefix")
    return [uri for uri in (_input(job), output) if isinstance(uri, str) and uri.startswith("gs://")]


def _mapping(found: dict[str, Any], name: str) -> dict[str, Any]:
    value = found.get(name)
    return value if isinstance(value, dict) else {}
