"""Rounds that end by themselves: when, why, and never for a judge who flips coins."""

from __future__ import annotations

import random
from math import exp
from typing import Any

import pytest

from overnight.core.ask import Arm, Item, Model
from overnight.core.errors import StudyError
from overnight.core.template import Template
from overnight.study import Study, resolve
from overnight.tasks._pairs.certainty import known_by, readable, split_half
from overnight.tasks._pairs.pairing import PairPlan
from overnight.tasks._pairs.questions import kind_of
from overnight.tasks._pairs.stopping import Known, Until, why_enough

ARM = Arm(stage="s", name="a", template="t", model=Model(provider="openai", name="m"))


def in_rounds(
    spread: float, until: Until | None, *, samples: int = 16, n: int = 120, seed: int = 1
) -> list[list[dict[str, Any]]]:
    chance = random.Random(seed)
    items = [Item(f"S{number:02d}", {"text": f"text {number}"}) for number in range(samples)]
    truth = {item.id: chance.gauss(0, spread) for item in items}
    plan = PairPlan(select="adaptive", n=n, until=until)
    task = kind_of(plan)([ARM], templates={"t": Template("{SAMPLE_1} {SAMPLE_2}", "t")}, pairs=plan)
    rounds: list[list[dict[str, Any]]] = []
    while asks := list(task.next_round(len(rounds), items, [row for part in rounds for row in part], len(rounds))):  # type: ignore[attr-defined]
        fresh = []
        for ask in asks:
            first, second = ask.messages[0].content.split("\n")[0].split(" text ")[:2]
            one, other = f"S{int(first.removeprefix('text ')):02d}", f"S{int(second.split()[0]):02d}"
            won = chance.random() < 1 / (1 + exp(truth[other] - truth[one]))
            verdict = "first" if won else "second"
            fresh.append({"item_id": ask.item, "first_id": one, "second_id": other, "verdict": verdict})
        rounds.append(fresh)
    return rounds


def test_rounds_end_when_what_was_asked_for_is_known() -> None:
    whole = in_rounds(3, None)
    until = Until(reliability=0.8)
    some = in_rounds(3, until)
    assert 2 <= len(some) < len(whole)
    # The same way as without the rule, up to where it holds.
    assert some == whole[: len(some)]
    rows = [row for part in some for row in part]
    assert why_enough(known_by(readable(rows), until), until) is not None
    before = [row for part in some[:-1] for row in part]
    assert why_enough(known_by(readable(before), until), until) is None


def test_a_coin_never_stops_a_study() -> None:
    for seed in range(3):
        rounds = in_rounds(0, Until(reliability=0.3, split_half=0), seed=seed)
        assert sum(map(len, rounds)) == 120


@pytest.mark.parametrize(
    ("known", "until", "said"),
    [
        (
            Known(reliability=0.9, split_half=0.8),
            Until(reliability=0.9),
            "reliability is 0.90 (wanted 0.9), two halves",
        ),
        (Known(reliability=0.9, split_half=0.6), Until(reliability=0.9), None),
        (Known(reliability=0.9), Until(reliability=0.9), None),
        (Known(reliability=0.9), Until(reliability=0.9, split_half=0), "reliability is 0.90 (wanted 0.9)"),
        (Known(width=0.7, split_half=0.9), Until(width=0.8), "intervals are 0.70 wide on average (wanted 0.8)"),
        (
            Known(top_certainty=0.96, split_half=0.9),
            Until(top=3),
            "the best 3 samples are known with probability 0.960",
        ),
        (Known(top_certainty=0.9, split_half=0.9), Until(top=3), None),
        (Known(), Until(reliability=0.9, split_half=0), None),
    ],
)
def test_what_holds_is_said(known: Known, until: Until, said: str | None) -> None:
    found = why_enough(known, until)
    assert found is None if said is None else said in (found or "")


def test_halves_of_an_order_agree_and_those_of_coins_do_not() -> None:
    rows = [row for part in in_rounds(3, None) for row in part]
    assert (split_half(readable(rows)) or 0) > 0.6
    coins = [row for part in in_rounds(0, None) for row in part]
    assert (split_half(readable(coins)) or 0) < 0.6
    assert split_half(readable(rows[:2])) is None
    assert known_by(readable([])) == Known()


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        ({"select": "sample", "n": 3, "until": {"top": 1}}, "pairs.until: this is for `select: adaptive`"),
        ({"select": "adaptive", "n": 3, "until": {}}, "pairs.until: wanted `reliability`, `width` or `top`"),
        ({"select": "adaptive", "n": 3, "until": {"reliability": 1.0}}, "pairs.until.reliability: 1 is not at least 0"),
        ({"select": "adaptive", "n": 3, "until": {"width": 0}}, "pairs.until.width: 0 is not more than 0"),
        ({"select": "adaptive", "n": 3, "until": {"top": 0}}, "pairs.until.top: 0 is less than 1"),
        ({"select": "adaptive", "n": 3, "until": {"tops": 1}}, "unknown key 'tops'; did you mean 'top'?"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(pairs: dict[str, Any], said: str) -> None:
    items = [{"ID": name, "text": name} for name in "abc"]
    study = {"name": "n", "task": "compare", "items": items, "pairs": pairs, "models": ["openai/gpt-4.1"]}
    with pytest.raises(StudyError) as error:
        resolve(Study.from_mapping(study))
    assert said in str(error.value)
