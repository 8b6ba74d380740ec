"""Jobs of Bedrock and what is said about them, read into the contract's nouns."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overnight.providers.bedrock.jobs import read_job

ARN = "arn:aws:bedrock:us-east-1:123456789012:model-invocation-job/abc"


def job(**fields: Any) -> bytes:
    output = {"s3OutputDataConfig": {"s3Uri": "s3://lab/out/tok/"}}
    return json.dumps({"jobArn": ARN, "jobName": "tok", "outputDataConfig": output, **fields}).encode()


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("Batch job abc contains less records (10) than the required minimum of: 100", "too_few"),
        ("The input has 120 records; the minimum of a job is 200 records.", "too_few"),
        ("The input s3://lab/in/tok.jsonl does not exist.", "file_not_ready"),
        ("Batch job abc contains too many records (70000): the maximum number is 50000", "too_large"),
        ("Something else", "invalid"),
    ],
)
def test_why_a_job_failed(words: str, kind: str) -> None:
    refusal = read_job(job(status="Failed", message=words)).refusal
    assert refusal is not None
    assert refusal.kind == kind


@pytest.mark.parametrize(
    ("status", "counts", "parts"),
    [
        ("Completed", {"processedRecordCount": 3, "successRecordCount": 3}, True),
        ("PartiallyCompleted", {"processedRecordCount": 2, "successRecordCount": 2}, True),
        ("Expired", {"processedRecordCount": 2, "successRecordCount": 2}, True),
        ("Stopped", {"processedRecordCount": 0}, False),
        ("Stopped", {}, True),
        ("Failed", {"processedRecordCount": 2, "successRecordCount": 2}, True),
        ("Failed", {}, False),
        ("Pondering", {"processedRecordCount": 2, "successRecordCount": 2}, False),
    ],
)
def test_what_has_been_run_is_fetched_however_the_job_ended(status: str, counts: dict[str, int], parts: bool) -> None:
    seen = read_job(job(status=status, **counts))
    assert seen.parts == ((("output", "s3://lab/out/tok/abc"),) if parts else ())
    assert (seen.phase == "running") == (status == "Pondering")
    assert seen.known_status == (status != "Pondering")
