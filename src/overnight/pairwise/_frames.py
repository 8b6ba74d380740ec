"""Tables as notebooks hold them: polars, pandas, columns or rows in; polars out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.errors import StudyError
from overnight.core.template import columns_text, nearest_column
from overnight.core.wording import found_text
from overnight.rank.columns import UNREADABLE, as_text, shallow

_LONGEST_REASON = 200
PAIR_COLUMNS = ("ID1", "text1", "ID2", "text2")


def frame_of(data: Any, what: str) -> pl.DataFrame:
    """A polars frame of whatever table was handed over; `what` it is begins the complaint."""
    if data is None or isinstance(data, str | bytes | Path):
        raise StudyError(f"{what}: wanted a table, found {found_text(data)}")
    try:
        if isinstance(data, pl.DataFrame | pl.LazyFrame):
            return data.lazy().collect()
        if type(data).__module__.split(".")[0] == "pandas":
            return pl.DataFrame(pl.from_pandas(data))
        return pl.DataFrame(shallow(data), infer_schema_length=None, strict=False)
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0][:_LONGEST_REASON]
        raise StudyError(f"{what}: wanted a table, found {found_text(data)}: {reason}") from error


def require(frame: pl.DataFrame, columns: Sequence[str], what: str) -> None:
    for name in columns:
        if name not in frame.columns:
            near = nearest_column(name, frame.columns)
            raise StudyError(f"{what}: there is no column '{name}'; {columns_text(frame.columns)}{near}")


def pairs_of(data: Any) -> pl.DataFrame:
    """Pairs with their ids as text; every pair has both texts, and no sample meets itself."""
    pairs = frame_of(data, "pairs")
    require(pairs, PAIR_COLUMNS, "pairs")
    pairs = as_text(pairs, PAIR_COLUMNS, "pairs")
    for column in PAIR_COLUMNS:
        empty = pairs.with_row_index("row").filter(pl.col(column).fill_null("").str.strip_chars() == "")
        if empty.height:
            raise StudyError(f"pairs: row {empty['row'][0] + 1} has nothing in '{column}'")
    alone = pairs.with_row_index("row").filter(pl.col("ID1") == pl.col("ID2"))
    if alone.height:
        raise StudyError(f"pairs: row {alone['row'][0] + 1} compares '{alone['ID1'][0]}' with itself")
    return pairs


def samples_in(pairs: pl.DataFrame) -> pl.DataFrame:
    """The samples of pairs, each once, in the order they come; an id with two texts is refused."""
    sides = [pairs.select(pl.col(f"ID{side}").alias("ID"), pl.col(f"text{side}").alias("text")) for side in (1, 2)]
    samples = pl.concat(sides).unique(maintain_order=True)
    twice = samples.filter(pl.col("ID").is_duplicated())
    if twice.height:
        raise StudyError(f"pairs: the id '{twice['ID'][0]}' stands for two different texts")
    return samples
