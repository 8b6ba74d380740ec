"""Files for people and other programs, made from a run: its batches' input and output, and tables as CSV.

They are copies. Deleting one loses nothing: the run keeps its own.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from overnight.core.shard import custom_id
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import RawFiles, check_file
from overnight.pairwise._rows import RESULTS
from overnight.pairwise.registry import Job, Segment, replace_file
from overnight.providers import batch_format, vendor
from overnight.store.run_folder import RunFolder

COMBINED = "combined_results.csv"
FAILED_ATTEMPTS = "failed_attempts.csv"


def export_inputs(run: RunFolder, segments: Sequence[Segment]) -> None:
    """What was sent, in the provider's own form; files that are there already stay."""
    missing = [segment for segment in segments if not segment.job.batch_input_path.exists()]
    if not missing:
        return
    with look_at(run) as view:
        known, names = view.stages.arms(), view.files.paths()
        with RawFiles(run.files, names) as files:
            for job, attempt in ((segment.job, segment.attempt) for segment in missing):
                model = known[attempt.arm].model
                batches = batch_format(vendor(model.provider))
                lines = (
                    batches.line(model, custom_id(attempt.token, body.line), files.read(*body[2:]))
                    for body in view.shards.bodies(attempt.shard)
                )
                replace_file(job.batch_input_path, b"".join(line + b"\n" for line in lines))


def export_outputs(run: RunFolder, segments: Sequence[Segment]) -> None:
    """What came back, output and error files together."""
    with look_at(run) as view:
        for segment in segments:
            target = segment.job.batch_output_path
            if segment.job.done and not target.exists():
                files = view.files.on_record(segment.attempt.files)
                for file in files:
                    check_file(run.files, file.path, file.bytes, file.sha256)
                part = target.with_name(f"{target.name}.part")
                with part.open("wb") as whole:
                    for file in files:
                        with run.files.stream(file.path) as source:
                            shutil.copyfileobj(source, whole)
                part.replace(target)


def remove_jsonl(jobs: Sequence[Job]) -> None:
    """The exported copies only: the run's own raw files are never touched."""
    for job in jobs:
        if job.done:
            job.batch_input_path.unlink(missing_ok=True)
            job.batch_output_path.unlink(missing_ok=True)


def results_table(judged: pl.DataFrame) -> pl.DataFrame:
    """The columns that people know; texts are not repeated in every row, ids lead back to them."""
    extra = [name for name in ("raw_response",) if name in judged.columns]
    return judged.select(*RESULTS, *extra)


def write_csv(frame: pl.DataFrame, path: Path) -> None:
    replace_file(path, frame.write_csv().encode())


def combined_path(output_dir: Path, given: str | Path | None) -> Path:
    """A bare file name belongs into the folder; anything with a folder in it is taken as it is."""
    if given is None:
        return output_dir / COMBINED
    text = str(given)
    absolute = text.startswith(("/", "~/", "~\\")) or (len(text) > 1 and text[1] == ":")
    if absolute or str(Path(text).parent) != ".":
        return Path(text).expanduser()
    return output_dir / text
