"""A team's budget over all runs of a database: two at once never pass it together."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from overnight.api import team
from overnight.core.errors import StudyError
from run_process import Ending
from scenarios.conftest import Scenario
from scenarios.suspended import Suspended

MODEL = {"model": "openai/gpt-4.1-mini", "max_tokens": 100}


@pytest.fixture
def shared(in_database: Callable[..., Scenario]) -> Scenario:
    return in_database()


def study(one: Scenario, name: str, rows: int = 12, **fields: Any) -> str:
    return one.study(rows, name=name, models=[MODEL], batch={"max_requests": 4}, **fields)


def budget(one: Scenario, **said: Any) -> Any:
    return team(runs=one.folder / "runs", **said)


def ceiling(one: Scenario) -> float:
    """What a study of twelve rows sets aside, found out by one that may send nothing."""
    budget(one, budget=0)
    held = one.run(study(one, "first"))
    assert held.state == "over budget", held
    assert "more than is left of the team's budget" in held.message
    return float(held.message.partition("up to $")[2].partition(",")[0])


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_two_runs_at_once_never_pass_it_together(shared: Scenario, mode: str) -> None:
    one = shared
    whole = ceiling(one)
    budget(one, budget=whole * 1.5)
    mine, theirs = study(one, "mine", mode=mode), study(one, "theirs", mode=mode)
    endings: list[Ending] = []
    surroundings = {**one.addresses, **one.environ}
    # Inside the transaction in which it takes its share.
    with Suspended(mine, "commit packed", one.folder, surroundings) as leader:
        leader.wait_until_suspended()
        thread = threading.Thread(target=lambda: endings.append(one.call("run", theirs)))
        thread.start()
        thread.join(3)
        assert thread.is_alive(), endings  # it waits until the first has said what it takes
        submitted = dict(budget(one).runs)
        assert leader.wake().strip() == "done"
        thread.join(60)
    assert submitted.get("mine", 0) == 0
    assert endings[0].error is None, endings
    told = budget(one)
    assert told.committed <= told.budget
    assert set(told.runs) >= {"mine", "theirs"}
    assert endings[0].state in ("over budget", "done")


def test_what_a_run_did_not_need_is_there_for_the_others(shared: Scenario) -> None:
    one = shared
    whole = ceiling(one)
    budget(one, budget=whole * 1.2)
    assert one.run(study(one, "mine")).state == "done"
    spent = budget(one)
    assert 0 < spent.runs["mine"] < whole / 2
    # Together they set aside more than the budget; one after the other they do not need it.
    assert one.run(study(one, "theirs")).state == "done"
    assert budget(one).committed <= whole * 1.2
    assert budget(one, no_budget=True).budget is None
    assert one.run(study(one, "third", rows=60)).state == "done"
    assert one.findings("mine") == []


def test_raised_the_rest_is_sent(shared: Scenario) -> None:
    one = shared
    whole = ceiling(one)
    assert (one.run(study(one, "first")).state, one.log()["rows_run"]) == ("over budget", 0)
    budget(one, budget=whole)
    assert one.run(study(one, "first")).state == "done"
    assert one.statuses("first") == {"answered": 12}


def test_rows_without_a_ceiling_wait_under_it(shared: Scenario) -> None:
    one = shared
    budget(one, budget=5)
    held = one.run(one.study(name="open"))
    assert held.state == "over budget"
    assert one.log()["rows_run"] == 0
    assert "max_tokens" in held.message


@pytest.mark.in_folder("a team has its budget in a database")
def test_a_folder_has_no_team(tmp_path: Any) -> None:
    with pytest.raises(StudyError, match="is a folder; a team's budget is kept with its runs in postgresql://"):
        team(runs=tmp_path)
    with pytest.raises(StudyError, match="--budget: -1 is not a number of US dollars"):
        team(runs="postgresql://nobody@127.0.0.1:9/x?files=/tmp/x", budget=-1)
