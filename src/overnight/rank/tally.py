"""From rows of verdicts to counts: equal comparisons are counted once.

The likelihood sees only how often each outcome was seen in each *cell*: a pair of items (in the order shown,
when the order matters), with its covariates if there are any.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from overnight.rank.arrays import Flags, Floats, Ints
from overnight.rank.columns import column_of
from overnight.rank.labels import complete, label_codes
from overnight.rank.verdicts import BadVerdicts, as_frame, numeric_column, require_columns

OUTCOMES: Final = 3  # codes: 0 the second won, 1 a tie, 2 the first won
_MOST_BINS: Final = 15_000_000  # counting into bins is faster than sorting, but not when the bins fill the memory
# Rows of whole clusters that are looked at together: what is made of a row takes some 250 bytes. With many items the
# sum over a portion is large itself, and portions are worth its while.
_LEAST_PORTION: Final = 25_000
_MOST_PORTION: Final = 250_000
_PORTION_PER_ITEM: Final = 250
_CACHED: Final = 1 << 17  # rows whose arithmetic stays in the processor's cache
WEIGHT_COLUMNS: Final = ("count", "weight")


@dataclass(frozen=True, slots=True)
class Rows:
    """Comparisons as codes. `features` are the columns, beside the abilities, that move the odds of the first."""

    items: pl.Series
    first: Ints
    second: Ints
    outcome: Ints
    count: Floats | None
    features: Floats | None
    cluster: Ints | None
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class Cells:
    """Counted comparisons. `cluster` is there when no cell mixes clusters."""

    first: Ints
    second: Ints
    wins: Floats
    ties: Floats
    losses: Floats
    features: Floats
    cluster: Ints | None = None

    @property
    def total(self) -> Floats:
        return self.wins + self.ties + self.losses

    def portions(self) -> Iterator["Cells"]:
        """The same cells, a few at a time: large arrays are slow to go through again and again."""
        return map(self.picked, _portions(len(self.first)))

    def picked(self, which: slice | Ints | Flags) -> "Cells":
        return Cells(
            first=self.first[which],
            second=self.second[which],
            wins=self.wins[which],
            ties=self.ties[which],
            losses=self.losses[which],
            features=self.features[which],
            cluster=None if self.cluster is None else self.cluster[which],
        )

    def clustered_by(self, cluster: Ints) -> "Cells":
        return replace(self, cluster=cluster)

    def counted_as(self, worth: float) -> "Cells":
        """Each comparison as so much of one."""
        return replace(self, wins=self.wins * worth, ties=self.ties * worth, losses=self.losses * worth)


def read_rows(bt_data: Any, covariates: Sequence[str] = (), cluster: Any = None) -> Rows:
    """Codes for every usable row; rows without a result, and items compared with themselves, are left out."""
    frame = as_frame(bt_data)
    require_columns(frame, ["object1", "object2", "result"])
    outcome = _outcome_codes(numeric_column(frame, "result"))
    ids = [complete(frame.get_column(side), f"column {side!r}", "an id") for side in ("object1", "object2")]
    items, (first, second) = label_codes(*ids)
    rows = Rows(
        items=items.alias("ID"),
        first=first,
        second=second,
        outcome=outcome,
        count=_counts(frame),
        features=_covariates(frame, covariates),
        cluster=None if cluster is None else _cluster_codes(frame, cluster),
        left_out={},
    )
    return _usable(rows)


def _usable(rows: Rows) -> Rows:
    without_result, with_itself = rows.outcome < 0, rows.first == rows.second
    without_weight = np.zeros_like(with_itself) if rows.count is None else rows.count == 0
    reasons = {
        "had no result": without_result,
        "compared an item with itself": with_itself & ~without_result,
    }
    left_out = {reason: int(where.sum()) for reason, where in reasons.items() if where.any()}
    if left_out or without_weight.any():
        rows = _kept(rows, ~(without_result | with_itself | without_weight), left_out)
    if not len(rows.first):
        raise BadVerdicts("there is no comparison to rank: no row has two different objects and a result")
    return rows


def _kept(rows: Rows, keep: Flags, left_out: dict[str, int]) -> Rows:
    """The rows that count, with codes only for the items they mention."""
    kept = _picked(rows, np.flatnonzero(keep))
    mentioned = np.union1d(kept.first, kept.second)
    return replace(
        kept,
        items=rows.items[mentioned],
        first=np.searchsorted(mentioned, kept.first),
        second=np.searchsorted(mentioned, kept.second),
        left_out=left_out,
    )


def without_ties(rows: Rows) -> Rows:
    """Only the decided rows."""
    decided = rows.outcome != 1
    if not decided.any():
        raise BadVerdicts("there is no comparison to rank: every row is a tie, and ties are dropped")
    return rows if decided.all() else _kept(rows, decided, rows.left_out)


def scaled_features(rows: Rows, scales: Floats) -> Rows:
    """Covariates divided by their scales, so that no unit of measurement spoils the arithmetic."""
    return rows if rows.features is None else replace(rows, features=rows.features / scales)


def count_cells(rows: Rows, *, ordered: bool, by_cluster: bool = False) -> Cells:
    """Count equal comparisons. Unordered cells have the smaller code first; covariates keep rows apart."""
    if rows.features is not None:
        return row_cells(rows, position=ordered)
    n = len(rows.items)
    code = _cell_codes(rows, ordered=ordered, by_cluster=by_cluster)
    present, count = _count_codes(code, rows.count)
    pair = present // OUTCOMES
    starts = np.flatnonzero(np.diff(pair, prepend=-1))
    table = np.zeros((len(starts), OUTCOMES))
    which = np.cumsum(np.diff(pair, prepend=pair[:1]) != 0)
    table[which, present % OUTCOMES] = count
    pair = pair[starts]
    return Cells(
        first=pair // n % n,
        second=pair % n,
        losses=table[:, 0],
        ties=table[:, 1],
        wins=table[:, 2],
        features=np.ones((len(pair), int(ordered))),
        cluster=pair // (n * n) if by_cluster else None,
    )


def cluster_portions(rows: Rows) -> Iterator[Rows]:
    """The rows cluster by cluster, in portions that split no cluster."""
    assert rows.cluster is not None
    if np.any(rows.cluster[1:] < rows.cluster[:-1]):
        rows = _picked(rows, np.argsort(rows.cluster, kind="stable"))
    assert rows.cluster is not None
    starts = np.flatnonzero(np.diff(rows.cluster, prepend=-1))
    portion = min(max(_LEAST_PORTION, _PORTION_PER_ITEM * len(rows.items)), _MOST_PORTION)
    begun = 0
    while begun < len(rows.cluster):
        after = np.searchsorted(starts, begun + portion)
        ended = int(starts[after]) if after < len(starts) else len(rows.cluster)
        yield _picked(rows, slice(begun, ended))
        begun = ended


def _picked(rows: Rows, which: slice | Ints) -> Rows:
    return replace(
        rows,
        first=rows.first[which],
        second=rows.second[which],
        outcome=rows.outcome[which],
        count=None if rows.count is None else rows.count[which],
        features=None if rows.features is None else rows.features[which],
        cluster=None if rows.cluster is None else rows.cluster[which],
    )


def row_cells(rows: Rows, *, position: bool) -> Cells:
    """Every row as a cell of its own, with its cluster if it has one."""
    count = np.ones(len(rows.first)) if rows.count is None else rows.count
    features = np.zeros((len(count), 0)) if rows.features is None else rows.features
    return Cells(
        first=rows.first,
        second=rows.second,
        losses=count * (rows.outcome == 0),
        ties=count * (rows.outcome == 1),
        wins=count * (rows.outcome == 2),
        features=np.column_stack([np.ones(len(count)), features]) if position else features,
        cluster=rows.cluster,
    )


def _cell_codes(rows: Rows, *, ordered: bool, by_cluster: bool) -> Ints:
    """One number for each row's cluster, cell and outcome, as narrow as it can be where it will be sorted."""
    kinds = OUTCOMES * len(rows.items) ** 2
    if by_cluster and rows.cluster is not None:
        kinds *= int(rows.cluster.max()) + 1
    narrow = _MOST_BINS < kinds <= np.iinfo(np.int32).max
    code: Ints = np.empty(len(rows.first), dtype=np.int32 if narrow else np.int64)
    for portion in _portions(len(code)):
        code[portion] = _portion_codes(_picked(rows, portion), ordered=ordered, by_cluster=by_cluster)
    return code


