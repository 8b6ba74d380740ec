"""What a run says it cost is what somebody with the raw files, the price list and a pencil finds, to the nano-dollar."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight import api
from overnight.cli import main
from overnight.engine.batch.outbox import line_overhead
from overnight.ledger.ledger import look_at
from overnight.providers import batch_format, vendor
from overnight.store.run_folder import RunFolder
from scenarios.conftest import Scenario

# Dollars for a million tokens: in, of a cache, into a cache, out. No figure is a round part of another.
LIVE = {"input": "0.37", "cached": "0.0931", "cache_write": "0.513", "output": "2.907"}
BATCH = {"input": "0.183", "cached": "0.0461", "cache_write": "0.257", "output": "1.451"}
MODELS: dict[str, dict[str, Any]] = {
    "openai": {"model": "openai/gpt-5-nano", "max_tokens": 900, "thinking": "low"},
    "anthropic": {
        "model": "anthropic/claude-haiku-4-5",
        "max_tokens": 3_000,
        "thinking": 1_024,
        "extra": {"cache_control": {"type": "ephemeral"}},
    },
    "gemini": {"model": "gemini/gemini-2.5-flash", "max_tokens": 2_000},
}
# A long instruction, of which most requests find the greater part in a cache.
SYSTEM = "Answer as a patient librarian would. " * 160
EXPIRES = {"on": "batch", "do": "expire", "share": 0.6, "times": 1}
UNBILLED = {"on": "row", "do": "no_usage", "times": 1}
LOST = {"on": "live", "do": "drop_answer", "times": 1}


@pytest.mark.parametrize("mode", ["batch", "live"])
@pytest.mark.parametrize("provider", MODELS)
def test_the_bill_is_that_of_a_pencil(
    scenario: Callable[..., Scenario], provider: str, mode: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = [EXPIRES, UNBILLED] if mode == "batch" else [LOST]
    one = scenario({"answers": {"refused": 0.2, "truncated": 0.1}}, faults=faults, provider=provider)
    model = MODELS[provider]
    (one.folder / "prices.yaml").write_text(json.dumps({model["model"]: {**numbers(LIVE), "batch": numbers(BATCH)}}))
    rows = [{"id": f"item {n:02d}", "text": f"thing number {n:02d}"} for n in range(40)]
    (one.folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    fields = {"items": "items.jsonl", "models": [model], "system": SYSTEM, "batch": {"max_requests": 50}, "mode": mode}
    one.run(one.study(prices="prices.yaml", **fields))
    usages = list(billed(one.folder / "runs" / "night" / "raw"))
    settled = sum(pencil(usage, BATCH if mode == "batch" else LIVE) for usage in usages)
    presumed = most(one, mode, model["max_tokens"])
    # What the test is about has happened.
    outcomes = one.statuses()
    assert outcomes["refused"] > 0
    assert len(usages) == (39 if mode == "batch" else 40), "a row without a bill; or one that was lost and asked again"
    kinds = ("cached", "cache_write", "output") if provider == "anthropic" else ("cached", "output")
    assert all(sum(usage[kind] for usage in usages) > 0 for kind in kinds)
    results = pl.read_parquet(one.folder / "runs" / "night" / "tables" / "results.parquet")
    assert provider == "anthropic" or results["reasoning_tokens"].sum() > 0
    # The table that is published, the verb in Python, and the command.
    table = pl.read_parquet(one.folder / "runs" / "night" / "tables" / "costs.parquet")
    runs = str(one.folder / "runs")
    for frame in (table, api.costs("night", runs=runs), api.costs(runs=runs), api.costs("night", by="day", runs=runs)):
        assert nano(frame, "settled") == settled
        assert nano(frame, "presumed") == presumed
        live = sum(pencil(usage, LIVE) for usage in usages)
        assert nano(frame, "saved") == (live - settled if mode == "batch" else 0)
    capsys.readouterr()
    assert main(["costs", "night", "--runs", runs, "--by", "model", "--reprice", "--json"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert [round(told[name] * 1e9) for name in ("settled", "presumed", "repriced")] == [settled, presumed, settled]


def numbers(prices: dict[str, str]) -> dict[str, float]:
    return {kind: float(price) for kind, price in prices.items()}


def nano(frame: pl.DataFrame, column: str) -> int:
    return round(frame[column].sum() * 1e9)


def billed(raw: Path) -> Iterator[dict[str, int]]:
    """Every usage in the raw files, in one form: `input` is what was neither read from nor written to a cache."""
    for path in sorted(raw.iterdir()):
        for line in path.read_text().splitlines():
            yield from found(json.loads(line))


def found(value: Any) -> Iterator[dict[str, int]]:
    if isinstance(value, list):
        for one in value:
            yield from found(one)
    if not isinstance(value, dict):
        return
    if "promptTokenCount" in value:
        cached = value.get("cachedContentTokenCount", 0)
        out = value.get("candidatesTokenCount", 0) + value.get("thoughtsTokenCount", 0)
        yield {"input": value["promptTokenCount"] - cached, "cached": cached, "cache_write": 0, "output": out}
    elif "prompt_tokens" in value:
        cached = (value.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
        plain = value["prompt_tokens"] - cached
        yield {"input": plain, "cached": cached, "cache_write": 0, "output": value["completion_tokens"]}
    elif "cache_read_input_tokens" in value:
        read, written = value["cache_read_input_tokens"] or 0, value.get("cache_creation_input_tokens") or 0
        out = value["output_tokens"]
        yield {"input": value["input_tokens"], "cached": read, "cache_write": written, "output": out}
    elif "input_tokens" in value and "output_tokens" in value:
        cached = (value.get("input_tokens_details") or {}).get("cached_tokens", 0)
        plain = value["input_tokens"] - cached
        yield {"input": plain, "cached": cached, "cache_write": 0, "output": value["output_tokens"]}
    else:
        for one in value.values():
            yield from found(one)


def pencil(usage: dict[str, int], prices: dict[str, str]) -> int:
    """Nano-dollars of one row: a dollar for a million tokens is a thousand nano-dollars for one; a half goes up."""
    return floor(sum(usage[kind] * Fraction(price) * 1_000 for kind, price in prices.items()) + Fraction(1, 2))


def most(one: Scenario, mode: str, longest: int) -> int:
    """Of the row without a bill: its bytes at 0.28 tokens each and a quarter more, 16 besides, all at the dearest."""
    prices = BATCH if mode == "batch" else LIVE
    with look_at(RunFolder(one.folder / "runs" / "night")) as view:
        shard = view.shards.rows(1)
        model = next(iter(view.stages.arms().values())).model
    around = line_overhead(batch_format(vendor(model.provider)), model) if mode == "batch" else 0
    (size,) = {row.length for row in shard}
    tokens = ceil((size + around) * 0.28 * 1.25) + 16
    dearest = max(Fraction(prices[kind]) for kind in ("input", "cached", "cache_write"))
    return ceil((tokens * dearest + longest * Fraction(prices["output"])) * 1_000)
