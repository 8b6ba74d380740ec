"""At every provider, by every road: what it charged is settled, or presumed spent where nobody could say what a row cost."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import cycle

import pytest

from emulator_process import charged
from scenarios.bill import on_record, paid, priced
from scenarios.conftest import PROVIDERS, Scenario
from scenarios.matrix import EVERY

HALF_EXPIRES = {"on": "batch", "do": "expire", "share": 0.4, "times": 1}
SLOW = {"on": "batch", "do": "slow", "seconds": 50_000}
# Where a batch does not count its rows, nobody knows whether those that did not come were run.
UNCOUNTED = {"together"}
# Nothing that can be had of such a batch names its model, or nobody has published the model's price.
UNPRICED = {"bedrock", "fireworks", "together", "xai"}


def at_once(one: Scenario) -> None:
    assert one.run(priced(one)).state == "done"


def in_passes(one: Scenario) -> None:
    """As cron does it: no pass waits for anything."""
    assert one.call("submit", priced(one)).state == "submitted"
    for _ in range(8):
        one.emulator.finish()
        if one.call("resume", "night", once=True).state == "done":
            break
    assert one.statuses() == {"answered": 12}


def called_off(one: Scenario) -> None:
    """Half-way: what had been run is paid for, and the rest is asked when the user says so."""
    one.emulator.arm([SLOW])
    study = priced(one)
    assert one.call("submit", study).state == "submitted"
    one.emulator.advance(25_000)
    assert one.call("cancel", "night").state == "cancelled"
    _assert_bill(one)
    one.emulator.arm([])
    assert one.run(study).state in ("done", "rows failed")


def expired(one: Scenario) -> None:
    one.emulator.arm([HALF_EXPIRES])
    assert one.run(priced(one)).state in ("done", "rows failed")


ROADS: list[Callable[[Scenario], None]] = [at_once, in_passes, called_off, expired]
ALL = [(provider, road) for provider in PROVIDERS for road in ROADS]
# Each provider by one of the roads in every suite; on request, all of them by all.
SAMPLE = ALL if os.environ.get(EVERY) else [*zip(PROVIDERS, cycle(ROADS), strict=False)]


def _assert_bill(one: Scenario) -> None:
    settled, presumed = on_record(one)
    assert settled <= paid(one) <= settled + presumed, (settled, paid(one), presumed)


@pytest.mark.parametrize(("provider", "road"), SAMPLE)
def test_the_bill_is_what_was_charged(
    scenario: Callable[..., Scenario], provider: str, road: Callable[[Scenario], None]
) -> None:
    one = scenario({"time_scale": 1_000 if road is called_off else 20_000}, provider=provider)
    road(one)
    _assert_bill(one)
    if provider not in UNCOUNTED:
        assert on_record(one) == (paid(one), 0)
    assert one.findings() == []
    one.assert_paid_once()


@pytest.mark.parametrize("provider", PROVIDERS if os.environ.get(EVERY) else ["mistral", "vertex"])
@pytest.mark.parametrize("fault", [None, HALF_EXPIRES], ids=["whole", "expired"])
def test_an_adopted_batch_costs_what_was_charged(
    scenario: Callable[..., Scenario], provider: str, fault: dict[str, object] | None
) -> None:
    """It is priced by the published prices, as the run that made it is; tokens are those that the provider charged."""
    if provider == "gemini" and fault:
        pytest.skip("an expired batch gives up nothing there")
    one = scenario(provider=provider)
    one.emulator.arm([fault] if fault else [])
    study = one.study(5, models=[{"model": one.model, "max_tokens": 4_000}])
    assert one.call("submit", study).state == "submitted"
    one.emulator.finish()
    (batch,) = one.batches()
    ending = one.call("adopt", provider, batch["id"], as_name="theirs", ask_again=False, environ=one.going_on)
    assert ending.error is None, ending
    theirs, (use,) = one.table("theirs"), one.log()["billed"]["batch"].values()
    assert (theirs["input_tokens"].sum(), theirs["output_tokens"].sum()) == (use["input_tokens"], use["output_tokens"])
    assert charged(one.log()) > 0
    if provider in UNPRICED:
        assert theirs["cost"].is_null().all()  # unknown, and never nought
        return
    spent = one.status("theirs").spent
    assert spent == sum(round(cost * 1e9) for cost in theirs["cost"].drop_nulls()) > 0
    if fault is None:
        assert one.call("resume", "night", environ=one.going_on).state == "done"
        assert one.status("night").spent == spent
