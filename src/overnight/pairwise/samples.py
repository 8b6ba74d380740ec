"""Samples: read from a table or a folder, and those that come with Overnight."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.core.files import text_file
from overnight.core.template import columns_text, nearest_column
from overnight.core.wording import quoted
from overnight.pairwise._frames import frame_of
from overnight.rank.columns import as_text


@checked
def read_samples_df(df: Any, id_col: str | int = 1, text_col: str | int = 2) -> pl.DataFrame:
    """Samples as `ID, text` and whatever else the table has. Columns go by name, or by number from 1."""
    frame = frame_of(df, "df")
    id_name, text_name = (_column(frame, column, what) for column, what in ((id_col, "id_col"), (text_col, "text_col")))
    others = [pl.col(name) for name in frame.columns if name not in {id_name, text_name, "ID", "text"}]
    frame = as_text(frame, [id_name, text_name], "df")
    samples = frame.select(pl.col(id_name).alias("ID"), pl.col(text_name).alias("text"), *others)
    _check_ids(samples)
    return samples


@checked
def read_samples_dir(path: str | Path = ".", pattern: str = r"\.txt$") -> pl.DataFrame:
    """A sample for each file whose name fits the pattern (a regular expression); its id is the name without ending."""
    folder = Path(path)
    if not folder.is_dir():
        raise StudyError(f"path: there is no folder {folder}")
    try:
        fits = re.compile(pattern)
    except re.error as error:
        raise StudyError(f"pattern: {quoted(pattern)} is no regular expression: {error.msg}") from None
    found = sorted(file for file in folder.iterdir() if file.is_file() and fits.search(file.name))
    if not found:
        raise StudyError(f"path: no file in {folder} fits the pattern {quoted(pattern)}")
    rows = [{"ID": file.stem, "text": text_file(file, "path")} for file in found]
    samples = pl.DataFrame(rows, schema={"ID": pl.String, "text": pl.String})
    _check_ids(samples)
    return samples


@checked
def example_writing_samples() -> pl.DataFrame:
    """Twenty short texts on one question, `ID, text, quality`: the higher the quality, the better written."""
    return pl.read_csv(str(files(__package__) / "example_writing_samples.csv"))


def _column(frame: pl.DataFrame, column: str | int, what: str) -> str:
    if isinstance(column, str):
        if column not in frame.columns:
            near = nearest_column(column, frame.columns)
            raise StudyError(f"{what}: there is no column {quoted(column)}; {columns_text(frame.columns)}{near}")
        return column
    if not 1 <= column <= frame.width:
        raise StudyError(f"{what}: {column} is not between 1 and {frame.width}, the number of columns")
    return frame.columns[column - 1]


def _check_ids(samples: pl.DataFrame) -> None:
    empty = samples["ID"].fill_null("").str.strip_chars() == ""
    if empty.any():
        raise StudyError(f"samples: row {(empty.arg_true()[0] or 0) + 1} has no id")
    twice = samples.filter(pl.col("ID").is_duplicated())
    if twice.height:
        raise StudyError(f"samples: the id '{twice['ID'][0]}' is used more than once; ids must be unique")
