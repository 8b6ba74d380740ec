"""Downloads that come with status 200 and are not the file: they prove nothing, and nothing is bought again."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from overnight import api
from scenarios.bill import assert_bill, on_record, paid, priced
from scenarios.conftest import SHAPES, Scenario

# In virtual seconds: long enough for many looks at a spoiled file.
A_WHILE = 4_000
A_DAY = 86_400
# A month in some seconds, for what is looked for until the provider no longer keeps it.
FAST = {"time_scale": 500_000, "latency": {"batch": [60, 600], "live": [0, 0]}}
SPOILED: dict[str, dict[str, Any]] = {
    "web page": {"do": "web_page"},
    "empty": {"do": "empty"},
    "cut with its length": {"do": "cut", "at": 0.6, "fitting": True},
    "cut quietly": {"do": "cut", "at": 0.6, "quiet": True},
}


def causes(one: Scenario) -> dict[str | None, int]:
    tries = one.attempts().group_by("cause").len()
    return dict(zip(tries["cause"], tries["len"], strict=True))


def looks(one: Scenario) -> list[dict[str, Any]]:
    log = api.audit_log("night", runs=one.folder / "runs").filter(pl.col("kind") == "fetched")
    return [json.loads(data) for data in log["data"]]


@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("provider", SHAPES)
def test_a_spoiled_download_is_not_believed(scenario: Callable[..., Scenario], provider: str, how: str) -> None:
    one = scenario(faults=[{"on": "content", "lasts": A_WHILE, **SPOILED[how]}], provider=provider)
    ending = one.run(priced(one, budget=0.05))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 12}
    assert causes(one) == {None: 12}
    assert len(one.batches()) == 3
    assert not list((one.folder / "runs/night/raw").glob("*.part"))
    assert one.findings() == []
    one.assert_paid_once()
    assert_bill(one)
    calm = scenario(provider=provider)
    calm.run(priced(calm, budget=0.05))
    assert one.table_digest() == calm.table_digest()


def test_a_spoiled_error_file_is_not_believed(scenario: Callable[..., Scenario]) -> None:
    """Rows that the provider refuses are not asked again because their refusals came late."""
    refused = {"on": "row", "do": "error", "status": 400, "code": "invalid_prompt", "where": "number 3 "}
    one = scenario(faults=[refused, {"on": "content", "do": "web_page", "lasts": 2_000}])
    assert one.run(priced(one, 5)).state == "rows failed"
    assert causes(one) == {None: 4, "invalid_request": 1}
    assert_bill(one)


def test_rows_that_came_are_settled_though_the_rest_is_missing(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "content", "do": "cut", "at": 0.6, "fitting": True}])
    one.call("submit", priced(one, 10, batch={"max_requests": 10}))
    one.emulator.finish()
    assert one.call("resume", "night", once=True).state == "running"
    came = one.statuses()["answered"]
    assert 4 <= came <= 6
    one.call("resume", "night", once=True)
    assert one.statuses()["answered"] == came
    one.emulator.arm([])
    assert one.call("resume", "night").state == "done"
    assert one.statuses() == {"answered": 10}
    one.assert_paid_once()
    assert_bill(one)


def test_an_answer_that_the_provider_lost_is_never_bought_again_unasked(scenario: Callable[..., Scenario]) -> None:
    one = scenario(FAST, faults=[{"on": "row", "do": "lose", "where": "number 2 ", "times": 1}])
    ending = one.run(priced(one, 5))
    assert ending.state == "rows failed", ending
    failed = one.table().filter(pl.col("status") == "failed")
    assert (failed["item_id"].to_list(), failed["cause"].to_list()) == (["item 00002"], ["gone"])
    assert len(one.batches()) == 1
    assert_bill(one, presumed=True)
    notes = pl.read_parquet(one.folder / "runs/night/tables/costs.parquet")["price_note"].to_list()
    assert "presumed spent" in notes[0]
    again = one.run(priced(one, 5), reask="failed")
    assert again.state == "done", again
    assert len(one.batches()) == 2
    assert_bill(one, presumed=True)


@pytest.mark.parametrize("do", ["malformed", "nameless"])
def test_a_line_that_cannot_be_read_was_run(scenario: Callable[..., Scenario], do: str) -> None:
    one = scenario(faults=[{"on": "row", "do": do, "where": "number 4 ", "times": 1}])
    ending = one.run(priced(one, 5))
    assert ending.state == "rows failed", ending
    assert causes(one) == {None: 4, "unreadable": 1}
    assert any("unreadable" in text for text in ending.said)
    one.assert_paid_once()
    assert_bill(one, presumed=True)


# Vertex' lines have their row's name behind the question, in the half that is cut off.
@pytest.mark.parametrize("provider", [name for name in SHAPES if name != "vertex"])
def test_a_file_of_spoilt_lines_alone_is_the_providers_all_the_same(
    scenario: Callable[..., Scenario], provider: str
) -> None:
    """Each line bears its row's name: no web page does. A month is not waited for what will not change."""
    one = scenario(faults=[{"on": "row", "do": "malformed"}], provider=provider)
    ending = one.run(priced(one, 3))
    assert ending.state == "rows failed", ending
    assert causes(one) == {"unreadable": 3}
    assert len(one.batches()) == 1
    assert_bill(one, presumed=True)


