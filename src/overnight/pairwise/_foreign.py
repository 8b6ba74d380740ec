"""A folder that pairwiseLLM made: its batches are adopted, and every one of its pairs ends as a winner or a failure."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.api import Run, adopt
from overnight.api.elsewhere.adopted_files import numbered, position_name
from overnight.api.elsewhere.adoption import UNNAMED, NothingToAdopt
from overnight.core.attempt import Attempt
from overnight.core.clock import time_text
from overnight.core.errors import OvernightError, ProviderError, StudyError, UnknownName
from overnight.core.wording import number_of
from overnight.ledger.ledger import look_at
from overnight.pairwise._foreign_pairs import claims, foreign_pairs, pairs_in_order, saved_pairs
from overnight.pairwise._judge import Judge
from overnight.pairwise._judging import Say
from overnight.pairwise._rows import BatchFailure, judged_rows, raw_lines
from overnight.pairwise.registry import Job
from overnight.providers import batch_format, vendor
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.tasks._pairs.answer_form import AnswerForm

# A look waits for nothing, but downloads take their time.
_ONE_LOOK = 86_400.0
# How long to look for the rest of a batch that has ended, in seconds.
_LAST_LOOKS = 180.0
# However fast time passes in a rehearsal, looking takes time of its own.
_LAST_REAL_LOOKS = 5.0
_NO_ANSWER = "no answer came for this pair"
_DISAGREE = "several answers came for this pair, and they do not agree"


class StrayRowsWarning(UserWarning):
    """Answers that are about none of the pairs; they are kept, and joined to nothing."""


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a segment after a look. Without a run, `status` says why there is none."""

    run: Run | None = None
    attempt: Attempt | None = None
    is_open: bool = False
    is_done: bool = False
    status: str | None = None
    detail: str | None = None

    @property
    def failure(self) -> BatchFailure | None:
        """How the batch failed as a whole, if it did."""
        ended = self.attempt.ended if self.attempt is not None else None
        if ended is not None and ended.phase != "completed":
            at = None if self.attempt is None or self.attempt.ended_at is None else time_text(self.attempt.ended_at)
            return BatchFailure(ended.status, ended.message or f"Batch status: {ended.status}", at)
        return None if self.status in (None, "completed") else BatchFailure(self.status, self.detail, None)


