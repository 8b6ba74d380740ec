"""Judges under test: do they hold to a verdict in the other order, does the place sway them, do they agree?

Three tables, `consistency`, `bias` and `agreement`, by arms without their direction: the two directions are one judge.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl

from overnight.analysis import rate, verdict_agreement
from overnight.analysis.consistency import OrderCounts, count_orders, positional_bias
from overnight.core.ask import Arm
from overnight.tasks._pairs.verdicts import WORDS

_WHO = ("stage", "arm", "judge", "template", "thinking")
_DRAWS = 1_000
_ONE_ORDER = "asked in one order only; `pairs: {reverse: 1.0}` asks both"
_NOTHING_DECIDED = "no pair has a winner in both orders"

Columns = dict[str, type[pl.DataType]]
_NAMED: Columns = dict.fromkeys(_WHO, pl.String)
CONSISTENCY: Columns = {
    **_NAMED,
    **dict.fromkeys(("n_both_orders", "n_pairs", "n_left_out", "n_consistent"), pl.Int64),
    **dict.fromkeys(("prop_consistent", "prop_lwr", "prop_upr"), pl.Float64),
    "note": pl.String,
}
BIAS: Columns = {
    **_NAMED,
    **dict.fromkeys(WORDS, pl.Int64),
    "n_pairs": pl.Int64,
    **dict.fromkeys(("prop_consistent", "boot_mean", "boot_lwr", "boot_upr"), pl.Float64),
    **dict.fromkeys(("p_sample1_main", "p_sample1_rev", "p_sample1_overall"), pl.Float64),
    **dict.fromkeys(("total_pos1_wins", "total_comparisons", "n_inconsistent"), pl.Int64),
    **dict.fromkeys(("n_inconsistent_pos1_bias", "n_inconsistent_pos2_bias"), pl.Int64),
    "p_inconsistent": pl.Float64,
    "note": pl.String,
}


def judge_names(arms: Sequence[Arm]) -> dict[str, str]:
    """By arm: its name without the direction, the same for the two arms that differ in nothing else."""
    names: dict[str, str] = {}
    # Arms may also differ in a system text, which they do not carry: each direction has them in the same order.
    made: dict[tuple[str, bytes, str], list[str]] = {}
    for arm in arms:
        names[arm.name] = re.sub(rf"__{arm.direction}(?=$|-)", "", arm.name)
        made.setdefault((arm.template, msgspec.json.encode(arm.model), arm.direction), []).append(arm.name)
    for (template, model, direction), reverse in made.items():
        forward = made.get((template, model, "forward"), [])
        if direction == "reverse":
            names |= {own: names[first] for own, first in zip(reverse, forward, strict=False)}
    return names


def judge_tables(verdicts: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    """Of one stage's verdicts, in which `arm` is the judge's name. No table of agreement where there is one judge."""
    judges = [(dict(zip(_WHO, who, strict=True)), said) for who, said in verdicts.group_by(*_WHO, maintain_order=True)]
    if not judges:
        return
    both = [(who, said, count_orders(said)) for who, said in judges]
    consistency = [_consistency(who, orders) for who, _, orders in both]
    yield "consistency", pl.DataFrame(consistency, schema=CONSISTENCY, orient="row")
    yield "bias", pl.DataFrame([_bias(*one) for one in both], schema=BIAS, orient="row")
    if len(judges) > 1:
        agreement = verdict_agreement(verdicts, judge="arm").rename({"judge_a": "arm_a", "judge_b": "arm_b"})
        yield "agreement", agreement.select(pl.lit(judges[0][0]["stage"]).alias("stage"), pl.all())


def _consistency(who: dict[str, Any], orders: OrderCounts) -> dict[str, Any]:
    asked, pairs, consistent = orders.asked, orders.pairs, orders.consistent
    facts: dict[str, Any] = {"n_pairs": pairs, "n_consistent": consistent, "prop_consistent": None}
    if pairs:
        held = rate(np.repeat([1.0, 0.0], [consistent, pairs - consistent]))
        facts |= {"prop_consistent": consistent / pairs, "prop_lwr": held.rate_lwr, "prop_upr": held.rate_upr}
    left_out = asked - pairs
    return who | facts | {"n_both_orders": asked, "n_left_out": left_out, "note": _note(asked, left_out, facts)}


def _note(asked: int, left_out: int, facts: dict[str, Any]) -> str | None:
    if not asked:
        return _ONE_ORDER
    if not facts["n_pairs"]:
        return _NOTHING_DECIDED
    return f"{left_out} left out: no winner in one order or both (ties, draws, unread)" if left_out else None


def _bias(who: dict[str, Any], said: pl.DataFrame, orders: OrderCounts) -> dict[str, Any]:
    counts = dict(said["verdict"].value_counts().iter_rows())
    facts = who | {word: counts.get(word, 0) for word in WORDS}
    if not orders.pairs:
        return facts | {"note": _NOTHING_DECIDED if orders.asked else _ONE_ORDER}
    return facts | positional_bias(orders.decided, n_boot=_DRAWS, seed=0)
