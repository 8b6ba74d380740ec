"""One batch, start to end: submitted, waited for unless told otherwise, and collected."""

from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.core.arguments import checked
from overnight.pairwise.multi_batch import MultiBatch, llm_resume_multi_batches, llm_submit_pairs_multi_batch
from overnight.pairwise.registry import Job


class BatchRun(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A batch, or as many as the provider's limits make of it. `results` is None until they have been collected."""

    backend: str
    output_dir: Path
    jobs: list[Job]
    results: pl.DataFrame | None = None
    failed_attempts: pl.DataFrame | None = None

    @property
    def batch_input_path(self) -> Path:
        return self.jobs[0].batch_input_path

    @property
    def batch_output_path(self) -> Path:
        return self.jobs[0].batch_output_path


@checked
def llm_submit_pairs_batch(
    pairs: Any,
    backend: str,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str,
    *,
    poll: bool = True,
    interval_seconds: float = 60,
    timeout: float | str = "48h",
    output_dir: str | Path | None = None,
    verbose: bool = False,
    api_key: str | None = None,
    **options: Any,
) -> BatchRun:
    """Submit pairs as one batch and wait for it; with `poll=False`, come back at once and collect later."""
    submitted = llm_submit_pairs_multi_batch(
        pairs, model, trait_name, trait_description, prompt_template, backend, output_dir=output_dir,
        write_registry=True, verbose=verbose, api_key=api_key, **options,
    )  # fmt: skip
    run = BatchRun(backend=backend, output_dir=submitted.output_dir, jobs=submitted.jobs)
    if not poll:
        return run
    found = llm_resume_multi_batches(
        output_dir=run.output_dir, interval_seconds=interval_seconds, timeout=timeout, write_registry=True,
        verbose=verbose, api_key=api_key,
    )  # fmt: skip
    return msgspec.structs.replace(run, jobs=found.jobs, results=found.combined, failed_attempts=found.failed_attempts)


@checked
def llm_download_batch_results(
    x: BatchRun | MultiBatch | str | Path,
    *,
    interval_seconds: float = 60,
    timeout: float | str = "48h",
    verbose: bool = False,
    api_key: str | None = None,
) -> pl.DataFrame | None:
    """The results of a batch that was submitted, in this session or another; waits until they are there."""
    folder = Path(x) if isinstance(x, str | Path) else x.output_dir
    collected = llm_resume_multi_batches(
        output_dir=folder, interval_seconds=interval_seconds, timeout=timeout, write_registry=True, verbose=verbose,
        api_key=api_key,
    )  # fmt: skip
    return collected.combined


@checked
def run_openai_batch_pipeline(
    pairs: Any, model: str, trait_name: str, trait_description: str, prompt_template: str, **options: Any
) -> BatchRun:
    """`llm_submit_pairs_batch` with OpenAI."""
    return llm_submit_pairs_batch(pairs, "openai", model, trait_name, trait_description, prompt_template, **options)


@checked
def run_anthropic_batch_pipeline(
    pairs: Any, model: str, trait_name: str, trait_description: str, prompt_template: str, **options: Any
) -> BatchRun:
    """`llm_submit_pairs_batch` with Anthropic."""
    return llm_submit_pairs_batch(pairs, "anthropic", model, trait_name, trait_description, prompt_template, **options)


@checked
def run_gemini_batch_pipeline(
    pairs: Any, model: str, trait_name: str, trait_description: str, prompt_template: str, **options: Any
) -> BatchRun:
    """`llm_submit_pairs_batch` with Gemini."""
    return llm_submit_pairs_batch(pairs, "gemini", model, trait_name, trait_description, prompt_template, **options)
