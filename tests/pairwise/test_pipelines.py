from __future__ import annotations

from collections.abc import Callable

import polars as pl

from overnight.pairwise.pipelines import llm_download_batch_results, llm_submit_pairs_batch, run_openai_batch_pipeline
from pairwise.conftest import ASKED, Notebook


def test_one_batch_from_start_to_end(notebook: Callable[..., Notebook], few: pl.DataFrame) -> None:
    one = notebook()
    run = run_openai_batch_pipeline(few, "gpt-4.1-mini", *ASKED, output_dir=one.folder)
    assert run.results is not None
    assert run.results["better_id"].is_not_null().all()
    assert run.batch_output_path.exists()
    assert run.batch_input_path.name == "batch_01_input.jsonl"
    assert run.failed_attempts is not None
    assert run.failed_attempts.is_empty()


def test_submitted_now_and_downloaded_later(notebook: Callable[..., Notebook], few: pl.DataFrame) -> None:
    one = notebook()
    run = llm_submit_pairs_batch(few, "openai", "gpt-4.1-mini", *ASKED, output_dir=one.folder, poll=False)
    assert run.results is None
    frame = llm_download_batch_results(run)
    assert frame is not None
    assert frame.height == 6
    later = llm_download_batch_results(one.folder)
    assert later is not None
    assert later.equals(frame)
