"""Two arms of a stage on the items that both have: what both, one or none of them did, and the paired difference."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from overnight.analysis.paired import McNemar, PairedDifference, mcnemar, paired_difference
from overnight.core.errors import UnknownName, nearest
from overnight.serving.item_records import ARM_PARTS
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


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """`counts` are there for yes and no that each arm has said once of each item; else the numbers are means."""

    measure: Measure
    paired: PairedDifference
    counts: McNemar | None
    # Item by item: `a` and `b`, with null for what is missing.
    items: pl.DataFrame


def rows_of_arm(table: Path, index: RowIndex, stage: str, arm: str) -> pl.LazyFrame:
    """An arm's rows, found by where they lie: nobody looks at those of the others."""
    begin, count = index.span(stage, arm)
    return pl.scan_parquet(table, glob=False).slice(begin, count)


def measures_of(rows: Sequence[pl.LazyFrame]) -> list[Measure]:
    """What these arms can be compared by, the task's own columns first."""
    schema = rows[0].collect_schema()
    own = [name for name in schema if name not in COLUMNS and name not in ARM_PARTS and not name.endswith("_id")]
    own.sort(key=lambda name: name in _LAST)
    texts = [name for name in (*own, "status") if schema[name] == pl.String]
    said = [pl.col(name).drop_nulls().unique().head(_MOST_WORDS + 1).implode() for name in texts]
    others = [pl.col(name).is_not_null().any() for name in own if name not in texts]
    found = [one.to_dicts()[0] for one in pl.collect_all([arm.select(*said, *others) for arm in rows])]
    words = {name: sorted({word for one in found for word in one[name]}) for name in texts}
    used = {name for name in own if words.get(name) or (name not in texts and any(one[name] for one in found))}
    measures = [_of_column(name, schema[name], words.get(name, [])) for name in own if name in used]
    measures.append(_of_words("status", words["status"]))
    measures.append([Measure(name="length", words="characters of the answer", column="length")])
    measures += [[Measure(name=name, words=name.replace("_", " "), column=name)] for name in _NUMBERS]
    return [measure for some in measures for measure in some]


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


def compare_arms(a: pl.LazyFrame, b: pl.LazyFrame, measure: Measure) -> Comparison:
    """Rows that failed, and answers that could not be read, say nothing, unless the status itself is compared."""
    (one, once_a), (other, once_b) = (_said(rows, measure) for rows in (a, b))
    a_said, b_said = one.rename({"value": "a"}), other.rename({"value": "b"})
    if one["item_id"].equals(other["item_id"]):  # as nearly always: rows of an arm are in the order of the items
        items = a_said.with_columns(b_said["b"])
    else:
        items = a_said.join(b_said, on="item_id", how="full", coalesce=True).sort("item_id")
    counts = mcnemar(items["a"], items["b"]) if measure.is_yes_or_no and once_a and once_b else None
    return Comparison(measure=measure, paired=paired_difference(items["a"], items["b"]), counts=counts, items=items)


def _said(rows: pl.LazyFrame, measure: Measure) -> tuple[pl.DataFrame, bool]:
    """One value for each item, the mean of its rows that say something; and whether each has one row only."""
    value = pl.col("answer").str.len_chars() if measure.column == "length" else pl.col(measure.column)
    if measure.value not in (None, "true"):
        value = pl.when(pl.col("status") != "pending").then(value == measure.value)
    said = rows.select("item_id", value=value.cast(pl.Float64)).collect()
    if said["item_id"].n_unique() == said.height:
        return said, True
    return said.group_by("item_id").agg(pl.col("value").mean()), False


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