class Adopted:
    """Batches of somebody else's making, each a run of its own in the folder."""

    def __init__(self, folder: Path, jobs: Sequence[Job], pairs: Any, *, by_position: bool = False) -> None:
        self.folder = folder
        self.jobs = list(jobs)
        # Pairs that the user gives are those of all segments together.
        self._pool = None if pairs is None else foreign_pairs(pairs, "pairs")
        self._own = {job.segment_index: saved_pairs(job) for job in jobs if self._pool is None}
        self._by_position = by_position
        self._found: dict[int, _Found] = {}
        self._warned: set[int] = set()

    def look(self, say: Say) -> bool:
        """One look at each batch that has not ended; whether any is still open.

        Trouble with one keeps no other from being looked at. If no batch is there at all, the account is another one.
        """
        troubles: list[OvernightError] = []
        for place, job in enumerate(self.jobs):
            known = self._found.get(job.segment_index)
            if known is not None and not known.is_open:
                continue
            try:
                found = self._found[job.segment_index] = self._look_at(job, say)
            except (StudyError, ProviderError) as error:
                troubles.append(error)
                continue
            self.jobs[place] = msgspec.structs.replace(job, done=found.is_done)
        unknown = [found for found in self._found.values() if found.status == "not found"]
        if troubles:
            raise troubles[0]
        if unknown and len(unknown) == len(self.jobs):
            raise UnknownName(unknown[0].detail or "")
        return any(found.is_open for found in self._found.values())

    def _look_at(self, job: Job, say: Say) -> _Found:
        try:
            run = self._adopted(job, say)
        except NothingToAdopt as nothing:
            batch = nothing.batch
            refusal = batch.refusal.message if batch.refusal is not None else f"Batch status: {batch.status}"
            still = batch.phase == "running"
            status = None if still else "completed" if batch.phase == "completed" else batch.status
            return _Found(is_open=still, is_done=not still, status=status, detail=refusal)
        except UnknownName as error:
            # Perhaps another key would find it: the registry goes on saying that it is not done.
            return _Found(status="not found", detail=str(error))
        (attempt,) = _attempts(run.path)
        if attempt.ended is not None and attempt.state != "closed" and run.state != "stopped":
            # It has ended, and what it gives up is not whole: a few more looks, and then that is all there is today.
            scale = settings(runs=self.folder).time_scale
            run = self._by_id(job, say, timeout=max(_LAST_LOOKS, _LAST_REAL_LOOKS * scale))
            (attempt,) = _attempts(run.path)
        closed = attempt.state == "closed"
        is_open = attempt.ended is None and run.state != "stopped"
        return _Found(run=run, attempt=attempt, is_open=is_open, is_done=closed)

    def _adopted(self, job: Job, say: Say) -> Run:
        name = _name(job)
        begun = RunFolder(self.folder / name).exists()
        # What was downloaded needs no provider, which may have forgotten the batch by now.
        if job.done and job.batch_output_path.is_file() and not begun:
            try:
                (run,) = adopt(job.provider, output_file=job.batch_output_path, as_name=name, runs=self.folder, say=say)
            except StudyError as error:
                say(f"{error}; asking {job.provider} instead")
            else:
                return run
        return self._by_id(job, say)

    def _by_id(self, job: Job, say: Say, timeout: float | None = None) -> Run:
        """One look, or as many as fit into `timeout` seconds."""
        if job.batch_id is None:
            raise UnknownName(f"segment {job.segment_index}: the registry names no batch")
        (run,) = adopt(
            job.provider,
            job.batch_id,
            as_name=_name(job),
            once=timeout is None,
            timeout=_ONE_LOOK if timeout is None else timeout,
            ask_again=False,
            by_position=self._by_position and job.provider == "gemini",
            runs=self.folder,
            say=say,
        )
        return run

    def failures(self) -> list[tuple[Job, BatchFailure]]:
        """Batches that did not run to their end, or are not there at all."""
        told = ((job, self._found[job.segment_index].failure) for job in self.jobs)
        return [(job, failure) for job, failure in told if failure is not None]

    def judged(self, tags: tuple[str, str]) -> pl.DataFrame:
        """Every pair of every segment, once: with its answer, as a failure, or pending while its batch is open."""
        form = AnswerForm(tags=tags)
        free = set() if self._pool is None else {*range(self._pool.height)}
        parts: list[pl.DataFrame] = []
        for job in self.jobs:
            pairs = self._own[job.segment_index] if self._pool is None else self._pool
            rows = self._rows(job, pairs, free)
            free -= {*rows}
            taken = range(pairs.height) if self._pool is None else sorted(rows)
            parts.append(self._judged(job, pairs, {place: rows.get(place) for place in taken}, form))
        if self._pool is not None and free:
            parts.append(self._left_over(self._pool, sorted(free), form))
        return pl.concat(parts)

    def _rows(self, job: Job, pairs: pl.DataFrame, free: set[int]) -> dict[int, str]:
        """The row of each pair of this segment that has one."""
        run = self._found[job.segment_index].run
        if run is None:
            return {}
        # Pairs that no row is about are told one by one: rows that a batch counts and does not name say no more.
        names = [name for name in run.results()["item_id"] if not name.startswith(UNNAMED)]
        if sorted(names) == [position_name(place) for place in range(1, len(names) + 1)]:
            order = pairs_in_order(job, pairs)
            if len(order) != len(names):
                came = f"{number_of(len(names), 'answer')} came for {number_of(len(order), 'request')}"
                raise StudyError(f"segment {job.segment_index}: {came}, so their places say nothing")
            return dict(zip(order, sorted(names), strict=True))
        usable = pairs if self._pool is None else pairs[sorted(free)]
        claimed, stray = claims(names, usable)
        self._tell_stray(job, stray, len(names))
        places = range(pairs.height) if self._pool is None else sorted(free)
        return {places[place]: name for place, name in claimed.items()}

    def _tell_stray(self, job: Job, stray: Sequence[str], rows: int) -> None:
        if stray and len(stray) == rows:
            none = f"none of its {rows:,} rows is about one of the pairs"
            raise StudyError(f"segment {job.segment_index}: {none}; one is called '{stray[0]}'")
        if stray and job.segment_index not in self._warned:
            self._warned.add(job.segment_index)
            text = f"segment {job.segment_index}: {number_of(len(stray), 'row')} about none of the pairs ('{stray[0]}')"
            warnings.warn(f"{text}; kept in the run, and joined to nothing", StrayRowsWarning, stacklevel=5)

    def _judged(self, job: Job, pairs: pl.DataFrame, rows: dict[int, str | None], form: AnswerForm) -> pl.DataFrame:
        found = self._found[job.segment_index]
        asked = pairs[list(rows)].with_columns(pl.Series("item_id", list(rows.values()), dtype=pl.String))
        if found.run is None:
            return _unanswered(asked, job, found, form)
        tries = (
            pl.read_parquet(found.run.path / "tables" / "attempts.parquet", glob=False).group_by("request_key").last()
        )
        answers = found.run.results().join(tries, on="request_key", how="left", suffix="_try")
        joined = asked.join(answers, on="item_id", how="left", maintain_order="left")
        torn = _contradicted(found.run.path, job)
        joined = _with_reasons(joined.with_columns(custom_id=pl.col("item_id")), found, torn)
        judge = Judge(backend=job.provider, model=job.model, entry={}, include_thoughts=True)
        return _placed(judged_rows(joined, raw_lines(joined, found.run.path), judge, form), job, joined["status"])

    def _left_over(self, pairs: pl.DataFrame, places: list[int], form: AnswerForm) -> pl.DataFrame:
        """Pairs that no segment has answered, where nobody knows which of them was to."""
        is_open = any(found.is_open for found in self._found.values())
        lost = next((found for found in self._found.values() if found.failure is not None), _Found())
        detail = lost.failure.detail if lost.failure is not None else None
        asked = pairs[places].with_columns(pl.lit(None, pl.String).alias("item_id"))
        left = _unanswered(asked, self.jobs[0], _Found(is_open=is_open, detail=detail), form)
        return left.with_columns(pl.lit(None, pl.Int64).alias("segment_index"))


