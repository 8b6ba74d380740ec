"""Azure OpenAI's batches and live calls, driven by the official SDK in both forms of the API."""

from __future__ import annotations

import json
from collections.abc import Iterator

import openai
import pytest
from driving import chat_lines, jsonl
from openai import AzureOpenAI, OpenAI

from emulator_process import EmulatorProcess

DEPLOYMENT = "gpt-4o-batch"


@pytest.fixture(params=["dated", "dated, by token", "v1"])
def client(request: pytest.FixtureRequest, shared: EmulatorProcess) -> Iterator[OpenAI]:
    dated = {"azure_endpoint": f"{shared.url}/azure", "api_version": "2025-04-01-preview", "max_retries": 0}
    made: OpenAI = {
        "dated": lambda: AzureOpenAI(api_key="any", **dated),
        "dated, by token": lambda: AzureOpenAI(azure_ad_token="any", **dated),
        "v1": lambda: OpenAI(api_key="any", base_url=f"{shared.url}/azure/openai/v1/", max_retries=0),
    }[request.param]()
    with made as one:
        yield one


def test_a_batch_from_upload_to_answers(client: OpenAI, shared: EmulatorProcess) -> None:
    lines = [{**line, "body": {**line["body"], "model": DEPLOYMENT}} for line in chat_lines(4)]
    file = client.files.create(file=("night.jsonl", jsonl(lines)), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h", metadata={"a": "b"}
    )
    shared.finish()
    batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.metadata) == ("completed", {"a": "b"})
    assert batch.id in [one.id for one in client.batches.list(limit=100).data]
    assert batch.output_file_id
    rows = [json.loads(row) for row in client.files.content(batch.output_file_id).content.splitlines()]
    assert {row["custom_id"] for row in rows} == {"r0", "r1", "r2", "r3"}
    assert batch.error_file_id
    assert client.files.content(batch.error_file_id).content == b""


def test_a_question_is_answered(client: OpenAI) -> None:
    answer = client.chat.completions.create(model=DEPLOYMENT, messages=[{"role": "user", "content": "Name a lake."}])
    assert "lake" in str(answer.choices[0].message.content)
    assert answer.model == DEPLOYMENT


def test_the_dated_api_wants_its_date(shared: EmulatorProcess) -> None:
    with (
        OpenAI(api_key="any", base_url=f"{shared.url}/azure/openai", max_retries=0) as client,
        pytest.raises(openai.NotFoundError, match="Resource not found"),
    ):
        client.batches.list()


def test_a_batch_past_its_day_runs_on(emulate) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [200_000, 200_000]}})
    with OpenAI(api_key="any", base_url=f"{emulator.url}/azure/openai/v1/", max_retries=0) as client:
        lines = [{**line, "body": {**line["body"], "model": DEPLOYMENT}} for line in chat_lines(2)]
        file = client.files.create(file=("night.jsonl", jsonl(lines)), purpose="batch")
        batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
        emulator.advance(100_000)
        assert client.batches.retrieve(batch.id).status == "in_progress"
        emulator.advance(110_000)
        assert client.batches.retrieve(batch.id).status == "completed"