def test_what_was_presumed_counts_against_the_budget(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "malformed", "where": "number 4 ", "times": 1}])
    assert one.run(priced(one, 5)).state == "rows failed"
    settled, presumed = on_record(one)
    held = one.run(priced(one, 5, budget=(settled + presumed) / 1e9), reask="failed")
    assert held.state == "over budget", held
    assert len(one.batches()) == 1


def test_an_output_that_shows_late_is_waited_for(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "batch", "do": "empty_output", "seconds": A_WHILE}])
    assert one.run(priced(one, 5)).state == "done"
    assert causes(one) == {None: 5}
    one.assert_paid_once()
    assert_bill(one)


def test_passes_settle_a_short_file_and_give_up_in_the_end(scenario: Callable[..., Scenario]) -> None:
    """The provider counts five answers, and its file has four: passes that never wait come to an end all the same."""
    one = scenario(faults=[{"on": "row", "do": "lose", "where": "number 2 ", "times": 1}])
    one.call("submit", priced(one, 5))
    one.emulator.finish()
    seen, said = [], ""
    for _ in range(60):
        ending = one.call("resume", "night", once=True, environ=one.going_on)
        seen.append(one.statuses())
        said += ending.message
        if ending.state != "running":
            break
        one.emulator.advance(A_DAY)
    assert {"answered": 4, "pending": 1} in seen, seen
    assert "1 batch has ended, but" in said
    assert ending.state == "rows failed", ending
    assert causes(one) == {None: 4, "gone": 1}
    assert_bill(one, presumed=True)


def test_passes_add_up(scenario: Callable[..., Scenario]) -> None:
    """A row that the provider left out, and says so, is asked again by passes that never wait."""
    one = scenario({"time_scale": 20_000}, faults=[{"on": "row", "do": "omit", "where": "number 2 ", "times": 1}])
    one.call("submit", priced(one, 5))
    states = []
    for _ in range(4):
        one.emulator.finish()
        states.append(one.call("resume", "night", once=True).state)
    assert states[-1] == "done", states
    assert causes(one) == {None: 5, "missing": 1}
    one.assert_paid_once()
    assert_bill(one)


def test_who_does_not_want_to_wait_says_so(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "row", "do": "lose", "where": "number 2 ", "times": 1}])
    one.call("submit", priced(one, 5))
    one.emulator.finish()
    assert one.call("resume", "night", once=True).state == "running"
    assert one.run(priced(one, 5), reask="failed").state == "done"
    assert one.statuses() == {"answered": 5}
    assert causes(one) == {None: 5, "gone": 1}
    assert len(one.batches()) == 2
    assert_bill(one, presumed=True)


def test_what_a_pass_learned_is_on_record(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "content", "do": "web_page"}])
    one.call("submit", priced(one, 5))
    one.emulator.finish()
    for _ in range(3):
        ending = one.call("resume", "night", once=True)
        assert ending.state == "running"
        assert "goes on" not in ending.message
        assert "not in the provider's format" in ending.message
    found = looks(one)
    assert len(found) >= 1
    assert all("format" in look["doubt"] and not look["news"] and look["sha256"] for look in found)
    assert one.statuses() == {"pending": 5}
    assert paid(one) > 0
    assert on_record(one) == (0, 0)
    one.emulator.arm([])
    assert one.call("resume", "night").state == "done"
    one.assert_paid_once()


def test_results_that_are_not_there_for_a_moment_are_not_given_up(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "content", "do": "status", "status": 404, "lasts": 1_000}])
    assert one.run(priced(one, 5)).state == "done"
    assert causes(one) == {None: 5}
    one.assert_paid_once()
