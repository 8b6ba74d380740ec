"""Inputs as files: `<statement id>.json`, as `inputs:` and SpecEval take them; and one file with all of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.core.errors import StudyError
from overnight.core.wording import number_of
from overnight.tasks._specs.file_names import apart

# What each input says of itself, beside its text.
_TOLD = ("category", "scenario", "round", "writer", "rating", "difficulty")


def write_folder(tables: Path, folder: Path) -> Iterator[str]:
    """One file for each statement. What lies there of an earlier time under the same name is replaced."""
    kept = _kept(tables)
    if kept is None:
        return
    if folder.exists() and not folder.is_dir():
        raise StudyError(f"--output-dir {folder}: this is a file, not a folder")
    names = kept["statement_id"].unique(maintain_order=True).to_list()
    for name, file in zip(names, apart(names), strict=True):
        part = kept.filter(pl.col("statement_id") == name)
        told = [{key: row[key] for key in _TOLD} for row in part.iter_rows(named=True)]
        _write(folder / f"{file}.json", {"inputs": part["input"].to_list(), "about": told})
    yield f"{folder}: {number_of(kept.height, 'input')} of {number_of(len(names), 'statement')}"


def write_json(tables: Path, file: Path) -> Iterator[str]:
    """SpecEval's one file: by statement, a list `dataset` with the hardest first."""
    kept = _kept(tables)
    if kept is None:
        return
    found: dict[str, Any] = {}
    for row in kept.sort("statement_id", "difficulty", "input_index", descending=[False, True, False]).to_dicts():
        entry = {"input": row["input"], "scenario": row["scenario"], "raw_rating": row["rating"]}
        entry |= {"score": None if row["rating"] is None else row["rating"] / 5, "statement_id": row["statement_id"]}
        found.setdefault(row["statement_id"], {"dataset": []})["dataset"].append(entry)
    _write(file, found)
    yield f"{file}: {number_of(kept.height, 'input')}"


def _kept(tables: Path) -> pl.DataFrame | None:
    path = tables / "inputs.parquet"
    return pl.read_parquet(path, glob=False) if path.exists() else None


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    part.replace(path)