def _portion_codes(rows: Rows, *, ordered: bool, by_cluster: bool) -> Ints:
    n = len(rows.items)
    first, second, outcome = (rows.first, rows.second, rows.outcome) if ordered else _folded(rows)
    code = first.astype(np.int64)
    code *= n
    code += second
    if by_cluster and rows.cluster is not None:
        code += rows.cluster.astype(np.int64) * (n * n)
    code *= OUTCOMES
    code += outcome
    return code


def _folded(rows: Rows) -> tuple[Ints, Ints, Ints]:
    turned = rows.first > rows.second
    outcome = np.where(turned, 2 - rows.outcome, rows.outcome)
    return np.minimum(rows.first, rows.second), np.maximum(rows.first, rows.second), outcome


def _portions(n_rows: int) -> Iterator[slice]:
    return (slice(start, start + _CACHED) for start in range(0, n_rows, _CACHED))


def _count_codes(code: Ints, weight: Floats | None) -> tuple[Ints, Floats]:
    """The codes that occur, in order, and how often (or with what total weight)."""
    bins = int(code.max()) + 1
    if bins <= _MOST_BINS:
        seen = np.bincount(code, minlength=bins)
        present = np.flatnonzero(seen)
        totals = seen if weight is None else np.bincount(code, weights=weight, minlength=bins)
        return present, totals[present].astype(np.float64)
    if weight is None:
        code.sort()
        starts = np.flatnonzero(np.diff(code, prepend=-1))
        return code[starts], np.diff(starts, append=len(code)).astype(np.float64)
    order = np.argsort(code, kind="stable")
    ordered = code[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    return ordered[starts], np.add.reduceat(weight[order], starts)


def _outcome_codes(result: pl.Series) -> Ints:
    """0, 1 or 2 as above, and -1 where there is no result."""
    code = np.empty(len(result), dtype=np.int8)
    for portion in _portions(len(code)):
        code[portion] = _portion_outcomes(result[portion].to_numpy())
    return code


def _portion_outcomes(result: Floats) -> Ints:
    doubled = result + result
    with np.errstate(invalid="ignore"):
        code = doubled.astype(np.int8)
    known = (code == doubled) & (code >= 0) & (code <= 2)
    if known.all():
        return code
    missing = np.isnan(doubled)
    wrong = ~(known | missing)
    if wrong.any():
        offender = result[wrong.argmax()]
        raise BadVerdicts(f"column 'result' must hold 1, 0, 0.5 or nothing; found {offender:g}")
    return np.where(missing, -1, code).astype(np.int8)


def _counts(frame: pl.DataFrame) -> Floats | None:
    names = [name for name in WEIGHT_COLUMNS if name in frame.columns]
    if not names:
        return None
    if len(names) > 1:
        raise BadVerdicts("there are both a column 'count' and a column 'weight'; rename or drop one of them")
    count = numeric_column(frame, names[0]).to_numpy()
    if not (np.isfinite(count).all() and (count >= 0).all()):
        raise BadVerdicts(f"column {names[0]!r} must hold counts of zero or more in every row")
    return count


def _covariates(frame: pl.DataFrame, names: Sequence[str]) -> Floats | None:
    if not names:
        return None
    columns = [numeric_column(frame, name).to_numpy() for name in names]
    for name, column in zip(names, columns, strict=True):
        if not np.isfinite(column).all():
            raise BadVerdicts(f"covariate {name!r} has rows without a finite number")
    return np.column_stack(columns)


def _cluster_codes(frame: pl.DataFrame, cluster: Any) -> Ints:
    if isinstance(cluster, str):
        require_columns(frame, [cluster])
        labels = frame.get_column(cluster)
    else:
        labels = column_of(cluster, "cluster")
    if len(labels) != frame.height:
        raise BadVerdicts(f"cluster has {len(labels)} labels for {frame.height} rows")
    return label_codes(complete(labels, f"cluster {labels.name!r}", "a label"))[1][0]


__all__ = [
    "WEIGHT_COLUMNS",
    "Cells",
    "Rows",
    "cluster_portions",
    "count_cells",
    "read_rows",
    "row_cells",
    "scaled_features",
    "without_ties",
]
