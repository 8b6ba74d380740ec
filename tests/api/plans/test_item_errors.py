"""Errors of whole items: what arms owe to the same items is added before it is squared."""

import math

import pytest

from overnight.api.plans.estimating import ArmEstimate
from overnight.api.plans.experience import Answers, Requests
from overnight.api.plans.item_errors import SeenArm, risks_by_items
from overnight.core.ask import Arm, Model
from overnight.core.estimate import Line, lengths_of, together
from overnight.ledger.answers import Sized
from overnight.prices import Price, Rate

RATE = Rate(input=1_000_000_000, output=2_000_000_000)
LENGTHS = [100, 120, 80, 140, 60, 110, 90, 130, 70, 100]


def seen(name: str, lengths: list[int], ahead: int) -> SeenArm:
    arm = Arm(stage="s", name=name, template="t", model=Model(provider="openai", name="m"))
    rows = [Sized(str(number), 0, 400, 100, 0, length) for number, length in enumerate(lengths)]
    known = lengths_of((length, 1) for length in lengths)
    assert known is not None
    answers = Answers(known, 4.0, "", "", {}, rows)
    price = Price(provider="openai", model="m", processing="batch", rate=RATE)
    estimate = ArmEstimate(arm, Requests(Line(0, 0.25, 10), 0.0, "", ""), {("s", name, "batch"): price}, "batch")
    for _ in range(ahead):
        estimate.add(400, known.mean, [])
    return SeenArm(("s", name), answers, estimate, ahead)


def test_one_arm_is_as_sure_as_its_answers() -> None:
    risks = risks_by_items([seen("a", LENGTHS, 50)])["s", "a"]
    spread = math.sqrt(sum((one - 100) ** 2 for one in LENGTHS) / 7)
    # Two thousand nano-dollars for a token; fifty to come, by ten seen.
    assert together([risks]) == pytest.approx(2_000 * spread * math.sqrt(50 + 50**2 / 10), rel=1e-6)


def test_arms_that_go_together_are_twice_as_unsure_and_others_are_not() -> None:
    alone = together(risks_by_items([seen("a", LENGTHS, 50)]).values())
    same = together(risks_by_items([seen("a", LENGTHS, 50), seen("b", LENGTHS, 50)]).values())
    opposite = [200 - one for one in LENGTHS]
    against = together(risks_by_items([seen("a", LENGTHS, 50), seen("b", opposite, 50)]).values())
    assert same == pytest.approx(2 * alone)
    assert against == pytest.approx(0, abs=1)


def test_too_few_items_and_nothing_to_come_tell_nothing() -> None:
    assert risks_by_items([seen("a", LENGTHS[:4], 50)]) == {}
    assert risks_by_items([seen("a", LENGTHS, 0)]) == {}
    assert risks_by_items([]) == {}
