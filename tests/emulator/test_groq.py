"""Groq's files, batches and live calls, driven by the official SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator

import groq
import pytest
from driving import chat_lines, jsonl
from groq import Groq

from emulator_process import EmulatorProcess

MODEL = "llama-3.3-70b-versatile"


@pytest.fixture
def client(shared: EmulatorProcess) -> Iterator[Groq]:
    with Groq(api_key="any", base_url=f"{shared.url}/groq", max_retries=0) as one:
        yield one


def uploaded(client: Groq, count: int) -> str:
    lines = [{**line, "body": {**line["body"], "model": MODEL}} for line in chat_lines(count)]
    file = client.files.create(file=("night.jsonl", jsonl(lines)), purpose="batch")
    assert file.id
    return file.id


@pytest.mark.parametrize("window", ["24h", "7d"])
def test_a_batch_from_upload_to_answers(client: Groq, shared: EmulatorProcess, window: str) -> None:
    batch = client.batches.create(
        input_file_id=uploaded(client, 5),
        endpoint="/v1/chat/completions",
        completion_window=window,
        metadata={"a": "b"},
    )
    shared.finish()
    batch = client.batches.retrieve(batch.id)
    assert (batch.status, batch.completion_window, batch.metadata) == ("completed", window, {"a": "b"})
    assert batch.request_counts is not None
    assert (batch.request_counts.total, batch.request_counts.completed) == (5, 5)
    assert batch.id in [one.id for one in client.batches.list().data]
    assert batch.output_file_id
    rows = [json.loads(row) for row in client.files.content(batch.output_file_id).read().splitlines()]
    assert {row["custom_id"] for row in rows} == {f"r{n}" for n in range(5)}
    assert {row["response"]["status_code"] for row in rows} == {200}


@pytest.mark.parametrize("window", ["12h", "8d", "soon"])
def test_other_windows_are_refused(client: Groq, window: str) -> None:
    with pytest.raises(groq.BadRequestError, match="24h to 7d"):
        client.batches.create(
            input_file_id=uploaded(client, 1), endpoint="/v1/chat/completions", completion_window=window
        )


def test_a_question_is_answered(client: Groq) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Name a lake."}])
    assert "lake" in str(answer.choices[0].message.content)
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens
    assert MODEL in [model.id for model in client.models.list().data]


def test_an_unknown_model_is_not_found(client: Groq) -> None:
    with pytest.raises(groq.NotFoundError):
        client.chat.completions.create(model="llama-typo", messages=[{"role": "user", "content": "x"}])
