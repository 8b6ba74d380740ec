"""Labels of any kind (ids, clusters, judges) become codes: places in a sorted list of those that occur.

Whole numbers stay numbers, also where a missing value elsewhere has made floats of them; everything else is text.

Tables of a run have some names again and again, in millions of rows. They are kept as `named` columns: an Enum of the
sorted names, two or four bytes a row, whose codes compare as the names do.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from overnight.rank.arrays import Ints
from overnight.rank.verdicts import BadVerdicts

_WIDEST_RANGE: Final = 15_000_000  # a table of all numbers between the least and the greatest must fit in memory
_SAMPLE: Final = 100_000
# What settles or counts verdicts by pair takes many times the memory of the verdicts, so it is done for some at a time.
_AT_ONCE: Final = 40_000
# Columns that hold each name once, and a number in each row.
_LISTED: Final = (pl.Enum, pl.Categorical)


def complete(column: pl.Series, where: str, wanted: str) -> pl.Series:
    """The column, if nothing is missing in it."""
    column = column.fill_nan(None) if column.dtype.is_float() else column
    if column.null_count():
        raise BadVerdicts(f"{where} has {column.null_count()} rows without {wanted}")
    return column


def label_codes(*columns: pl.Series) -> tuple[pl.Series, list[Ints]]:
    """The sorted labels of some columns, and where each value stands among them."""
    if _are_alike(columns):
        return _known_codes(columns)
    whole = [_whole_numbers(column) for column in columns]
    numbers = [column.to_numpy() for column in whole if column is not None]
    if len(numbers) == len(columns):
        return _number_codes(numbers)
    if any(column.dtype.is_float() for column in columns) and all(column.dtype.is_numeric() for column in columns):
        texts = [column.cast(pl.Float64) for column in columns]  # 1 and 1.0 are one label
    else:
        texts = [column if number is None else number for column, number in zip(columns, whole, strict=True)]
    return _text_codes(pl.DataFrame([text.cast(pl.String).alias(str(at)) for at, text in enumerate(texts)]))


def named(*columns: pl.Series) -> list[pl.Series]:
    """The columns as text of one list of sorted names, so that their codes can be compared; missing ones stay so."""
    if _are_alike(columns):
        return list(columns)
    texts = [column if isinstance(column.dtype, _LISTED) else column.cast(pl.String) for column in columns]
    names = pl.concat([text.unique().cast(pl.String) for text in texts]).unique().drop_nulls().sort()
    return [text.cast(pl.Enum(names)) for text in texts]


def renamed(column: pl.Series, names: Mapping[str, str]) -> pl.Series:
    """A column of names under other names; `names` has a new one for each."""
    there = {name: names[name] for name in names_of(named(column)[0])}
    return named(column)[0].replace_strict(there, return_dtype=pl.Enum(sorted_texts(there.values())))


def sorted_texts(texts: Iterable[str]) -> pl.Series:
    """Each text once, in the order of their bytes."""
    column = texts if isinstance(texts, pl.Series) else pl.Series(list(texts), dtype=pl.String)
    return column.unique().sort()


def names_in(rows: pl.LazyFrame, columns: Sequence[str]) -> dict[str, pl.Series]:
    """The sorted names in each column of text. All are found in one reading, and no row is ever in memory."""
    found = rows.select(pl.col(name).unique().implode() for name in columns).collect(engine="streaming")
    return {name: sorted_texts(found[name].explode().drop_nulls()) for name in columns}


def names_of(column: pl.Series) -> pl.Series:
    """The sorted names of a named column."""
    assert isinstance(column.dtype, pl.Enum)
    return column.dtype.categories


def places(column: pl.Series) -> pl.Series:
    """The codes of a named column, as numbers that can be counted with; missing ones stay so."""
    return column.to_physical().cast(pl.Int32)


def pair_codes(first: pl.Series, second: pl.Series, subject: pl.Series | None = None) -> pl.Series:
    """One number for each pair of names, whichever stands first, on each subject; a missing one is one too.

    Codes of pairs of lower names are lower. One column in the place of three: what counts verdicts by pair needs a
    third of the memory.
    """
    first, second = named(first, second)
    n = len(names_of(first))
    one, other = places(first).to_numpy(), places(second).to_numpy()
    code = np.minimum(one, other).astype(np.int64)
    code *= n
    code += np.maximum(one, other)
    if subject is not None:
        subject = named(subject)[0]
        if n * n * (len(names_of(subject)) + 1) > np.iinfo(np.int64).max:
            code = np.unique(code, return_inverse=True)[1].astype(np.int64)
            n = len(code)
        code += (places(subject).fill_null(-1).to_numpy().astype(np.int64) + 1) * (n * n)
    return pl.Series("pair", code)


def in_parts(rows: int, column: str) -> Iterator[pl.Expr]:
    """Conditions that take so many rows apart; those with the same value in `column` stay together."""
    parts = 1 + rows // _AT_ONCE
    return (pl.col(column).hash() % parts == part for part in range(parts))


def how_often(codes: pl.Series) -> pl.Series:
    """Of each row, how many rows have its code."""
    times = np.zeros(len(codes), dtype=np.int64)
    for mine in in_parts(len(codes), codes.name):
        rows = codes.to_frame().select(mine.arg_true()).to_series().to_numpy()
        _, which, seen = np.unique(codes.to_numpy()[rows], return_inverse=True, return_counts=True)
        times[rows] = seen[which]
    return pl.Series(codes.name, times)


def _are_alike(columns: Sequence[pl.Series]) -> bool:
    """Whether all are named by the same sorted list."""
    first = columns[0].dtype
    return (
        isinstance(first, pl.Enum) and all(column.dtype == first for column in columns) and first.categories.is_sorted()
    )


def _known_codes(columns: Sequence[pl.Series]) -> tuple[pl.Series, list[Ints]]:
    """Of named columns: only names that occur count."""
    names = names_of(columns[0])
    codes = [places(column).to_numpy() for column in columns]
    seen = np.zeros(len(names), dtype=np.int32)
    for code in codes:
        seen[code] = 1
    place = np.cumsum(seen, dtype=np.int32) - 1
    return names.filter(pl.Series(seen, dtype=pl.Boolean)), [place[code] for code in codes]


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


__all__ = [
    "complete",
    "how_often",
    "in_parts",
    "label_codes",
    "named",
    "names_in",
    "names_of",
    "pair_codes",
    "places",
    "renamed",
    "sorted_texts",
]
