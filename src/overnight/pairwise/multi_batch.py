"""Many batches: pairs are split and submitted, polled and collected, in one session or in several."""

import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from overnight.api.keys import key_of
from overnight.core.arguments import checked
from overnight.core.clock import seconds_of, time_text
from overnight.core.errors import StudyError, Unavailable
from overnight.core.files import folder_at
from overnight.core.wording import number_of
from overnight.pairwise import registry
from overnight.pairwise._exports import (
    FAILED_ATTEMPTS,
    combined_path,
    export_inputs,
    export_outputs,
    remove_jsonl,
    results_table,
    write_csv,
)
from overnight.pairwise._foreign import Adopted
from overnight.pairwise._judge import judge_of
from overnight.pairwise._judging import Judging, Question
from overnight.pairwise._rows import BatchFailure, failed_rows
from overnight.pairwise.registry import Job, Segment, read_registry, registry_frame, state_line
from overnight.settings import settings
from overnight.tasks._pairs.answer_form import TAGS

BATCH_FAILURES: dict[str, type[pl.DataType]] = {
    "segment_index": pl.Int64,
    "provider": pl.String,
    "model": pl.String,
    "batch_id": pl.String,
    "status": pl.String,
    "error_detail": pl.String,
    "failed_at": pl.String,
}


