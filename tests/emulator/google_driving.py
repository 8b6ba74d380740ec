"""What every test does with Google's SDK: write lines, send them, wait, read the answers."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from google import genai
from google.genai import types

from emulator_process import EmulatorProcess

MODEL = "gemini-2.5-flash"
_opened: list[genai.Client] = []
ENDED = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED", "PARTIALLY_SUCCEEDED")


def gemini_client(emulator: EmulatorProcess, key: str = "AIza-test", **options: Any) -> genai.Client:
    """Closed at the end of the test, if the module has `close_clients`."""
    address = types.HttpOptions(base_url=f"{emulator.url}/gemini", **options)
    client = genai.Client(api_key=key, http_options=address)
    _opened.append(client)
    return client


@pytest.fixture(autouse=True)
def close_clients() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


def request(text: str, **config: Any) -> dict[str, Any]:
    asked: dict[str, Any] = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    return asked | ({"generationConfig": config} if config else {})


def gemini_lines(count: int, **config: Any) -> list[dict[str, Any]]:
    return [{"key": f"k{n}", "request": request(f"Question {n}?", **config)} for n in range(count)]


def jsonl(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def upload(client: genai.Client, lines: list[dict[str, Any]] | bytes, **config: Any) -> types.File:
    data = lines if isinstance(lines, bytes) else jsonl(lines)
    return client.files.upload(file=io.BytesIO(data), config={"mime_type": "application/jsonl", **config})


def submit(client: genai.Client, lines: list[dict[str, Any]], name: str = "run-1") -> types.BatchJob:
    return client.batches.create(model=MODEL, src=upload(client, lines).name, config={"display_name": name})


def state(job: types.BatchJob) -> str:
    assert job.state is not None
    return str(job.state.value).removeprefix("JOB_STATE_")


def wait(client: genai.Client, job: types.BatchJob) -> types.BatchJob:
    deadline = time.monotonic() + 60
    while state(job := client.batches.get(name=job.name or "")) not in ENDED:
        assert time.monotonic() < deadline, job
        time.sleep(0.01)
    return job


def answers(client: genai.Client, job: types.BatchJob) -> dict[str, dict[str, Any]]:
    assert job.dest is not None
    content = client.files.download(file=job.dest.file_name or "")
    return {row["key"]: row for row in map(json.loads, content.splitlines())}
