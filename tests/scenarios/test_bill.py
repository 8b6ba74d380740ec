"""What is paid at the provider is never more than what is settled and presumed, and the same where nothing is presumed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from overnight import api
from scenarios.bill import assert_bill, on_record, priced
from scenarios.conftest import SHAPES, Scenario

Faults = list[dict[str, Any]]
# Nothing has to be presumed: the bill is known to the last row.
KNOWN: dict[str, Faults] = {
    "rows fail once": [{"on": "row", "do": "error", "status": 500, "times": 4}],
    "a batch expires": [{"on": "batch", "do": "expire", "share": 0.4, "times": 1}],
    "a batch expires without a word": [{"on": "batch", "do": "expire", "share": 0.4, "silent": True, "times": 1}],
    # Not all rows of one batch: its counts would say nothing of them.
    "rows are left out": [{"on": "row", "do": "omit", "times": 1, "where": f"number {n} in"} for n in (0, 1, 6)],
    "lines come twice": [{"on": "row", "do": "duplicate"}],
    "a failure stands before its answer": [{"on": "row", "do": "contradict"}],
    "the answer to a create is lost": [{"on": "create", "do": "drop_answer", "times": 1}],
    "a download is spoiled": [{"on": "content", "do": "cut", "at": 0.5, "fitting": True, "times": 3}],
}
# Those in which rows do not come: a vendor that does not count them leaves open whether they were run.
NEED_COUNTS = ("a batch expires", "a batch expires without a word", "rows are left out")
UNCOUNTED = {"together"}
# Rows were run, and nobody says what they cost.
PRESUMED: dict[str, Faults] = {
    "an answer without usage": [{"on": "row", "do": "no_usage", "times": 2}],
    "an empty answer": [{"on": "row", "do": "empty_body", "times": 2}],
    "half a line": [{"on": "row", "do": "malformed", "times": 2}],
    "a line without a name": [{"on": "row", "do": "nameless", "times": 1}],
}


# All of it on every vendor takes a while: one vendor always, the others with the slow tests.
EVERYWHERE = [name if name == "openai" else pytest.param(name, marks=pytest.mark.slow) for name in SHAPES]


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("provider", EVERYWHERE)
def test_the_bill_is_known(scenario: Callable[..., Scenario], provider: str, case: str) -> None:
    if provider in UNCOUNTED and case in NEED_COUNTS:
        pytest.skip("without counts nobody knows whether these rows were run")
    one = scenario(faults=KNOWN[case], provider=provider)
    assert one.run(priced(one)).state == "done"
    assert one.statuses() == {"answered": 12}
    assert_bill(one)
    one.assert_paid_once()


@pytest.mark.parametrize("case", PRESUMED)
@pytest.mark.parametrize("provider", SHAPES)
def test_what_nobody_bills_is_presumed(scenario: Callable[..., Scenario], provider: str, case: str) -> None:
    one = scenario(faults=PRESUMED[case], provider=provider)
    one.run(priced(one, 5))
    assert_bill(one, presumed=True)
    one.assert_paid_once()
    costs = api.costs("night", runs=one.folder / "runs")
    settled, presumed = on_record(one)
    assert (round(costs["settled"].sum() * 1e9), round(costs["presumed"].sum() * 1e9)) == (settled, presumed)


@pytest.mark.parametrize("kind", ["refused", "filtered", "truncated"])
@pytest.mark.parametrize("provider", SHAPES)
def test_a_refusal_that_does_not_say_what_it_cost_is_presumed(
    scenario: Callable[..., Scenario], provider: str, kind: str
) -> None:
    """The model may have run until its filter stopped it; only an error is known to be free."""
    one = scenario({"answers": {kind: 1.0}}, faults=[{"on": "row", "do": "no_usage"}], provider=provider)
    one.run(priced(one, 5))
    assert_bill(one, presumed=True)


def test_without_a_bound_what_is_presumed_is_unknown_never_nought(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "empty_body", "times": 1}])
    one.run(priced(one, 3, models=[one.model]))
    costs = pl.read_parquet(one.folder / "runs/night/tables/costs.parquet")
    assert costs["presumed"].to_list() == [None]
    assert "1 row presumed spent, at a cost that nobody can say" in costs["price_note"][0]


@pytest.mark.parametrize("do", ["drop_answer", "cut"])
def test_live_calls_that_were_lost_are_presumed(scenario: Callable[..., Scenario], do: str) -> None:
    quiet = {"quiet": True} if do == "cut" else {}
    one = scenario(faults=[{"on": "live", "do": do, "times": 3, **quiet}])
    assert one.run(priced(one, 8, mode="live")).state == "done"
    assert_bill(one, presumed=True)


def test_a_batch_that_was_overtaken_is_paid_for_beside_the_calls(scenario: Callable[..., Scenario]) -> None:
    truth = {"time_scale": 500, "latency": {"batch": [6_000, 6_000], "live": [0, 0]}}
    one = scenario(truth, faults=[{"on": "cancel", "do": "status", "status": 500}])
    ending = one.run(priced(one, 6, mode="auto", deadline="60m", poll={"interval_seconds": 60}))
    assert ending.state == "done", ending
    one.emulator.finish()
    assert one.call("resume", "night").state == "done"
    assert len(one.log()["rows_run_twice"]) == 6
    assert_bill(one)
