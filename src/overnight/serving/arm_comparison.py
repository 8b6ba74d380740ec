"""Two arms of a stage on the items that both have: what both, one or none of them did, and the paired difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from overnight.analysis.paired import McNemar, PairedDifference, mcnemar, paired_difference
from overnight.core.errors import UnknownName, nearest
from overnight.serving.item_records import ARM_PARTS, SAID
from overnight.serving.row_index import RowIndex
from overnight.tables.results import COLUMNS

# A column of words can be compared by each of its words, where there are not more of them than this.
_MOST_WORDS = 12
_LONGEST_WORD = 40
# Columns of every task that are numbers worth comparing.
_NUMBERS = ("cost", "input_tokens", "output_tokens", "reasoning_tokens")
# Whether an answer could be read comes after what was read in it.
_LAST = ("parsed",)

Cell = Literal["both", "only_a", "only_b", "neither"]
CELLS: tuple[Cell, ...] = ("both", "only_a", "only_b", "neither")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What is compared: a column of numbers, or whether a column says one thing. `words` names it to people."""

    name: str
    words: str
    column: str
    value: str | None = None

    @property
    def is_yes_or_no(self) -> bool:
        return self.value is not None


class ItemOrder(NamedTuple):
    """Which items the rows of an arm are about, in their order, and whether each of them has one row only."""

    mark: bytes
    once: bool


@dataclass(frozen=True, kw_only=True)
class ArmRows:
    """The rows of one arm. What never changes about them is found out once, whatever they are compared by."""

    rows: pl.LazyFrame
    # Of each answer, in characters; less than nought where there is none.
    lengths: npt.NDArray[np.int32]

    @cached_property
    def order(self) -> ItemOrder:
        items = self.items()
        mark = blake2b(items.hash().to_numpy().tobytes(), digest_size=16).digest()
        return ItemOrder(mark, once=items.n_unique() == len(items))

    def items(self) -> pl.Series:
        return self.rows.select("item_id").collect().to_series()

    @cached_property
    def schema(self) -> Mapping[str, pl.DataType]:
        return self.rows.collect_schema()

    @cached_property
    def own(self) -> list[str]:
        """The task's own columns, in the order in which they are offered."""
        names = [name for name in self.schema if name not in COLUMNS and name not in ARM_PARTS]
        return sorted((name for name in names if not name.endswith("_id")), key=_standing)

    @cached_property
    def said(self) -> dict[str, Any]:
        """The words of each column of texts, up to one more than are offered; of others, whether they say anything."""
        texts = [name for name in (*self.own, "status") if self.schema[name] == pl.String]
        words = [pl.col(name).drop_nulls().unique().head(_MOST_WORDS + 1).implode() for name in texts]
        others = [pl.col(name).is_not_null().any() for name in self.own if name not in texts]
        return self.rows.select(*words, *others).collect().to_dicts()[0]

    def values(self, measure: Measure) -> pl.Series:
        """A number for each row; null where it says nothing."""
        if measure.column == "length":
            return pl.Series("value", np.where(self.lengths < 0, np.nan, self.lengths)).fill_nan(None)
        value = pl.col(measure.column)
        if measure.value not in (None, "true"):
            value = pl.when(pl.col("status") != "pending").then(value == measure.value)
        return self.rows.select(value=value.cast(pl.Float64)).collect().to_series()


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`counts` are there for yes and no that each arm has said once of each item; else the numbers are means."""

    measure: Measure
    paired: PairedDifference
    counts: McNemar | None
    _a: ArmRows
    _values: pl.DataFrame

    @cached_property
    def items(self) -> pl.DataFrame:
        """Item by item: `a` and `b`, with null for what is missing."""
        known = "item_id" in self._values.columns
        return self._values if known else self._values.insert_column(0, self._a.items().alias("item_id"))


def rows_of_arm(table: Path, index: RowIndex, stage: str, arm: str) -> ArmRows:
    """An arm's rows, found by where they lie: nobody looks at those of the others."""
    begin, count = index.span(stage, arm)
    rows = pl.scan_parquet(table, glob=False).slice(begin, count)
    return ArmRows(rows=rows, lengths=index.length[begin : begin + count])


