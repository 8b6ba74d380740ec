"""Reports of real and made-up runs, and a browser to open them in. Without Chromium and playwright there is nothing to test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from browser.rehearsals import rehearse
from overnight.reporting.building import build
from overnight.reporting.run_facts import BatchFacts, RunFacts, StageFacts
from overnight.tables.costs import COLUMNS
from reporting.test_page import HOSTILE, page

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
MANY = 100_000


# Its driver keeps an event loop running for the rest of the process, in which no other test could start one.
ALONE = "OVERNIGHT_TEST_BROWSER"


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if ALONE not in os.environ:
        pytest.skip("make browser runs these, by themselves")
    playwright = pytest.importorskip("playwright.sync_api", reason="make browser installs it")
    if CHROMIUM is None:
        pytest.skip("there is no chromium here; make browser installs it")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """By what they are of: each kind of run, every kind of part with a hostile text in each place, and many rows."""
    folder = tmp_path_factory.mktemp("reports")
    found = {"hostile": folder / "hostile.html", "large": folder / "large.html"}
    found["hostile"].write_text(page(HOSTILE), encoding="utf-8")
    found["large"].write_text(large_page(), encoding="utf-8")
    return found | rehearse(folder)


def large_page() -> str:
    """A hundred thousand verdicts."""
    draw = Random(5)
    arms = [f"default__openai__judge-{at}__default__forward" for at in range(2)]
    names = [f"model-{at}" for at in range(12)]
    rows = {
        "stage": ["judging"] * MANY,
        "arm": [draw.choice(arms) for _ in range(MANY)],
        "item_id": [f"essay {at:05d}" for at in range(MANY)],
        "replicate": [0] * MANY,
        "turn": [0] * MANY,
        "status": draw.choices(["answered", "refused"], [99, 1], k=MANY),
        "cause": [None] * MANY,
        "answer": ["x"] * MANY,
        "first_id": draw.choices(names, k=MANY),
        "second_id": draw.choices(names, k=MANY),
        "verdict": draw.choices(["first", "second", "tie"], k=MANY),
        "confidence": [round(draw.random(), 2) for _ in range(MANY)],
        "input_tokens": [draw.randrange(800, 3000) for _ in range(MANY)],
        "output_tokens": [draw.randrange(1, 90) for _ in range(MANY)],
        "cost": [draw.randrange(100, 900) / 1e6 for _ in range(MANY)],
    }
    frame = pl.LazyFrame(rows, schema_overrides={"cause": pl.String})
    arm = {
        "template": "default",
        "provider": "openai",
        "model": "judge-0",
        "thinking": "",
        "direction": "",
        "options": "",
    }
    facts = RunFacts(
        name="large", rehearsal=True, version="0", definition={}, hashes={"study": "0"}, left_out=(), asked_again={},
        stages=[StageFacts(name="judging", task="made up", version="1", of=None, arms=[arm])],
        batches=[
            BatchFacts(name=str(at), account="openai", begin=1.8e9 + at * 60, end=1.8e9 + at * 60 + 900, rows=500, state="closed", live=False)
            for at in range(200)
        ],
        costs=pl.DataFrame(schema=COLUMNS),
    )  # fmt: skip
    return build(facts, frame, ()).html
