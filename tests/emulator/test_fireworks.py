"""Fireworks' datasets, batch inference jobs and live calls, driven by the official SDK."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from uuid import uuid4

import fireworks
import pytest
from driving import chat_lines, jsonl
from fireworks import Fireworks

from emulator_process import EmulatorProcess

MODEL = "accounts/fireworks/models/gpt-oss-20b"


@pytest.fixture
def client(shared: EmulatorProcess) -> Iterator[Fireworks]:
    with Fireworks(api_key="any", account_id="lab", base_url=f"{shared.url}/fireworks", max_retries=0) as one:
        yield one


def dataset(client: Fireworks, count: int) -> str:
    name = f"in-{uuid4().hex[:8]}"
    client.datasets.create(dataset_id=name, dataset={"user_uploaded": {}, "example_count": str(count)})
    assert client.datasets.get(name).state == "UPLOADING"
    bare = [{"custom_id": one["custom_id"], "body": {"messages": one["body"]["messages"]}} for one in chat_lines(count)]
    uploaded = client.datasets.upload(name, file=("night.jsonl", jsonl(bare)))
    assert uploaded.bytes == len(jsonl(bare))
    assert client.datasets.get(name).state == "READY"
    return name


def test_a_job_from_dataset_to_answers(client: Fireworks, shared: EmulatorProcess) -> None:
    name = f"job-{uuid4().hex[:8]}"
    job = client.batch_inference_jobs.create(
        batch_inference_job_id=name,
        model=MODEL,
        input_dataset_id=f"accounts/lab/datasets/{dataset(client, 5)}",
        output_dataset_id=f"accounts/lab/datasets/{name}-out",
        display_name="mine",
    )
    assert job.name == f"accounts/lab/batchInferenceJobs/{name}"
    shared.finish()
    job = client.batch_inference_jobs.get(name)
    assert (job.state, job.display_name) == ("JOB_STATE_COMPLETED", "mine")
    assert job.job_progress is not None
    assert (job.job_progress.total_input_requests, job.job_progress.successfully_processed_requests) == (5, 5)
    assert job.name in [one.name for one in client.batch_inference_jobs.list(page_size=200)]
    signed = client.datasets.get_download_endpoint(f"{name}-out").filename_to_signed_urls or {}
    ((filename, address),) = signed.items()
    assert filename.endswith("BIJOutputSet.jsonl")
    with urllib.request.urlopen(address) as reply:
        rows = [json.loads(row) for row in reply.read().splitlines()]
    assert {row["custom_id"] for row in rows} == {f"r{n}" for n in range(5)}
    assert all(row["response"]["choices"] for row in rows)


def test_an_id_is_used_once(client: Fireworks) -> None:
    name, source = f"job-{uuid4().hex[:8]}", dataset(client, 1)
    client.batch_inference_jobs.create(batch_inference_job_id=name, model=MODEL, input_dataset_id=source)
    with pytest.raises(fireworks.ConflictError):
        client.batch_inference_jobs.create(batch_inference_job_id=name, model=MODEL, input_dataset_id=source)


def test_a_job_is_deleted(client: Fireworks) -> None:
    name = f"job-{uuid4().hex[:8]}"
    client.batch_inference_jobs.create(batch_inference_job_id=name, model=MODEL, input_dataset_id=dataset(client, 1))
    client.batch_inference_jobs.delete(name)
    with pytest.raises(fireworks.NotFoundError):
        client.batch_inference_jobs.get(name)


def test_a_question_is_answered(client: Fireworks) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Name a lake."}])
    assert "lake" in str(answer.choices[0].message.content)