class MultiBatch(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What was submitted: the jobs, and the same as a table."""

    jobs: list[Job]
    registry: pl.DataFrame
    output_dir: Path


class Collected(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """What has come of it. `combined` is None as long as nothing has; failures are tables, never exceptions."""

    jobs: list[Job]
    combined: pl.DataFrame | None
    failed_attempts: pl.DataFrame
    batch_failures: pl.DataFrame


@checked
def llm_submit_pairs_multi_batch(
    pairs: Any,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str,
    backend: str = "openai",
    batch_size: int | None = None,
    n_segments: int | None = None,
    output_dir: str | Path | None = None,
    write_registry: bool = False,
    keep_jsonl: bool = True,
    verbose: bool = False,
    *,
    openai_max_retries: int = 3,
    tag_prefix: str = TAGS[0],
    tag_suffix: str = TAGS[1],
    api_key: str | None = None,
    **options: Any,
) -> MultiBatch:
    """Split pairs into batches and submit them all, without waiting for any.

    `batch_size` pairs to a batch, or `n_segments` batches; else as many to a batch as the provider takes. Further
    options are the provider's: temperature, include_thoughts, include_raw, reasoning, thinking_level, ...
    `api_key` goes before the one in the environment, and is kept nowhere: resuming needs it again.
    """
    if batch_size is not None and n_segments is not None:
        raise StudyError("batch_size and n_segments exclude each other; keep one of them")
    _check_retries(openai_max_retries)
    folder = Path(tempfile.mkdtemp(prefix="overnight-")) if output_dir is None else Path(output_dir)
    judging = Judging(folder)
    question = Question(
        trait_name=trait_name,
        trait_description=trait_description,
        prompt_template=prompt_template,
        tags=(tag_prefix, tag_suffix),
    )
    batch = {"max_requests": batch_size, "segments": n_segments}
    view = View(folder, registry=write_registry, verbose=verbose)
    judge = judge_of(backend, model, options, openai_max_retries, question.tags)
    study = judging.prepared(pairs, judge, question, {name: n for name, n in batch.items() if n is not None})
    with key_of(judge.backend, api_key):
        judging.submit(study, view.say, lambda _: view.follow(judging))
    view.show(judging)
    segments = judging.segments()
    if keep_jsonl:
        export_inputs(judging.run, segments)
    jobs = [segment.job for segment in segments]
    return MultiBatch(jobs=jobs, registry=registry_frame(jobs), output_dir=folder)


@checked
def llm_resume_multi_batches(
    jobs: Sequence[Job] | None = None,
    output_dir: str | Path | None = None,
    interval_seconds: float = 60,
    per_job_delay: float = 2,
    write_results_csv: bool = False,
    keep_jsonl: bool = True,
    write_registry: bool = False,
    tag_prefix: str | None = None,
    tag_suffix: str | None = None,
    verbose: bool = False,
    write_combined_csv: bool = False,
    combined_csv_path: str | Path | None = None,
    openai_max_retries: int | None = None,
    *,
    timeout: float | str = "48h",
    pairs: Any = None,
    join_by_position: bool = False,
    api_key: str | None = None,
) -> Collected:
    """Poll batches until all have ended, and collect what they hold: of every segment, finished before or now.

    `pairs` are only needed for a folder that pairwiseLLM made, where its own files of pairs cannot be read. Its
    Gemini batches carry no keys: `join_by_position=True` says that their answers may be joined by their order.
    A download that fails in passing is tried `openai_max_retries` times, with `per_job_delay` seconds between; what
    has not come then is in `batch_failures`, and the same call again goes on. These retries and the tags are, unless
    given, those of the submission.
    """
    folder = _folder_of(jobs, output_dir)
    _check_retries(openai_max_retries)
    for name, value in (("interval_seconds", interval_seconds), ("per_job_delay", per_job_delay)):
        if value < 0:
            raise StudyError(f"{name}: {value:g} is less than 0")
    combined = combined_path(folder, combined_csv_path)
    if write_combined_csv:
        folder_at(combined.parent, "combined_csv_path")  # before anything is waited for
    wait = Wait(interval_seconds, per_job_delay, openai_max_retries, seconds_of(timeout, "timeout"))
    judging = Judging(folder)
    ours = judging.is_ours()
    tags = _tags(judging.judge.tags if ours else TAGS, tag_prefix, tag_suffix)
    view = View(folder, registry=write_registry, verbose=verbose, csv=write_results_csv, tags=tags)
    if ours:
        with key_of(judging.judge.backend, api_key):
            collected = _collect(Judging(folder), view, wait)
    else:
        known = jobs or read_registry(folder)
        with key_of(known[0].provider, api_key):
            adopted = Adopted(folder, known, pairs, by_position=join_by_position)
            collected = _collect_foreign(adopted, view, wait)
    if write_combined_csv:
        _write_combined(collected, folder, combined, view)
    if not keep_jsonl:
        remove_jsonl(collected.jobs)
    return collected


def _write_combined(collected: Collected, folder: Path, path: Path, view: "View") -> None:
    write_csv(collected.failed_attempts, folder / FAILED_ATTEMPTS)
    if collected.combined is not None:
        write_csv(collected.combined, path)
        view.say(f"wrote {number_of(collected.combined.height, 'judged pair')} to {path}")


def _folder_of(jobs: Sequence[Job] | None, output_dir: str | Path | None) -> Path:
    if output_dir is not None:
        return Path(output_dir)
    if not jobs:
        raise StudyError("wanted jobs, or the output_dir that holds their registry")
    return jobs[0].folder


def _check_retries(given: int | None) -> None:
    if given is not None and given < 0:
        raise StudyError(f"openai_max_retries: {given} is less than 0")


def _tags(submitted: tuple[str, str], prefix: str | None, suffix: str | None) -> tuple[str, str]:
    return (submitted[0] if prefix is None else prefix, submitted[1] if suffix is None else suffix)


class Wait(NamedTuple):
    """How to wait: seconds between rounds and between jobs, how often to try a download, and for how long at most."""

    interval: float
    delay: float
    retries: int | None
    seconds: float

    def rounds(self, scale: float) -> Iterator[None]:
        """One round after another, with the interval between them, until the time is up."""
        deadline = time.monotonic() + self.seconds / scale
        yield
        while time.monotonic() < deadline:
            time.sleep(self.interval / scale)
            yield


def _collect(judging: Judging, view: "View", wait: Wait) -> Collected:
    retries = judging.judge.max_retries if wait.retries is None else wait.retries
    reason: str | None = None
    undelivered: str | None = None
    for _ in wait.rounds(judging.place.time_scale):
        done = {job.segment_index for job in judging.jobs() if job.done}
        try:
            run = judging.work(
                interval=wait.interval,
                delay=wait.delay,
                downloads=max(retries, 1),
                say=view.say,
                tell=lambda _: view.follow(judging),
            )
        except Unavailable as error:
            # A download that did not come, however often it was tried: batches that still run are waited for.
            view.say(str(error))
            view.show(judging, done)
            if all(segment.attempt.ended for segment in judging.segments() if not segment.job.done):
                undelivered = str(error)
                break
            continue
        view.show(judging, done)
        if run.state != "running":
            view.say(run.message)
            reason = None if run.state == "stopped" else run.message
            break
    segments = judging.segments()
    export_outputs(judging.run, segments)
    judged = judging.judged(view.tags)
    if reason is not None:
        judged = _given_up(judged, reason)
    return _collected([segment.job for segment in segments], judged, _batch_failures(segments, undelivered))


def _given_up(judged: pl.DataFrame, reason: str) -> pl.DataFrame:
    """What is open when nothing goes on has failed for now, whatever held it up."""
    left = pl.col("status") == "pending"
    return judged.with_columns(
        pl.when(left).then(pl.lit(reason)).otherwise("error_message").alias("error_message"),
        pl.when(left).then(pl.lit("cancelled")).otherwise("cause").alias("cause"),
        pl.when(left).then(pl.lit("failed")).otherwise("status").alias("status"),
    )


def _collect_foreign(adopted: Adopted, view: "View", wait: Wait) -> Collected:
    for _ in wait.rounds(settings(runs=adopted.folder).time_scale):
        is_open = adopted.look(view.say)
        for job in adopted.jobs:
            view.say(f"{job.provider} {job.batch_id}: {'done' if job.done else 'not done'}")
        view.write(adopted.jobs, adopted.judged(view.tags))
        if not is_open:
            break
    failures = _failures_frame(adopted.failures())
    return _collected(adopted.jobs, adopted.judged(view.tags), failures)


def _collected(jobs: Sequence[Job], judged: pl.DataFrame, failures: pl.DataFrame) -> Collected:
    """Everything that is settled so far, whether it was finished in this session or before; each pair once."""
    settled = judged.filter(pl.col("status") != "pending")
    won = settled.filter(pl.col("better_id").is_not_null())
    whole = results_table(won)
    parts = {number: results_table(part) for (number,), part in won.group_by("segment_index", maintain_order=True)}
    return Collected(
        jobs=[
            msgspec.structs.replace(job, results=parts.get(job.segment_index, whole.clear()) if job.done else None)
            for job in jobs
        ],
        combined=whole if whole.height else None,
        failed_attempts=failed_rows(settled),
        batch_failures=failures,
    )


def _batch_failures(segments: Sequence[Segment], undelivered: str | None) -> pl.DataFrame:
    """Batches that did not run to their end, or gave up nothing yet; what has come of them is among the results."""
    told = []
    for segment in segments:
        attempt = segment.attempt
        ended = attempt.ended
        if ended is not None and ended.phase != "completed":
            detail = ended.message or (attempt.closed.message if attempt.closed else None)
            failed_at = None if attempt.ended_at is None else time_text(attempt.ended_at)
            told.append((segment.job, BatchFailure(ended.status, detail, failed_at)))
        elif ended is not None and not segment.job.done and undelivered is not None:
            told.append((segment.job, BatchFailure("download failed", undelivered, None)))
    return _failures_frame(told)


def _failures_frame(told: Sequence[tuple[Job, BatchFailure]]) -> pl.DataFrame:
    rows = [(job.segment_index, job.provider, job.model, job.batch_id, *failure) for job, failure in told]
    return pl.DataFrame(rows, schema=BATCH_FAILURES, orient="row")


class View:
    """The folder's files while a run is worked on: they follow the ledger, change by change."""

    def __init__(
        self, folder: Path, *, registry: bool, verbose: bool, csv: bool = False, tags: tuple[str, str] = TAGS
    ) -> None:
        self.tags = tags
        self._folder = folder
        self._registry = registry
        self._verbose = verbose
        self._csv = csv
        self._written: set[int] = set()

    def say(self, text: str) -> None:
        if self._verbose:
            print(text, file=sys.stderr)  # noqa: T201 - what `verbose` asks for

    def follow(self, judging: Judging) -> None:
        """While the engine works: the registry shows what is on record."""
        if self._registry:
            registry.write_registry(self._folder, [segment.job for segment in judging.segments()])

    def show(self, judging: Judging, done_before: Collection[int] = ()) -> None:
        """After a round: how batches stand, the registry, and the results of every segment that is done."""
        segments = judging.segments()
        for segment in segments:
            if segment.job.segment_index not in done_before:
                self.say(state_line(segment))
        jobs = [segment.job for segment in segments]
        if self._registry or (self._csv and any(job.segment_index not in self._written for job in jobs if job.done)):
            self.write(jobs, judging.judged(self.tags) if self._csv else None)

    def write(self, jobs: Sequence[Job], judged: pl.DataFrame | None) -> None:
        for job in jobs:
            if self._csv and job.done and judged is not None:
                won = pl.col("better_id").is_not_null() & (pl.col("segment_index") == job.segment_index)
                write_csv(results_table(judged.filter(won)), job.csv_path)
                self._written.add(job.segment_index)
        if self._registry:
            registry.write_registry(self._folder, jobs)
