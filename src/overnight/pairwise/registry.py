"""`jobs_registry.csv`: the batches of a run as a table that can be read without the ledger. It is only a view."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PureWindowsPath

import msgspec
import polars as pl

from overnight.core.attempt import Attempt
from overnight.core.errors import StudyError, UnknownName
from overnight.core.files import text_file
from overnight.core.opening import sync_directory
from overnight.core.wording import quoted
from overnight.ledger.ledger import look_at
from overnight.pairwise._frames import require
from overnight.providers import vendor
from overnight.store.run_folder import RunFolder

REGISTRY = "jobs_registry.csv"
PAIRS = "pairs.parquet"
_MOST_DIGITS = 9
COLUMNS: dict[str, type[pl.DataType]] = {
    "segment_index": pl.Int64,
    "provider": pl.String,
    "model": pl.String,
    "batch_id": pl.String,
    "batch_input_path": pl.String,
    "batch_output_path": pl.String,
    "csv_path": pl.String,
    "pairs_path": pl.String,
    "done": pl.Boolean,
}


class Job(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One batch of a run. `results` are there once it has been collected."""

    segment_index: int
    provider: str
    model: str
    batch_id: str | None
    batch_input_path: Path
    batch_output_path: Path
    csv_path: Path
    pairs_path: Path
    done: bool
    results: pl.DataFrame | None = None

    @property
    def folder(self) -> Path:
        return self.batch_output_path.parent


class Segment(msgspec.Struct, frozen=True):
    """A job and the attempt behind it."""

    job: Job
    attempt: Attempt


def segments_of(output_dir: Path, run: RunFolder) -> list[Segment]:
    """From the ledger: one for each part that was sent, by its latest attempt; parts asked again come last."""
    if not run.exists():
        return []
    with look_at(run) as view:
        sent = sorted(view.attempts.everything(), key=lambda attempt: attempt.n)
        latest = {attempt.shard: attempt for attempt in sent}
        models = {number: arm.model for number, arm in view.stages.arms().items()}
    ordered = (latest[shard] for shard in sorted(latest))
    return [
        Segment(
            _job(output_dir, number, models[attempt.arm].provider, models[attempt.arm].name, attempt),
            attempt,
        )
        for number, attempt in enumerate(ordered, 1)
    ]


def _job(output_dir: Path, number: int, provider: str, model: str, attempt: Attempt) -> Job:
    stem = f"batch_{number:02d}"
    return Job(
        segment_index=number,
        provider=provider,
        model=model,
        batch_id=attempt.batch_id,
        batch_input_path=output_dir / f"{stem}_input.jsonl",
        batch_output_path=output_dir / f"{stem}_output.jsonl",
        csv_path=output_dir / f"{stem}_results.csv",
        pairs_path=output_dir / PAIRS,
        done=attempt.state == "closed",
    )


def state_line(segment: Segment) -> str:
    """`openai batch_68e1: in_progress, 12 of 40 rows`."""
    job, attempt = segment.job, segment.attempt
    state = "done" if job.done else attempt.status or attempt.state
    return f"{job.provider} {job.batch_id or 'no batch yet'}: {state}, {attempt.completed:,} of {attempt.rows:,} rows"


def registry_frame(jobs: Iterable[Job]) -> pl.DataFrame:
    """Paths are names inside the folder, so that it can be moved."""
    rows = [
        {name: value.name if isinstance(value := getattr(job, name), Path) else value for name in COLUMNS}
        for job in jobs
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


def write_registry(output_dir: Path, jobs: Sequence[Job]) -> Path:
    """Whole or not at all, and only when it says something new."""
    path = output_dir / REGISTRY
    text = registry_frame(jobs).write_csv().encode()
    if not path.exists() or path.read_bytes() != text:
        replace_file(path, text)
    return path


def replace_file(path: Path, content: bytes) -> None:
    """A reader sees the old file or the new one, whenever we die."""
    part = path.with_name(f"{path.name}.part")
    with part.open("wb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    part.replace(path)
    sync_directory(path.parent)


def read_registry(output_dir: Path) -> list[Job]:
    """The jobs of a registry, ours or pairwiseLLM's."""
    path = output_dir / REGISTRY
    if not path.exists():
        raise StudyError(f"output_dir: there is no {REGISTRY} in {output_dir}")
    text = text_file(path, "registry")
    try:
        frame = pl.read_csv(text.encode(), infer_schema_length=0, null_values=["", "NA"])
    except (pl.exceptions.PolarsError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise StudyError(f"{path}: not a registry of batches: {reason}") from None
    require(frame, ("segment_index", "provider", "model", "batch_id", "done"), str(path))
    rows = ((line, row) for line, row in enumerate(frame.iter_rows(named=True), 2) if any(row.values()))
    jobs = [_read_job(output_dir, line, row) for line, row in rows]
    seen: set[int] = set()
    for job in jobs:
        if job.segment_index in seen:
            raise StudyError(f"{path}: segment {job.segment_index} is there twice")
        seen.add(job.segment_index)
    if not jobs:
        raise StudyError(f"{path}: there are no batches in it")
    return jobs


def _read_job(output_dir: Path, line: int, row: dict[str, str | None]) -> Job:
    index = row["segment_index"] or ""
    where = f"{output_dir / REGISTRY}:{line}"
    if not index.isdecimal() or len(index) > _MOST_DIGITS:
        raise StudyError(f"{where}: segment_index: wanted a whole number, found {quoted(index)}")
    try:
        provider = vendor(row["provider"] or "").name
    except UnknownName as error:
        raise UnknownName(f"{where}: {error}") from None
    number = int(index)
    stem = f"batch_{number:02d}"
    usual = {
        "batch_input_path": f"{stem}_input.jsonl",
        "batch_output_path": f"{stem}_output.jsonl",
        "csv_path": f"{stem}_results.csv",
        "pairs_path": f"{stem}_pairs.rds",
    }
    # The folder may have been moved since, from Windows perhaps: files are looked for beside the registry, by name.
    paths = {name: output_dir / (PureWindowsPath(row.get(name) or file).name or file) for name, file in usual.items()}
    return Job(
        segment_index=number,
        provider=provider,
        model=row["model"] or "",
        batch_id=row["batch_id"],
        done=(row["done"] or "").lower() == "true",
        batch_input_path=paths["batch_input_path"],
        batch_output_path=paths["batch_output_path"],
        csv_path=paths["csv_path"],
        pairs_path=paths["pairs_path"],
    )
