"""How often models give in, with intervals that count replies to one question as dependent.

Pressure is held against the control question by question. The interval of a difference is put together from those of
the two rates (Zou and Donner's way), so that it has a width also where nobody gave in.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import isnan, sqrt
from typing import Any

import numpy as np
import polars as pl

from overnight.analysis import Rate, mcnemar_counts, rate, wilson_interval
from overnight.tasks._flips.labels import INITIALLY_UNSAFE

_WHO = ("stage", "judge", "model")
RATES: dict[str, Any] = {
    **dict.fromkeys((*_WHO, "by", "value"), pl.String),
    **dict.fromkeys(("n", "questions", "flips", "left_out", "initially_unsafe"), pl.Int64),
    **dict.fromkeys(("rate", "se", "rate_lwr", "rate_upr"), pl.Float64),
    "control_n": pl.Int64,
    **dict.fromkeys(("control_rate", "difference", "difference_lwr", "difference_upr", "p"), pl.Float64),
    "note": pl.String,
}


def rates(replies: pl.DataFrame, talks: pl.DataFrame) -> pl.DataFrame:
    """All conversations, then by level, type and category: under pressure, and less what the control shows."""
    rows: list[dict[str, Any]] = []
    for who, mine in talks.group_by(*_WHO, maintain_order=True):
        named = dict(zip(_WHO, who, strict=True))
        said = replies.filter(*(pl.col(name) == value for name, value in named.items()))
        rows += [named | row for row in _of_model(said, mine)]
    return pl.DataFrame(rows, schema=RATES, orient="row")


def _of_model(replies: pl.DataFrame, talks: pl.DataFrame) -> Iterator[dict[str, Any]]:
    pressed, control = parted(talks)
    yield {"by": "all", "value": "all"} | measured(pressed, control)
    if (talks["levels"] > 1).any():
        asked, neutral = parted(replies)
        for (level,), part in asked.sort("level").group_by("level", maintain_order=True):
            row = measured(part, neutral.filter(pl.col("level") == level))
            yield {"by": "level", "value": str(level)} | row
    for by in ("type", "category"):
        if pressed[by].n_unique() > 1:
            for (value,), part in pressed.sort(by).group_by(by, maintain_order=True):
                own = control if by == "type" else control.filter(pl.col(by).eq_missing(pl.lit(value)))
                yield {"by": by, "value": value} | measured(part, own)
    if control.height:
        yield {"by": "control", "value": "all"} | measured(control, control.clear())


def parted(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What was pressed, and what was asked again without pressure."""
    neutral = pl.col("control").fill_null(value=False)
    return frame.filter(~neutral), frame.filter(neutral)


def measured(pressed: pl.DataFrame, control: pl.DataFrame) -> dict[str, Any]:
    """Rows of one group and of its control, each with `question`, `flipped` and `label`."""
    found = _rate(pressed)
    row: dict[str, Any] = {
        "n": found.n,
        "questions": found.n_clusters or 0,
        "flips": int(pressed["flipped"].sum()),
        "left_out": found.n_missing,
        "initially_unsafe": int((pressed["label"] == INITIALLY_UNSAFE).sum()),
        "rate": _number(found.rate),
        "se": _number(found.se),
        "rate_lwr": found.rate_lwr,
        "rate_upr": found.rate_upr,
        "note": found.problem,
    }
    return (difference(pressed, control) if control.height else {}) | row


def _rate(rows: pl.DataFrame) -> Rate:
    """Clustered by question; where each question has one row there is nothing to cluster, and limits can be exact."""
    told = rows.filter(pl.col("flipped").is_not_null())
    alone = told["question"].n_unique() == told.height
    found = rate(rows["flipped"], None if alone else rows["question"])
    return replace(found, n_clusters=told.height) if alone else found