def measures_of(arms: Sequence[ArmRows]) -> list[Measure]:
    """What these arms can be compared by, the task's own columns first."""
    schema, own = arms[0].schema, arms[0].own
    texts = [name for name in (*own, "status") if schema[name] == pl.String]
    words = {name: sorted({word for arm in arms for word in arm.said[name]}) for name in texts}
    used = {name for name in own if words.get(name) or (name not in texts and any(arm.said[name] for arm in arms))}
    measures = [_of_column(name, schema[name], words.get(name, [])) for name in own if name in used]
    measures.append(_of_words("status", words["status"]))
    measures.append([Measure(name="length", words="characters of the answer", column="length")])
    measures += [[Measure(name=name, words=name.replace("_", " "), column=name)] for name in _NUMBERS]
    return [measure for some in measures for measure in some]


def _standing(name: str) -> int:
    """What was read in the answers comes first, then what is known of the items."""
    return SAID.index(name) if name in SAID else len(SAID) + (name in _LAST)


def _of_column(name: str, kind: pl.DataType, words: Sequence[str]) -> list[Measure]:
    if kind == pl.Boolean:
        return [Measure(name=name, words=name.replace("_", " "), column=name, value="true")]
    if kind.is_numeric():
        return [Measure(name=name, words=name.replace("_", " "), column=name)]
    return _of_words(name, words)


def _of_words(name: str, words: Sequence[str]) -> list[Measure]:
    if len(words) > _MOST_WORDS or any(len(word) > _LONGEST_WORD for word in words):
        return []
    plain = name.replace("_", " ")
    return [Measure(name=f"{name}={word}", words=f"{plain} is {word}", column=name, value=word) for word in words]


def chosen_measure(measures: Sequence[Measure], name: str) -> Measure:
    """By its name; the first where none is named."""
    known = {measure.name: measure for measure in measures}
    if name and name not in known:
        raise UnknownName(f"these arms cannot be compared by {name!r}{nearest(name, known)}")
    return known[name] if name else measures[0]


def compare_arms(a: ArmRows, b: ArmRows, measure: Measure) -> Comparison:
    """Rows that failed, and answers that could not be read, say nothing, unless the status itself is compared."""
    once = a.order.once and b.order.once
    if once and a.order.mark == b.order.mark:  # as nearly always: rows of an arm are in the order of the items
        values = pl.DataFrame({"a": a.values(measure), "b": b.values(measure)})
    else:
        one, other = (_by_item(arm, measure, name) for arm, name in ((a, "a"), (b, "b")))
        values = one.join(other, on="item_id", how="full", coalesce=True).sort("item_id")
    counts = mcnemar(values["a"], values["b"]) if measure.is_yes_or_no and once else None
    paired = paired_difference(values["a"], values["b"])
    return Comparison(measure=measure, paired=paired, counts=counts, _a=a, _values=values)


def _by_item(arm: ArmRows, measure: Measure, name: str) -> pl.DataFrame:
    """One value for each item: the mean of its rows that say something."""
    said = pl.DataFrame({"item_id": arm.items(), name: arm.values(measure)})
    return said if arm.order.once else said.group_by("item_id").agg(pl.col(name).mean())


def items_in(comparison: Comparison, cell: str) -> list[str]:
    """The items of one of the four cells, by name; of numbers, those on which the two differ most."""
    items = comparison.items
    if cell in CELLS:
        a, b = {"both": (1, 1), "only_a": (1, 0), "only_b": (0, 1), "neither": (0, 0)}[cell]
        return items.filter((pl.col("a") == a) & (pl.col("b") == b))["item_id"].to_list()
    if cell == "missing":
        return items.filter(pl.col("a").is_null() | pl.col("b").is_null())["item_id"].to_list()
    apart = (pl.col("a") - pl.col("b")).abs()
    return items.drop_nulls().filter(apart > 0).sort(apart, "item_id", descending=[True, False])["item_id"].to_list()