def _name(job: Job) -> str:
    return f"segment-{job.segment_index:02d}"


_NOTHING: dict[str, type[pl.DataType]] = {
    "custom_id": pl.String,
    "status": pl.String,
    "cause": pl.String,
    "detail": pl.String,
    "received_at": pl.String,
    "model": pl.String,
    "answer": pl.String,
    "thoughts": pl.String,
    "input_tokens": pl.Int64,
    "cached_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "reasoning_tokens": pl.Int64,
    "cost": pl.Float64,
}


def _unanswered(asked: pl.DataFrame, job: Job, found: _Found, form: AnswerForm) -> pl.DataFrame:
    """Pairs of a batch that gave up nothing, or has nothing yet."""
    empty = asked.with_columns(pl.lit(None, kind).alias(name) for name, kind in _NOTHING.items())
    told = _with_reasons(empty, found, ())
    judge = Judge(backend=job.provider, model=job.model, entry={})
    return _placed(judged_rows(told, iter([None] * told.height), judge, form), job, told["status"])


def _with_reasons(joined: pl.DataFrame, found: _Found, contradicted: Sequence[str]) -> pl.DataFrame:
    """What no row came for has failed, unless its batch is open; so has what came with two answers."""
    status = pl.lit("pending" if found.is_open else "failed")
    unsettled = pl.col("status").fill_null("pending") == "pending"
    absent, torn = pl.col("status").is_null() if found.is_open else unsettled, pl.col("item_id").is_in(contradicted)
    failure = found.failure
    detail = failure.detail if failure is not None else found.detail
    return joined.with_columns(
        pl.when(absent).then(status).when(torn).then(pl.lit("failed")).otherwise("status").alias("status"),
        pl.when(absent)
        .then(pl.lit("missing"))
        .when(torn)
        .then(pl.lit("invalid_winner"))
        .otherwise("cause")
        .alias("cause"),
        pl.when(absent)
        .then(pl.lit(detail or _NO_ANSWER))
        .when(torn)
        .then(pl.lit(_DISAGREE))
        .otherwise("detail")
        .alias("detail"),
    )


def _placed(judged: pl.DataFrame, job: Job, status: pl.Series) -> pl.DataFrame:
    return judged.with_columns(
        pl.lit(job.model).alias("model"),
        pl.lit(job.segment_index).cast(pl.Int64).alias("segment_index"),
        status.alias("status"),
    )


def _attempts(run: Path) -> list[Attempt]:
    with look_at(RunFolder(run)) as view:
        return view.attempts.everything()


def _contradicted(run: Path, job: Job) -> list[str]:
    """Custom ids that came more than once, with different answers: which one is right, nobody can say."""
    decode = batch_format(vendor(job.provider)).decode
    said: dict[str, set[int]] = {}
    files = RunFolder(run).files
    for name in (name for name in files.names("raw") if name.endswith(".jsonl")):
        with files.stream(name) as content:
            for _, line in numbered(content):
                found = decode(line)
                if found.custom_id is not None and found.result is not None:
                    said.setdefault(found.custom_id, set()).add(hash((found.result.outcome, found.result.answer)))
    return [name for name, answers in said.items() if len(answers) > 1]
