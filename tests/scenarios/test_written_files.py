"""What `plan --write` writes, `submit` takes: the same answers come, and they have their price."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight import api
from scenarios.conftest import Scenario

ASKED: dict[str, dict[str, Any]] = {
    "openai": {"model": "openai/gpt-4.1-mini"},
    "openai responses": {"model": "openai/gpt-5-mini", "api": "responses", "max_tokens": 4000},
    "anthropic": {"model": "anthropic/claude-haiku-4-5", "max_tokens": 300},
    "gemini": {"model": "gemini/gemini-2.5-flash", "max_tokens": 4000, "temperature": 0},
    "vertex": {"model": "vertex/gemini-2.5-flash"},
}


@pytest.mark.parametrize("asked", ASKED)
def test_written_files_can_be_sent(scenario: Callable[..., Scenario], asked: str) -> None:
    provider = asked.split(maxsplit=1)[0]
    one = scenario(provider=provider)
    study = one.study(3, models=[ASKED[asked]], system="Be brief.")
    assert one.run(study).state == "done"
    planned = api.plan(study, write=one.folder / "out", runs=one.folder / "elsewhere")
    (written,) = planned.written
    counted = api.plan(written, provider=provider, runs=one.folder / "elsewhere")
    (before,), (after,) = planned.arms, counted.arms
    assert (after.requests, after.model, after.expected) == (3, before.model, before.expected)
    assert (after.ceiling is None) == ("max_tokens" not in ASKED[asked])
    ending = one.call("submit", written, provider=provider, as_name="sent")
    assert ending.state == "submitted", ending
    assert any(said.startswith("sent: 3 requests, about $0.0") for said in ending.said)
    one.call("resume", "sent", environ=one.going_on)
    with next((one.folder / "out").glob("*-rows.csv")).open() as rows:
        items = {row["custom_id"]: row["item_id"] for row in csv.DictReader(rows)}
    sent = one.table("sent").with_columns(item_id=pl.col("item_id").replace_strict(items)).sort("item_id")
    columns = ["item_id", "model", "status", "answer", "output_tokens", "cost"]
    assert sent.select(columns).equals(one.table().select(columns))
    assert sent["cost"].min() > 0
    assert api.costs("sent", runs=one.folder / "runs")["settled"].to_list() == [pytest.approx(sent["cost"].sum())]


def test_an_adopted_batch_has_its_price(scenario: Callable[..., Scenario], tmp_path: Path) -> None:
    one = scenario()
    one.run(one.study(3))
    batch = one.attempts()["batch_id"][0]
    assert one.call("adopt", "openai", batch, as_name="theirs", environ=one.going_on).state == "done"
    assert one.table("theirs")["cost"].sum() == pytest.approx(one.table()["cost"].sum())


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_an_adopted_output_tells_its_model_and_so_its_price(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    one.run(one.study(3))
    (output,) = (one.folder / "runs" / "night" / "raw").glob("*output*.jsonl")
    (run,) = api.adopt(provider, output_file=output, as_name="theirs", runs=one.folder / "runs")
    assert run.state == "done"
    theirs = one.table("theirs")
    assert theirs["model"][0].startswith(one.model.split("/")[1])
    assert theirs["cost"].sum() == pytest.approx(one.table()["cost"].sum())