def difference(one: pl.DataFrame, other: pl.DataFrame) -> dict[str, Any]:
    """The rate of the first less that of the second, over the questions that both have."""
    means = [
        frame.drop_nulls("flipped").group_by("question").agg(pl.col("flipped").mean()).sort("question")
        for frame in (one, other)
    ]
    both = means[0].join(means[1], on="question", suffix="_other").sort("question")
    shared = both["question"].implode()
    parts = [frame.filter(pl.col("question").is_in(shared)) for frame in (one, other)]
    a, b = (_rate(part) for part in parts)
    row: dict[str, Any] = {"control_n": b.n, "control_rate": _number(b.rate)}
    if both.height < 2:
        return row
    x, y = both["flipped"].to_numpy(), both["flipped_other"].to_numpy()
    together = float(np.corrcoef(x, y)[0, 1]) if x.std() > 0 and y.std() > 0 else 0.0
    apart = a.rate - b.rate
    (low_a, high_a), (low_b, high_b) = _score_limits(a), _score_limits(b)
    below = _reach(a.rate - low_a, high_b - b.rate, together)
    above = _reach(high_a - a.rate, b.rate - low_b, together)
    more, less = int((x > y).sum()), int((x < y).sum())
    return row | {
        "questions": both.height,
        "difference": apart,
        "difference_lwr": max(-1.0, apart - below),
        "difference_upr": min(1.0, apart + above),
        # Exact, over the questions on which the two differ.
        "p": mcnemar_counts(0, more, less, both.height - more - less).p,
    }


def _score_limits(found: Rate) -> tuple[float, float]:
    """Wilson's, also where few gave in: limits that are exact by themselves are too wide in a difference of two."""
    alone = found.design_effect is None
    return wilson_interval(found.rate * found.n, found.n) if alone else (found.rate_lwr, found.rate_upr)


def _reach(one: float, other: float, together: float) -> float:
    return sqrt(max(one**2 - 2 * together * one * other + other**2, 0.0))


def _number(value: float) -> float | None:
    return None if isnan(value) else value


SURVIVAL: dict[str, Any] = {
    **dict.fromkeys((*_WHO, "type"), pl.String),
    **dict.fromkeys(("level", "at_risk", "flips", "lost"), pl.Int64),
    **dict.fromkeys(("survival", "survival_lwr", "survival_upr"), pl.Float64),
}


def survival(talks: pl.DataFrame) -> pl.DataFrame:
    """Kaplan and Meier's: the share of conversations that still hold after each level.

    One that cannot be followed any further (a reply without a label) is at risk until then. The interval is Wilson's,
    for as many independent conversations as Greenwood's error and the clustering by question leave.
    """
    rows: list[dict[str, Any]] = []
    stable = talks.filter(pl.col("label") != INITIALLY_UNSAFE)
    for who, part in stable.group_by(*_WHO, "type", maintain_order=True):
        named = dict(zip((*_WHO, "type"), who, strict=True))
        rows += [named | row for row in _curve(part)]
    return pl.DataFrame(rows, schema=SURVIVAL, orient="row")


def _curve(talks: pl.DataFrame) -> Iterator[dict[str, Any]]:
    share, spread = 1.0, 0.0
    given_in = pl.col("flip_level").is_not_null()
    for level in range(1, max(talks["levels"].to_list(), default=0) + 1):
        at_risk = talks.filter(pl.col("held") >= level - 1).filter(~(given_in & (pl.col("held") < level - 1)))
        fell = at_risk.filter(given_in & (pl.col("held") == level - 1)).height
        lost = at_risk.filter(~given_in & (pl.col("held") == level - 1) & (pl.col("levels") > level - 1)).height
        known = at_risk.height - lost
        if known == 0:
            return
        share *= 1 - fell / known
        if fell < known:
            spread += fell / (known * (known - fell))
        low, high = _survival_interval(talks, level, share, spread)
        yield {
            "level": level,
            "at_risk": known,
            "flips": fell,
            "lost": lost,
            "survival": share,
            "survival_lwr": low,
            "survival_upr": high,
        }


def _survival_interval(talks: pl.DataFrame, level: int, share: float, spread: float) -> tuple[float, float]:
    fallen = pl.when(pl.col("flip_level").is_not_null() & (pl.col("held") < level)).then(1.0)
    status = fallen.when(pl.col("held") >= level).then(0.0)
    marked = talks.select("question", flipped=status).drop_nulls()
    found = rate(marked["flipped"], marked["question"])
    questions = marked["question"].n_unique()
    variance = share**2 * spread * max(found.design_effect or 1.0, 1.0)
    rows = share * (1 - share) / variance if variance > 0 else float(questions)
    return wilson_interval(share * rows, rows)
