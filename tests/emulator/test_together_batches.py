"""Together's files and batches, driven by the official SDK."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import together
from driving import chat_lines, jsonl
from together import Together

from emulator_process import EmulatorProcess

MODEL = "Qwen/Qwen3-235B-A22B"


@pytest.fixture
def client(shared: EmulatorProcess) -> Iterator[Together]:
    with Together(api_key="any", base_url=f"{shared.url}/together/v1", max_retries=0) as one:
        yield one


def upload(client: Together, folder: Path, count: int, *, model: str = MODEL, tag: str = "") -> str:
    """`tag` makes a content of its own."""
    lines = chat_lines(count)
    bare = [{"custom_id": tag + line["custom_id"], "body": {**line["body"], "model": model}} for line in lines]
    file = folder / "night.jsonl"
    file.write_bytes(jsonl(bare))
    return client.files.upload(file=str(file), purpose="batch-api", check=False).id


def test_a_batch_from_upload_to_answers(client: Together, shared: EmulatorProcess, tmp_path: Path) -> None:
    file_id = upload(client, tmp_path, 5)
    made = client.batches.create(input_file_id=file_id, endpoint="/v1/chat/completions")
    assert made.job is not None
    assert made.job.id
    shared.finish()
    job = client.batches.retrieve(made.job.id)
    assert (job.status, job.input_file_id, job.progress) == ("COMPLETED", file_id, 100.0)
    assert job.created_at is not None
    assert not hasattr(job, "request_counts")
    assert job.output_file_id
    rows = [json.loads(row) for row in client.files.content(job.output_file_id).read().splitlines()]
    assert {row["custom_id"] for row in rows} == {f"r{n}" for n in range(5)}
    assert job.id in [one.id for one in client.batches.list()]


def test_the_same_content_is_the_same_file(client: Together, tmp_path: Path) -> None:
    assert upload(client, tmp_path, 2, tag="a") == upload(client, tmp_path, 2, tag="a")
    assert upload(client, tmp_path, 2, tag="a") != upload(client, tmp_path, 2, tag="b")


def test_create_does_not_look_into_the_file(client: Together, shared: EmulatorProcess, tmp_path: Path) -> None:
    made = [
        client.batches.create(input_file_id="file-none", endpoint="/v1/chat/completions").job,
        client.batches.create(
            input_file_id=upload(client, tmp_path, 1, model="qwen-typo"), endpoint="/v1/chat/completions"
        ).job,
    ]
    shared.finish()
    ended = [client.batches.retrieve(str(job and job.id)) for job in made]
    assert [job.status for job in ended] == ["FAILED", "FAILED"]
    assert [bool(job.output_file_id) for job in ended] == [False, False]
    assert "not found" in str(ended[0].error)
    assert "does not exist" in str(ended[1].error)


def test_a_batch_is_cancelled_once(emulate: Callable[..., EmulatorProcess], tmp_path: Path) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000]}})
    with Together(api_key="any", base_url=f"{emulator.url}/together/v1", max_retries=0) as client:
        job = client.batches.create(input_file_id=upload(client, tmp_path, 3), endpoint="/v1/chat/completions").job
        batch_id = str(job and job.id)
        emulator.advance(100)
        assert client.batches.cancel(batch_id).status == "CANCELING"
        emulator.advance(1000)
        assert client.batches.retrieve(batch_id).status == "CANCELLED"
        with pytest.raises(together.ConflictError):
            client.batches.cancel(batch_id)


def test_an_unknown_batch_is_not_found(client: Together) -> None:
    with pytest.raises(together.NotFoundError, match="Job not found"):
        client.batches.retrieve("nobody")
