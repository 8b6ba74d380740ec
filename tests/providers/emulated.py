"""One vendor at the emulator, from the upload to the rows."""

import asyncio
import itertools
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any

from emulator_process import EmulatorProcess
from overnight.core.ask import Ask, Model
from overnight.core.attempt import Creating
from overnight.core.result import Line
from overnight.engine.decisions import fence_of, may_follow
from overnight.providers import Batch, BatchConnection, Intent, Sightings, batch_format, emulated_endpoint, vendor
from providers.asking import KEY, ask, stored

SEED = 7
DEAD, POOR = "sk-dead-0000000000", "sk-poor-0000000000"
TRUTH = {
    "seed": SEED,
    "time_scale": 20_000,
    "latency": {"batch": [60, 600], "live": [0, 0]},
    "answers": {"refused": 0, "truncated": 0, "filtered": 0},
    "keys": {"refuse": [DEAD], "no_credit": [POOR]},
    "models": {"unknown": ["*-typo"]},
    # Bedrock takes no fewer than 100 at once; here it does.
    "limits": {"fewest_requests": 1},
}
# One model of each vendor that answers in plain text.
MODELS = {
    "anthropic": "claude-haiku-4-5",
    "azure": "gpt-4.1-mini",
    "bedrock": "us.amazon.nova-lite-v1:0",
    "fireworks": "accounts/fireworks/models/gpt-oss-20b",
    "gemini": "gemini-2.5-flash",
    "mistral": "mistral-small-latest",
    "groq": "llama-3.3-70b-versatile",
    "openai": "gpt-4.1",
    "together": "Qwen/Qwen3-235B-A22B",
    "vertex": "gemini-2.5-flash",
    "xai": "grok-4.3",
}
# Vendors that get their input with the create: nothing is uploaded before.
WITHOUT_FILES = {"anthropic"}
# Vendors whose output says nothing of rows that were not run; and those that give up nothing when a batch ends early.
SILENT = {"bedrock", "fireworks", "gemini", "mistral", "together", "vertex", "xai"}
ALL_OR_NOTHING = {"gemini"}
# Vendors that do not count a batch's rows; and those that list all batches on one page.
UNCOUNTED = {"together"}
ONE_PAGE = {"together"}
# Vendors whose batches cannot be cancelled.
UNSTOPPABLE = {"fireworks"}
# Vendors with ids that cannot be there twice; without words for states; with results in pages; whose input is the batch.
IDS_ONCE = {"fireworks", "xai"}
WORDLESS = {"xai"}
RESULTS_IN_PAGES = {"xai"}
FILLED = {"xai"}
ENDED = ("completed", "failed", "expired", "cancelled")
_numbers = itertools.count()

Work = Callable[[BatchConnection], Coroutine[Any, Any, Any]]


class EmulatedVendor:
    """One vendor at the emulator, and what a test wants of both."""

    def __init__(self, name: str, emulator: EmulatorProcess, folder: Path) -> None:
        self.vendor = vendor(name)
        self.format = batch_format(self.vendor)
        self.model = Model(provider=name, name=MODELS[name])
        self.files = name not in WITHOUT_FILES
        self.names_unfinished = name not in SILENT
        self.gives_partial = name not in ALL_OR_NOTHING
        self.counts = name not in UNCOUNTED
        self.pages = name not in ONE_PAGE
        self.emulator = emulator
        self.folder = folder

    def run(self, work: Work, key: str = KEY) -> Any:
        async def outer() -> Any:
            provider = self.provider(key)
            try:
                return await work(provider)
            finally:
                await provider.close()

        return asyncio.run(outer())

    def provider(self, key: str = KEY) -> BatchConnection:
        return self.vendor.connect(emulated_endpoint(self.vendor, self.emulator.url, key))

    def asks(self, count: int, model: Model | None = None) -> list[Ask]:
        return [ask(model or self.model, ("system", "Be brief."), f"Question {n} of {id(self)}?") for n in range(count)]

    def intent(self, asks: Sequence[Ask]) -> Intent:
        token = f"tok{id(self)}n{next(_numbers)}"
        file = self.folder / f"{token}.jsonl"
        lines = [
            self.format.line(one.arm.model, f"o{token}-{n}", self.format.encode(one)) for n, one in enumerate(asks)
        ]
        content = b"".join(line + b"\n" for line in lines)
        file.write_bytes(content)
        model = asks[0].arm.model
        return Intent(token=token, run="essays", model=model, rows=len(asks), bytes=len(content), file=stored(file))


async def submit(provider: BatchConnection, intent: Intent) -> Batch:
    answer = await provider.create(intent, await provider.upload(intent))
    assert answer.batch is not None, answer
    return answer.batch


async def end_of(provider: BatchConnection, batch: Batch) -> Batch:
    async with asyncio.timeout(20):
        while batch.phase not in ENDED:
            await asyncio.sleep(0.02)
            seen = await provider.retrieve(batch.id)
            assert seen is not None
            batch = seen
    return batch


async def fence_at(emulated: EmulatedVendor, provider: BatchConnection) -> Creating:
    """What the engine would put on record before a create."""
    return fence_of(await provider.newest(), tags=emulated.format.tags)


async def rows_of(emulated: EmulatedVendor, provider: BatchConnection, batch: Batch) -> dict[str, list[Line]]:
    """The decoded rows of each part, with the announced length checked."""
    rows = {}
    for kind, ref in batch.parts:
        got = bytearray()
        assert await provider.fetch(ref, got.extend) in (None, len(got))
        rows[kind] = [emulated.format.decode(line) for line in bytes(got).splitlines()]
    return rows


def claimed(emulated: EmulatedVendor, seen: Sightings, fence: Creating, intent: Intent, file_id: str) -> list[Batch]:
    """The batches of a listing that are ours, or may be, as the engine would take them."""
    young = may_follow(fence, seen.batches)
    verdicts = [(batch, emulated.format.ours(batch, intent, file_id)) for batch in seen.batches]
    if emulated.format.tags:
        assert "maybe" not in [ours for _, ours in verdicts]
        return [batch for batch, ours in verdicts if ours == "yes"]
    assert "yes" not in [ours for _, ours in verdicts]
    return [batch for batch, ours in verdicts if ours == "maybe" and batch in young]


def told_apart(rows: dict[str, list[Line]]) -> tuple[list[Line], list[Line]]:
    """Rows with an answer and rows that failed, whichever parts a vendor keeps them in."""
    lines = [line for part in rows.values() for line in part]
    failed = [line for line in lines if line.result is not None and line.result.outcome == "failed"]
    return [line for line in lines if line not in failed], failed


def causes(rows: list[Line]) -> set[str | None]:
    return {line.result.cause for line in rows if line.result is not None}
