"""When a plan would be over: turns and later stages wait for those before them, batches go side by side."""

import math
from typing import Any

import pytest

from overnight.api import ArmPlan
from overnight.api.plans.finishing import finishing
from overnight.core.estimate import step_of
from overnight.ledger.account_book import Lessons, Turnaround

HOUR = math.log(3_600.0)


def known(*providers: str) -> Lessons:
    return Lessons(batches=[Turnaround(name, step_of(100), 10, 10 * HOUR, 10 * HOUR**2) for name in providers])


def arm(stage: str, *rounds: tuple[int, int], **fields: Any) -> ArmPlan:
    batches = sum(count for _, count in rounds)
    return ArmPlan(
        stage=stage, arm="a", provider=fields.pop("provider", "openai"), model="m", rounds=rounds, batches=batches,
        requests=sum(rows for rows, _ in rounds), **fields,
    )  # fmt: skip


def test_it_is_unknown_before_a_batch_came_back() -> None:
    told = finishing([arm("one", (100, 1)), arm("one", (100, 1), provider="gemini")], known("openai"))
    assert told is not None
    assert told.seconds is None
    assert told.text == "finished: unknown, because no batch of gemini has come back yet"


def test_side_by_side_and_one_after_another() -> None:
    one = finishing([arm("one", (100, 1))], known("openai"))
    turns = finishing([arm("one", (100, 1), (100, 1), (100, 1))], known("openai"))
    stages = finishing([arm("one", (100, 1)), arm("two", (100, 1), of="one")], known("openai"))
    beside = finishing([arm("one", (100, 1)), arm("two", (100, 1), provider="gemini")], known("openai", "gemini"))
    assert one is not None and turns is not None and stages is not None and beside is not None  # noqa: PT018
    assert one.seconds == pytest.approx(3_600, rel=1e-9)
    assert turns.seconds == pytest.approx(3 * 3_600, rel=0.01)
    assert stages.seconds == pytest.approx(2 * 3_600, rel=0.01)
    assert beside.seconds is not None
    assert 3_600 < beside.seconds <= 1.05 * 3_600
    assert (one.seen, beside.seen) == (10, 20)
    assert one.text.startswith("finished: about 1h 00m after it is sent (90%: ")
    assert one.text.endswith(", by 10 batches seen")


def test_the_same_study_is_told_the_same_end() -> None:
    arms = [arm("one", (900, 9), (900, 9)), arm("two", (100, 1), of="one", provider="gemini")]
    first, again = (finishing(arms, known("openai", "gemini")) for _ in range(2))
    assert first == again


def test_live_calls_are_not_counted() -> None:
    alone = arm("one", (100, 0), processing="live")
    assert finishing([alone], known("openai")) is None
    both = finishing([alone, arm("two", (100, 1))], known("openai"))
    assert both is not None
    assert both.text.endswith("by 10 batches seen, beside the live calls")
