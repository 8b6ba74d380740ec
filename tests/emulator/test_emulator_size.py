"""The largest batch a provider takes stays small in memory and cheap in time."""

from __future__ import annotations

import json
import time

import pytest
from driving import CHAT, cpu_seconds, create, peak_megabytes

ROWS = 50_000


@pytest.fixture
def largest(tmp_path):
    """50,000 rows of about 1.5 KB."""
    path = tmp_path / "largest.jsonl"
    essay = "the quick brown fox jumps over the lazy dog and runs on " * 24
    with path.open("w") as lines:
        for i in range(ROWS):
            body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": f"Essay {i}: {essay}"}]}
            lines.write(json.dumps({"custom_id": f"row-{i}", "method": "POST", "url": CHAT, "body": body}) + "\n")
    return path


@pytest.mark.slow
def test_fifty_thousand_rows(emulate, connect, largest, tmp_path):
    emulator = emulate({"time_scale": 100_000})
    client = connect(emulator)
    began = cpu_seconds(emulator.pid)
    with largest.open("rb") as content:
        file = client.files.create(file=content, purpose="batch")
    uploaded = cpu_seconds(emulator.pid)
    batch = create(client, file.id)
    slowest = 0.0
    while batch.status not in {"completed", "failed"}:
        asked = time.monotonic()
        batch = client.batches.retrieve(batch.id)
        slowest = max(slowest, time.monotonic() - asked)
        time.sleep(0.05)
    ended = cpu_seconds(emulator.pid)
    memory = peak_megabytes(emulator.pid)
    print(
        f"\n{file.bytes / 1e6:.0f} MB uploaded in {uploaded - began:.1f} s of processor time,"
        f" validated and run in {ended - uploaded:.1f} s; slowest poll {slowest * 1000:.0f} ms; peak {memory:.0f} MB"
    )

    assert batch.request_counts.model_dump() == {"total": ROWS, "completed": ROWS, "failed": 0}
    target = tmp_path / "answers.jsonl"
    with client.files.with_streaming_response.content(batch.output_file_id) as answers:
        answers.stream_to_file(target)
    with target.open() as lines:
        assert sum(1 for _ in lines) == ROWS
    assert emulator.log(calls=False)["rows_run"] == ROWS
    assert peak_megabytes(emulator.pid) < 200
    assert ended - uploaded < 20, "about 5 on an idle machine"
    assert slowest < 5, "the server answers while the rows run"
