"""Do judges of pairs choose the same winner? Beyond chance, for each two of them and for all together.

Which of two items comes first in a table means nothing, so that chance is a toss between the two: a coefficient that
took the winner's id, or its place, for a label would change with the names of the items. Judges that may call a tie
are expected to do so as often as they did. Nothing is settled by majority beforehand: a judge that changes its mind
with the order agrees with others half of the time.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, Ints, summed
from overnight.rank.columns import readable
from overnight.rank.labels import named, names_of, places
from overnight.rank.shares import quantile
from overnight.rank.verdicts import as_frame, require_columns

EVERYBODY: Final = "all"
_SUBJECT: Final = "subject"
# What can be said of a pair: its lower item won, its higher one, or neither.
_WORDS: Final = 3
_TIE: Final = 2
# With fewer pairs, or fewer that judges differed on, intervals hold the truth less often than they say.
_FEW_PAIRS: Final = 50
_FEW: Final = 5
_SCHEMA: Final[dict[str, type[pl.DataType]]] = {
    "judge_a": pl.String,
    "judge_b": pl.String,
    "n_judges": pl.Int64,
    "n_pairs": pl.Int64,
    "n_left_out": pl.Int64,
    "observed": pl.Float64,
    "expected": pl.Float64,
    "kappa": pl.Float64,
    "se": pl.Float64,
    "kappa_lwr": pl.Float64,
    "kappa_upr": pl.Float64,
    "note": pl.String,
}


class _Votes(NamedTuple):
    """By pair and judge: the share of its votes for each word, 0 where it has none; and which pairs go together."""

    judges: list[str]
    shares: Floats
    voted: Floats
    cluster: Ints


@readable
def verdict_agreement(verdicts: Any, judge: str = "judge", level: float = 0.95) -> pl.DataFrame:
    """One row for all judges together (`judge_a` is "all") and one for each two of them.

    `verdicts` is a run's table of verdicts, or a run; `judge` names the column that tells judges apart. `observed` is
    the chance that one vote of each on the same pair says the same, `expected` what tosses would give, `kappa` what is
    beyond that: one for judges that always agree, nought for chance. The error is a jackknife over pairs, or over what
    they were compared on where there is a column `subject`, with Student's quantile. Verdicts that could not be read
    do not count; `n_left_out` are the pairs that fewer than two of the judges have a readable verdict on.
    """
    quantile(level)
    frame = as_frame(verdicts.verdicts() if callable(getattr(verdicts, "verdicts", None)) else verdicts)
    require_columns(frame, ["first_id", "second_id", "verdict", judge])
    rows = [] if frame.is_empty() else list(_rows(_read(frame, judge), level))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


def _read(frame: pl.DataFrame, judge: str) -> _Votes:
    if frame[judge].null_count():
        raise WrongArgument(f"column '{judge}' has {frame[judge].null_count()} rows without a judge")
    first, second = (places(side) for side in named(frame["first_id"], frame["second_id"]))
    who = named(frame[judge])[0]
    subject = frame[_SUBJECT] if _SUBJECT in frame.columns else pl.Series([None] * frame.height, dtype=pl.String)
    shown = pl.DataFrame(
        {"first": first, "second": second, "judge": places(who), "verdict": frame["verdict"]}
        | {_SUBJECT: places(named(subject)[0])}
    ).select(
        *("judge", "verdict", _SUBJECT, "first"),
        low=pl.min_horizontal("first", "second"),
        high=pl.max_horizontal("first", "second"),
    )
    shown = shown.drop_nulls(["low", "high"])
    first_won, low_first = pl.col("verdict") == "first", pl.col("first") == pl.col("low")
    word = pl.when(pl.col("verdict") == "tie").then(_TIE).when(first_won == low_first).then(0).otherwise(1)
    # In the order of their names: the same verdicts give the same bytes, however they came.
    shown = shown.with_columns(
        word=pl.when(pl.col("verdict").is_in(["first", "second", "tie"])).then(word),
        pair=pl.struct(_SUBJECT, "low", "high").rank("dense") - 1,
        cluster=(pl.struct(_SUBJECT) if shown[_SUBJECT].count() else pl.struct(_SUBJECT, "low", "high")).rank("dense"),
    ).sort("pair")
    seen = shown["judge"].unique().sort()
    judges = names_of(who).gather(seen).to_list()
    n_pairs = shown["pair"].n_unique()
    cluster = shown.group_by("pair", maintain_order=True).agg(pl.col("cluster").first())["cluster"]
    counts = np.zeros((n_pairs, len(judges), _WORDS))
    read = shown.drop_nulls("word")
    whose = np.searchsorted(seen.to_numpy(), read["judge"].to_numpy())
    np.add.at(counts, (read["pair"].to_numpy(), whose, read["word"].to_numpy()), 1)
    total = counts.sum(axis=2)
    shares = np.divide(counts, total[:, :, None], out=np.zeros_like(counts), where=total[:, :, None] > 0)
    return _Votes(judges, shares, (total > 0).astype(np.float64), cluster.to_numpy().astype(np.int64) - 1)


def _rows(votes: _Votes, level: float) -> Iterator[tuple[Any, ...]]:
    if len(votes.judges) < 2:
        return
    everyone = list(range(len(votes.judges)))
    yield (EVERYBODY, None, len(everyone), *_agreement(votes, everyone, level))
    for one, other in combinations(everyone, 2):
        yield (votes.judges[one], votes.judges[other], 2, *_agreement(votes, [one, other], level))


def _agreement(votes: _Votes, who: list[int], level: float) -> tuple[Any, ...]:
    """From `n_pairs` on."""
    shares, voted = votes.shares[:, who], votes.voted[:, who]
    met = voted.sum(axis=1) >= 2
    n, left_out = int(met.sum()), int((~met).sum())
    if n == 0:
        return 0, left_out, None, None, None, None, None, None, "no pair has a readable verdict of both"
    shares, voted = shares[met], voted[met]
    judges = voted.sum(axis=1)
    together = shares.sum(axis=1)
    same = ((together**2).sum(axis=1) - (shares**2).sum(axis=(1, 2))) / (judges * (judges - 1))
    cluster = np.unique(votes.cluster[met], return_inverse=True)[1]
    sums = [summed(cluster, values, int(cluster.max()) + 1) for values in (np.ones(n), same, judges, together[:, _TIE])]
    observed, expected, kappa = (float(value[0]) for value in _kappa(*(part.sum(keepdims=True) for part in sums)))
    if np.isnan(kappa):
        return n, left_out, observed, expected, None, None, None, None, "all verdicts are ties"
    without = _kappa(*(part.sum() - part for part in sums))[2]
    n_clusters = len(without)
    differed = int((same < 1).sum())
    notes = _notes(n, n_clusters, differed)
    if n_clusters < 3 or np.isnan(without).any():
        return n, left_out, observed, expected, kappa, None, None, None, notes
    error = float(np.sqrt((n_clusters - 1) / n_clusters * ((without - without.mean()) ** 2).sum()))
    reach = quantile(level, n_clusters) * error
    return n, left_out, observed, expected, kappa, error, max(-1.0, kappa - reach), min(1.0, kappa + reach), notes


def _kappa(pairs: Floats, same: Floats, judges: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
    """Observed agreement, that of tosses, and what is beyond; of sums over pairs."""
    with np.errstate(divide="ignore", invalid="ignore"):
        observed, tied = same / pairs, ties / judges
        expected = (1 - tied) ** 2 / 2 + tied**2
        return observed, expected, np.where(expected < 1, (observed - expected) / (1 - expected), np.nan)


def _notes(n: int, n_clusters: int, differed: int) -> str | None:
    rarer = min(differed, n - differed)
    if n_clusters < _FEW_PAIRS:
        return f"only {n_clusters} {'pairs' if n_clusters == n else 'subjects'}: the interval may be too narrow"
    if rarer < _FEW:
        kind = "differed" if differed == rarer else "agreed"
        return f"the judges {kind} on only {rarer} of {n} pairs: the interval may be too narrow"
    return None


__all__ = ["EVERYBODY", "verdict_agreement"]
