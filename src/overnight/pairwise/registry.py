"""`jobs_registry.csv`: the batches of a run as a table that can be read without the ledger. It is only a view."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
import polars as pl

from overnight.core.attempt import Attempt
from overnight.core.errors import StudyError
from overnight.ledger.database import connect
from overnight.ledger.folder import RunFolder, sync_directory
from overnight.ledger.identity import arms
from overnight.ledger.shards import attempts
from overnight.pairwise._frames import require

REGISTRY = "jobs_registry.csv"
PAIRS = "pairs.parquet"
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
    db = connect(run.ledger, read_only=True)
    try:
        latest = {attempt.shard: attempt for attempt in sorted(attempts(db), key=lambda attempt: attempt.n)}
        models = {number: arm.model for number, arm in arms(db).items()}
    finally:
        db.close()
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
    if not path.is_file():
        raise StudyError(f"output_dir: there is no {REGISTRY} in {output_dir}")
    frame = pl.read_csv(path, glob=False, infer_schema_length=0, null_values=["", "NA"])
    require(frame, ("segment_index", "provider", "model", "batch_id", "done"), str(path))
    return [_read_job(output_dir, row) for row in frame.iter_rows(named=True)]


def _read_job(output_dir: Path, row: dict[str, str | None]) -> Job:
    number = int(row["segment_index"] or 0)
    stem = f"batch_{number:02d}"
    usual = {
        "batch_input_path": f"{stem}_input.jsonl",
        "batch_output_path": f"{stem}_output.jsonl",
        "csv_path": f"{stem}_results.csv",
        "pairs_path": f"{stem}_pairs.rds",
    }
    # The folder may have been moved since: files are looked for beside the registry, by their names.
    paths = {name: output_dir / Path(row.get(name) or file).name for name, file in usual.items()}
    return Job(
        segment_index=number,
        provider=row["provider"] or "",
        model=row["model"] or "",
        batch_id=row["batch_id"],
        done=(row["done"] or "").lower() == "true",
        batch_input_path=paths["batch_input_path"],
        batch_output_path=paths["batch_output_path"],
        csv_path=paths["csv_path"],
        pairs_path=paths["pairs_path"],
    )
