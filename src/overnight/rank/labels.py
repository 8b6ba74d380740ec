"""Labels of any kind (ids, clusters, judges) become codes: places in a sorted list of those that occur.

Whole numbers stay numbers, also where a missing value elsewhere has made floats of them; everything else is text.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl

from overnight.rank.arrays import Ints
from overnight.rank.verdicts import BadVerdicts

_WIDEST_RANGE: Final = 15_000_000  # a table of all numbers between the least and the greatest must fit in memory
_SAMPLE: Final = 100_000


def complete(column: pl.Series, where: str, wanted: str) -> pl.Series:
    """The column, if nothing is missing in it."""
    column = column.fill_nan(None) if column.dtype.is_float() else column
    if column.null_count():
        raise BadVerdicts(f"{where} has {column.null_count()} rows without {wanted}")
    return column


def label_codes(*columns: pl.Series) -> tuple[pl.Series, list[Ints]]:
    """The sorted labels of some columns, and where each value stands among them."""
    whole = [_whole_numbers(column) for column in columns]
    numbers = [column.to_numpy() for column in whole if column is not None]
    if len(numbers) == len(columns):
        return _number_codes(numbers)
    if any(column.dtype.is_float() for column in columns) and all(column.dtype.is_numeric() for column in columns):
        texts = [column.cast(pl.Float64) for column in columns]  # 1 and 1.0 are one label
    else:
        texts = [column if number is None else number for column, number in zip(columns, whole, strict=True)]
    return _text_codes(pl.DataFrame([text.cast(pl.String).alias(str(at)) for at, text in enumerate(texts)]))


def _whole_numbers(column: pl.Series) -> pl.Series | None:
    """The column as whole numbers, if it holds nothing else."""
    if not column.dtype.is_numeric():
        return None
    whole = column.cast(pl.Int64, strict=False)
    return whole if not whole.null_count() and (whole == column).all() else None


def _number_codes(columns: Sequence[Ints]) -> tuple[pl.Series, list[Ints]]:
    if not len(columns[0]):
        return pl.Series([], dtype=pl.Int64), list(columns)
    low, high = min(int(column.min()) for column in columns), max(int(column.max()) for column in columns)
    if high - low < _WIDEST_RANGE:
        seen = np.zeros(high - low + 1, dtype=np.int32)
        for column in columns:
            seen[column - low] = 1
        place = np.cumsum(seen, dtype=np.int32) - 1
        return pl.Series(np.flatnonzero(seen) + low), [place[column - low] for column in columns]
    labels = pl.concat([pl.Series(column).unique() for column in columns]).unique().sort()
    return labels, [np.searchsorted(labels.to_numpy(), column) for column in columns]


def _text_codes(frame: pl.DataFrame) -> tuple[pl.Series, list[Ints]]:
    labels = _distinct([frame.head(_SAMPLE)])
    coded = _places(frame, labels)
    # most labels show early; only what the sample missed is looked for in the rest
    missed = [frame.filter(column.is_null()) for column in coded if column.null_count()]
    if missed:
        labels = _distinct([labels.to_frame(), *missed])
        coded = _places(frame, labels)
    return labels, [column.to_numpy() for column in coded]


def _distinct(parts: Sequence[pl.DataFrame]) -> pl.Series:
    return pl.concat([column.unique().alias("label") for part in parts for column in part]).unique().sort()


def _places(frame: pl.DataFrame, labels: pl.Series) -> pl.DataFrame:
    return frame.select(pl.all().cast(pl.Enum(labels), strict=False).to_physical().cast(pl.Int32))


__all__ = ["complete", "label_codes"]
