"""What every test does with Anthropic's SDK: write requests, send them, wait, read the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from anthropic import Anthropic
from anthropic.types.messages import MessageBatch

from emulator_process import EmulatorProcess

MODEL = "claude-haiku-4-5"
Connect = Callable[..., Anthropic]


def connecting() -> Iterator[Connect]:
    """Makes clients that do not retry; all are closed at the end."""
    clients: list[Anthropic] = []

    def open_client(emulator: EmulatorProcess, **options: Any) -> Anthropic:
        made = Anthropic(
            **{"base_url": f"{emulator.url}/anthropic", "api_key": "sk-ant-test", "max_retries": 0, **options}
        )
        clients.append(made)
        return made

    yield open_client
    for made in clients:
        made.close()


def params(text: str = "Name a river.", **more: Any) -> dict[str, Any]:
    return {"model": MODEL, "max_tokens": 400, "messages": [{"role": "user", "content": text}], **more}


def requests(count: int, **more: Any) -> list[Any]:
    return [{"custom_id": f"r{n}", "params": params(f"Question number {n}?", **more)} for n in range(count)]


def finished(emulator: EmulatorProcess, client: Anthropic, batch: MessageBatch) -> MessageBatch:
    """Hurried to its end."""
    emulator.finish()
    return client.messages.batches.retrieve(batch.id)


def ended(client: Anthropic, batch: MessageBatch) -> MessageBatch:
    deadline = time.monotonic() + 60
    while batch.processing_status != "ended":
        assert time.monotonic() < deadline, batch
        time.sleep(0.01)
        batch = client.messages.batches.retrieve(batch.id)
    return batch


def results(client: Anthropic, batch: MessageBatch) -> dict[str, Any]:
    return {row.custom_id: row.result for row in client.messages.batches.results(batch.id)}


def kinds(client: Anthropic, batch: MessageBatch) -> list[str]:
    return sorted(result.type for result in results(client, batch).values())
