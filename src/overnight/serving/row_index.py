"""What rows are chosen by, of every row of a table, in a few bytes each; texts stay in the table.

A million rows take 13 MB. A page of rows, wherever they lie, is read from the table when it is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

# So many rows are read at once: few enough that long texts take little memory.
CHUNK = 10_000
Order = Literal["table", "longest", "shortest", "dearest"]
ORDERS: tuple[Order, ...] = get_args(Order)
# Answered, but not to be read: counted apart, as in the report.
UNPARSED = "unparsed"

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which rows are wanted; what is not given chooses all."""

    stage: str = ""
    arm: str = ""
    status: str = ""
    cause: str = ""
    least_cost: float | None = None
    most_cost: float | None = None
    least_length: int | None = None
    most_length: int | None = None
    order: Order = "table"

    @property
    def chooses(self) -> bool:
        return self != Choice()


@dataclass(frozen=True, kw_only=True)
class RowIndex:
    """Codes stand for the words in the lists; a cost or a length that is not known is less than nought."""

    places: Sequence[tuple[str, str]]
    statuses: Sequence[str]
    causes: Sequence[str]
    place: npt.NDArray[np.uint16]
    status: npt.NDArray[np.uint8]
    cause: npt.NDArray[np.uint8]
    cost: npt.NDArray[np.float32]
    length: npt.NDArray[np.int32]
    _orders: dict[str, Numbers] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.place)

    def span(self, stage: str, arm: str) -> tuple[int, int]:
        """Where the rows of an arm begin, and how many there are: in a table they follow each other."""
        if (stage, arm) not in self.places:
            return 0, 0
        rows = np.flatnonzero(self.place == self.places.index((stage, arm)))
        return int(rows[0]), len(rows)

    def chosen(self, choice: Choice, among: Numbers | None = None) -> Numbers:
        """The numbers of the rows that are wanted, in the order that is wanted."""
        wanted = np.ones(self.count, np.bool_)
        if among is not None:
            wanted[:] = False
            wanted[among] = True
        if choice.stage or choice.arm:
            fits = [
                code
                for code, (stage, arm) in enumerate(self.places)
                if choice.stage in ("", stage) and choice.arm in ("", arm)
            ]
            wanted &= np.isin(self.place, fits)
        for word, words, codes in (
            (choice.status, self.statuses, self.status),
            (choice.cause, self.causes, self.cause),
        ):
            if word:
                wanted &= codes == words.index(word) if word in words else False
        for least, most, values in (
            (choice.least_cost, choice.most_cost, self.cost),
            (choice.least_length, choice.most_length, self.length),
        ):
            if least is not None:
                wanted &= values >= least
            if most is not None:
                wanted &= (values <= most) & (values >= 0)
        if choice.order == "table":
            return np.flatnonzero(wanted)
        order = self._order(choice.order)
        return order[wanted[order]]

    def _order(self, order: Order) -> Numbers:
        """Sorted once; rows alike stay in the order of the table."""
        if order not in self._orders:
            if order == "dearest":
                keys: npt.NDArray[Any] = -self.cost
            else:
                keys = -self.length if order == "longest" else np.where(self.length < 0, 2**31 - 1, self.length)
            self._orders[order] = np.argsort(keys, kind="stable").astype(np.int32)
        return self._orders[order]


def index_of(table: Path) -> RowIndex:
    """One reading of the columns that rows are chosen by."""
    scan = pl.scan_parquet(table, glob=False)
    schema = scan.collect_schema()
    count = int(scan.select(pl.len()).collect().item())
    word = pl.col("status").fill_null("")
    if "parsed" in schema:
        unread = (pl.col("parsed") == False).fill_null(value=False)  # noqa: E712
        word = pl.when((word == "answered") & unread).then(pl.lit(UNPARSED)).otherwise(word)
    places: list[tuple[str, str]] = []
    statuses: list[str] = []
    causes: list[str] = []
    index = RowIndex(
        places=places, statuses=statuses, causes=causes,
        place=np.zeros(count, np.uint16), status=np.zeros(count, np.uint8), cause=np.zeros(count, np.uint8),
        cost=np.zeros(count, np.float32), length=np.zeros(count, np.int32),
    )  # fmt: skip
    for begin in range(0, count, CHUNK):
        some = scan.slice(begin, CHUNK).select(
            pl.col("stage", "arm").fill_null(""),  # our tables have them always; a stranger's may not
            word.alias("status"),
            pl.col("cause").fill_null(""),
            pl.col("cost").cast(pl.Float32).fill_null(-1.0),
            pl.col("answer").str.len_chars().cast(pl.Int32).fill_null(-1).alias("length"),
        )
        frame = some.collect()
        part = slice(begin, begin + frame.height)
        index.place[part] = _coded(frame.select(pl.struct("stage", "arm")).to_series(), places)
        index.status[part] = _coded(frame["status"], statuses)
        index.cause[part] = _coded(frame["cause"], causes)
        index.cost[part] = frame["cost"].to_numpy()
        index.length[part] = frame["length"].to_numpy()
    return index


def _coded(column: pl.Series, words: list[Any]) -> npt.NDArray[Any]:
    """Each value by its place among the words, to which new ones are added."""
    rows = column.to_frame("value").with_row_index("rows")
    groups = rows.group_by("value", maintain_order=True).agg("rows")
    found = np.zeros(len(column), np.uint16)
    for value, places in groups.iter_rows():
        word = tuple(value.values()) if isinstance(value, dict) else value
        if word not in words:
            words.append(word)
        found[places] = words.index(word)
    return found


def rows_at(table: Path, numbers: Sequence[int], columns: Sequence[str]) -> pl.DataFrame:
    """These rows of a table, in this order."""
    scan = pl.scan_parquet(table, glob=False)
    if not len(numbers):
        return scan.select(columns).head(0).collect()
    first, last = int(numbers[0]), int(numbers[-1])
    if list(numbers) == list(range(first, last + 1)):
        return scan.slice(first, len(numbers)).select(columns).collect()
    # Cut before the columns are chosen: the other way round, each cut costs seven times as much.
    return pl.concat(pl.collect_all([scan.slice(int(number), 1).select(columns) for number in numbers]))
