"""What every test does with the SDK: write lines, send them, wait, read the answers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from openai import OpenAI
from openai.types import Batch, FileObject

from emulator_process import EmulatorProcess

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
TERMINAL = {"completed", "failed", "expired", "cancelled"}


def chat_body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4.1", "messages": [{"role": "user", "content": text}], **more}


def line(custom_id: str, body: dict[str, Any], url: str = CHAT) -> dict[str, Any]:
    return {"custom_id": custom_id, "method": "POST", "url": url, "body": body}


def chat_lines(count: int, **more: Any) -> list[dict[str, Any]]:
    return [line(f"r{i}", chat_body(f"Question number {i}?", **more)) for i in range(count)]


def jsonl(lines: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def upload(client: OpenAI, content: bytes | list[dict[str, Any]], name: str = "input.jsonl") -> FileObject:
    data = content if isinstance(content, bytes) else jsonl(content)
    return client.files.create(file=(name, data), purpose="batch")


def create(client: OpenAI, file_id: str, url: str = CHAT, **more: Any) -> Batch:
    return client.batches.create(input_file_id=file_id, endpoint=url, completion_window="24h", **more)


def submit(client: OpenAI, content: bytes | list[dict[str, Any]], url: str = CHAT, **more: Any) -> Batch:
    return create(client, upload(client, content).id, url, **more)


def wait(client: OpenAI, batch: Batch, until: Iterable[str] = TERMINAL) -> Batch:
    wanted, deadline = set(until), time.monotonic() + 60
    while (batch := client.batches.retrieve(batch.id)).status not in wanted:
        assert time.monotonic() < deadline, batch
        time.sleep(0.01)
    return batch


def finish(emulator: EmulatorProcess, client: OpenAI, batch: Batch) -> Batch:
    """Without waiting for virtual time to pass."""
    emulator.finish()
    return client.batches.retrieve(batch.id)


def rows(client: OpenAI, file_id: str | None) -> list[dict[str, Any]]:
    if not file_id:
        return []
    return [json.loads(row) for row in client.files.content(file_id).content.splitlines()]


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """The most memory that a process has held."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def fired(emulator: EmulatorProcess) -> list[int]:
    """How often each armed fault has fired."""
    return list(emulator.log(calls=False)["faults_fired"].values())


def ended(emulator: EmulatorProcess, client: OpenAI, lines: list[dict[str, Any]] | None = None, **more: Any) -> Batch:
    """A batch that was sent and hurried to its end."""
    return finish(emulator, client, submit(client, chat_lines(10) if lines is None else lines, **more))
