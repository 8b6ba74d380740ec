"""Pairs of writing samples, and a provider that can be told to misbehave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from emulator_process import EmulatorProcess
from overnight.pairwise import example_writing_samples, make_pairs, set_prompt_template, trait_description
from overnight.pairwise.multi_batch import Collected, MultiBatch, llm_resume_multi_batches, llm_submit_pairs_multi_batch
from overnight.providers import vendors

TIME_SCALE = 20_000.0
ASKED = (*trait_description("overall_quality"), set_prompt_template())


class Notebook:
    """Notebook functions at work in a folder, against one emulator."""

    def __init__(self, folder: Path, emulator: EmulatorProcess) -> None:
        self.folder = folder
        self.emulator = emulator

    def submit(self, pairs: Any, model: str = "gpt-4.1-mini", **options: Any) -> MultiBatch:
        return llm_submit_pairs_multi_batch(pairs, model, *ASKED, output_dir=self.folder, **options)

    def resume(self, **options: Any) -> Collected:
        return llm_resume_multi_batches(output_dir=self.folder, **{"interval_seconds": 60, **options})

    def batches(self) -> int:
        return len(self.emulator.log()["batches"])

    def rows_run(self) -> int:
        return int(self.emulator.log()["rows_run"])


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Notebook]]:
    """Begins work with a truth of one's own; all emulators are closed at the end."""
    begun: list[Notebook] = []

    def begin(**truth: Any) -> Notebook:
        base = {"time_scale": TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
        emulator = EmulatorProcess(base | truth).start()
        for vendor in vendors().values():
            monkeypatch.setenv(vendor.key_variable, "sk-test-0123456789abcdefghijklmnop")
            monkeypatch.setenv(vendor.base_url_variable, emulator.url + vendor.emulator_path)
        monkeypatch.setenv("OVERNIGHT_TIME_SCALE", str(TIME_SCALE))
        monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
        one = Notebook(tmp_path / f"notebook{len(begun)}", emulator)
        begun.append(one)
        return one

    yield begin
    for one in begun:
        one.emulator.close()


@pytest.fixture(scope="session")
def few() -> pl.DataFrame:
    """Six pairs of four samples."""
    return make_pairs(example_writing_samples()[::6])
