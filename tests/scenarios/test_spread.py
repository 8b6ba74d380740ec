"""Live calls that actors make: the same bytes as without them, whatever becomes of an actor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from scenarios.conftest import KEY, Scenario
from scenarios.test_live import lost, twice

SPREAD = "scenarios.actors_here:run"
MODELS = ["openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5", {"model": "openai/gpt-4.1-mini", "max_tokens": 50}]
LIVE: dict[str, Any] = {"mode": "live", "models": MODELS}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, warm: Any) -> str:
    one = Scenario(tmp_path_factory.mktemp("undisturbed"), warm, {})
    try:
        assert one.run(one.study(100, **LIVE)).state == "done"
        return one.table_digest()
    finally:
        one.close()


@pytest.mark.parametrize("actors", [1, 3])
def test_the_same_bytes_and_each_question_called_once(
    scenario: Callable[..., Scenario], undisturbed: str, actors: int
) -> None:
    one = scenario()
    ending = one.call(SPREAD, one.study(100, **LIVE), actors=actors, losses=[])
    assert ending.state == "done", ending
    assert one.table_digest() == undisturbed
    assert (one.log()["rows_run"], twice(one)) == (300, 0)
    assert one.findings() == []


@pytest.mark.parametrize("losses", [[1, 1], [2, 4, 3, 5], [6], [8, 7]])
def test_an_actor_that_is_lost_costs_what_it_was_asking_and_no_try(
    scenario: Callable[..., Scenario], undisturbed: str, losses: list[int]
) -> None:
    one = scenario()
    ending = one.call(
        SPREAD, one.study(100, budget={"total": 5, "output_tokens": 200}, **LIVE), actors=2, losses=list(losses)
    )
    assert ending.state == "done", ending
    assert any("an actor was lost" in said for said in ending.said)
    assert one.table_digest() == undisturbed
    assert lost(one) > 0
    assert twice(one) <= lost(one)
    costs = pl.read_parquet(one.folder / "runs" / "night" / "tables" / "costs.parquet")
    assert "presumed spent" in "".join(costs["price_note"].to_list())
    assert one.findings() == []


def test_actors_that_are_lost_one_after_the_other_end_the_pass(
    scenario: Callable[..., Scenario], undisturbed: str
) -> None:
    one = scenario()
    study = one.study(100, **LIVE)
    ending = one.call(SPREAD, study, actors=1, losses=[1, 1, 1])
    assert (ending.error, ending.message) == (
        "Unavailable",
        "here: 3 actors were lost one after the other: as the test wants it",
    )
    assert one.run(study).state == "done"
    assert one.table_digest() == undisturbed
    assert twice(one) <= lost(one)


def test_no_actor_at_all_is_told_and_nothing_is_asked(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.call(SPREAD, one.study(10, **LIVE), actors=1, losses=[], full=True)
    assert (ending.error, ending.message) == ("Unavailable", "here: there is no room")
    assert one.log()["rows_run"] == 0


def test_a_dead_key_shuts_its_account_and_no_other(scenario: Callable[..., Scenario]) -> None:
    one = scenario(truth={"keys": {"no_credit": ["sk-poor"]}})
    study = one.study(100, mode="live", models=MODELS[:2])
    poor = {"OPENAI_API_KEY": "sk-poor"}
    ending = one.call(SPREAD, study, actors=2, losses=[], environ=poor)
    assert ending.error == "OutOfCredit"
    by_provider = dict(one.table().filter(pl.col("status") == "answered").group_by("provider").len().iter_rows())
    assert by_provider == {"anthropic": 100}
    again = one.call(SPREAD, study, actors=2, losses=[], environ={"OPENAI_API_KEY": KEY}, accept_account=True)
    assert again.state == "done", again
    assert twice(one) == 0


@pytest.mark.parametrize("trouble", [
    [{"on": "live", "do": "status", "status": 429, "retry_after": 1, "odds": 0.3}],
    [{"on": "live", "do": "drop_answer", "odds": 0.3, "times": 9}],
])  # fmt: skip
def test_troubles_are_met_as_they_are_without_actors(
    scenario: Callable[..., Scenario], undisturbed: str, trouble: list[dict[str, Any]]
) -> None:
    one = scenario(faults=trouble)
    ending = one.call(SPREAD, one.study(100, **LIVE), actors=2, losses=[9])
    assert ending.state == "done", ending
    assert one.table_digest() == undisturbed
    assert twice(one) <= lost(one)
