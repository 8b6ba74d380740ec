"""A folder that pairwiseLLM made: its batches are adopted, and their rows joined to its pairs by name only."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.api import Run, adopt
from overnight.core.errors import StudyError
from overnight.ledger.folder import RunFolder
from overnight.pairwise._frames import pairs_of
from overnight.pairwise._judge import Judge
from overnight.pairwise._judging import Say
from overnight.pairwise._rows import judged_rows, raw_lines, with_keys
from overnight.pairwise.registry import Job
from overnight.tasks._answer_form import AnswerForm

_COMPARED = "_vs_"


class Adopted:
    """Batches of somebody else's making, each a run of its own in the folder."""

    def __init__(self, folder: Path, jobs: Sequence[Job], pairs: Any) -> None:
        self.folder = folder
        self.jobs = list(jobs)
        self._pairs = {job.segment_index: _pairs_of(job, pairs) for job in jobs}
        self._runs: dict[int, Run] = {}

    def look(self, say: Say) -> bool:
        """One look at each batch that has not ended; whether any is still open."""
        for place, job in enumerate(self.jobs):
            known = self._runs.get(job.segment_index)
            if known is None or known.state == "running":
                run = self._runs[job.segment_index] = self._adopted(job, say)
                self.jobs[place] = msgspec.structs.replace(job, done=run.state != "running")
        return any(run.state == "running" for run in self._runs.values())

    def _adopted(self, job: Job, say: Say) -> Run:
        name = f"segment-{job.segment_index:02d}"
        # What was downloaded needs no provider, which may have forgotten the batch by now.
        if job.done and job.batch_output_path.is_file() and not RunFolder(self.folder / name).exists():
            (run,) = adopt(job.provider, output_file=job.batch_output_path, as_name=name, runs=self.folder, say=say)
        else:
            (run,) = adopt(job.provider, job.batch_id, as_name=name, once=True, runs=self.folder, say=say)
        return run

    def judged(self, tags: tuple[str, str]) -> pl.DataFrame:
        """Every row that came, with its pair; rows that fit no pair are left without a winner."""
        form = AnswerForm(tags=tags)
        return pl.concat([self._judged(job, form) for job in self.jobs])

    def _judged(self, job: Job, form: AnswerForm) -> pl.DataFrame:
        run = self._runs[job.segment_index]
        tries = pl.read_parquet(run.path / "tables" / "attempts.parquet", glob=False).group_by("request_key").last()
        answers = run.results().join(tries, on="request_key", how="left", suffix="_try").sort("item_id")
        pairs = with_keys(self._pairs[job.segment_index])
        names = pair_names(pairs)
        rows = [pair_of_row(name, names) for name in answers["item_id"]]
        joined = pl.concat([answers.with_columns(custom_id=pl.col("item_id")), pairs[rows]], how="horizontal")
        judge = Judge(backend=job.provider, model=job.model, entry={}, include_thoughts=True)
        judged = judged_rows(joined, raw_lines(joined, run.path), judge, form)
        return judged.with_columns(
            pl.lit(job.model).alias("model"),
            pl.lit(job.segment_index).cast(pl.Int64).alias("segment_index"),
            joined["status"].alias("status"),
        )


def pair_names(pairs: pl.DataFrame) -> dict[str, int]:
    """By which name each pair may go."""
    names = dict(zip(pairs["pair_uid"], range(pairs.height), strict=True))
    for place, (first, second) in enumerate(pairs.select("ID1", "ID2").iter_rows()):
        names.setdefault(f"{first}{_COMPARED}{second}", place)
    return names


def pair_of_row(custom_id: str, names: Mapping[str, int]) -> int:
    """The pair that a row is about: `PREFIX_ID1_vs_ID2`, where prefix and ids may hold underscores themselves."""
    found = {names[ending] for ending in _endings(custom_id) if ending in names}
    if len(found) != 1:
        could_be = "no pair" if not found else f"{len(found)} pairs"
        raise StudyError(f"pairs: the row '{custom_id}' could be {could_be}; give `pairs` with a column pair_uid")
    return found.pop()


def _endings(custom_id: str) -> Iterator[str]:
    yield custom_id
    for place, character in enumerate(custom_id):
        if character == "_":
            yield custom_id[place + 1 :]


def _pairs_of(job: Job, given: Any) -> pl.DataFrame:
    if given is not None:
        return pairs_of(given)
    if not job.pairs_path.is_file():
        raise StudyError(f"{job.pairs_path}: no such file; give the pairs as `pairs`")
    try:
        import pyreadr  # noqa: PLC0415 - only for folders that R made
    except ModuleNotFoundError:
        way_out = "pip install 'overnight[r]', or give the pairs as `pairs`"
        raise StudyError(f"{job.pairs_path}: reading R's own files needs pyreadr: {way_out}") from None
    return pairs_of(next(iter(pyreadr.read_r(str(job.pairs_path)).values())))
