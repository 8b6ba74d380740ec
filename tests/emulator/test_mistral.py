"""Mistral's files, batch jobs and live calls, driven by the official SDK."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from driving import chat_lines, jsonl
from mistralai.client import Mistral
from mistralai.client.errors import MistralError

from emulator_process import EmulatorProcess

MODEL = "mistral-small-latest"
CHAT = "/v1/chat/completions"


@pytest.fixture
def client(shared: EmulatorProcess) -> Iterator[Mistral]:
    with Mistral(api_key="any", server_url=f"{shared.url}/mistral") as one:
        yield one


def bare(count: int, **more: Any) -> list[dict[str, Any]]:
    lines = chat_lines(count, **more)
    return [{"custom_id": line["custom_id"], "body": {"messages": line["body"]["messages"], **more}} for line in lines]


def upload(client: Mistral, lines: list[dict[str, Any]]) -> str:
    return client.files.upload(file={"file_name": "night.jsonl", "content": jsonl(lines)}, purpose="batch").id


def rows(client: Mistral, file_id: str | None) -> list[dict[str, Any]]:
    assert file_id
    return [json.loads(row) for row in client.files.download(file_id=file_id).read().splitlines()]


def test_a_job_from_upload_to_answers(client: Mistral, shared: EmulatorProcess) -> None:
    job = client.batch.jobs.create(
        input_files=[upload(client, bare(5))], model=MODEL, endpoint=CHAT, metadata={"a": "b"}, timeout_hours=48
    )
    shared.finish()
    job = client.batch.jobs.get(job_id=job.id)
    assert (job.status, job.metadata, job.model) == ("SUCCESS", {"a": "b"}, MODEL)
    assert (job.total_requests, job.succeeded_requests, job.failed_requests) == (5, 5, 0)
    assert {row["custom_id"] for row in rows(client, job.output_file)} == {f"r{n}" for n in range(5)}
    assert job.error_file is None
    listed = client.batch.jobs.list(order_by="-created")
    assert job.id in [one.id for one in listed.data or []]
    assert client.files.retrieve(file_id=str(job.output_file)).sample_type == "batch_result"


def test_requests_may_come_with_the_create_and_answers_with_the_job(client: Mistral, shared: EmulatorProcess) -> None:
    requests: Any = bare(3)
    job = client.batch.jobs.create(requests=requests, model=MODEL, endpoint=CHAT)
    shared.finish()
    job = client.batch.jobs.get(job_id=job.id, inline=True)
    assert {row["custom_id"] for row in job.outputs or []} == {"r0", "r1", "r2"}


def test_a_failed_row_has_its_body_as_text(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"faults": [{"on": "row", "do": "error", "status": 400, "message": "Bad words."}]})
    with Mistral(api_key="any", server_url=f"{emulator.url}/mistral") as client:
        job = client.batch.jobs.create(input_files=[upload(client, bare(1))], model=MODEL, endpoint=CHAT)
        emulator.finish()
        (row,) = rows(client, client.batch.jobs.get(job_id=job.id).error_file)
    assert row["response"]["status_code"] == 400
    assert json.loads(row["response"]["body"])["error"]["message"] == "Bad words."


def test_what_is_wrong_is_said_at_once(client: Mistral) -> None:
    with pytest.raises(MistralError, match="Invalid file format"):
        upload(client, [{"custom_id": "a", "body": {"no": "messages"}}])
    with pytest.raises(MistralError, match="File not found") as missing:
        client.batch.jobs.create(input_files=["file-none"], model=MODEL, endpoint=CHAT)
    assert missing.value.status_code == 404
    with pytest.raises(MistralError, match="Invalid model") as unknown:
        client.batch.jobs.create(input_files=[upload(client, bare(1))], model="mistral-typo", endpoint=CHAT)
    assert unknown.value.status_code == 422


def test_a_job_is_cancelled_and_deleted(emulate: Callable[..., EmulatorProcess]) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000]}})
    with Mistral(api_key="any", server_url=f"{emulator.url}/mistral") as client:
        job = client.batch.jobs.create(input_files=[upload(client, bare(4))], model=MODEL, endpoint=CHAT)
        emulator.advance(500)
        assert client.batch.jobs.cancel(job_id=job.id).status == "CANCELLATION_REQUESTED"
        emulator.advance(700)
        assert client.batch.jobs.get(job_id=job.id).status == "CANCELLED"
        assert client.batch.jobs.delete(job_id=job.id).deleted
        with pytest.raises(MistralError, match="Job not found"):
            client.batch.jobs.get(job_id=job.id)


def test_a_question_is_answered(client: Mistral) -> None:
    answer = client.chat.complete(model=MODEL, messages=[{"role": "user", "content": "Name a lake."}])
    assert "lake" in str(answer.choices[0].message.content)
