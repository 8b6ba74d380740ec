"""A study that compares: killed anywhere and resumed, the same verdicts and rankings; grown, nothing asked twice."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from overnight import api
from overnight.api.status import unfinished
from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

TABLES = ("results", "verdicts", "rankings")
# What was chosen in each round and why, and what each round taught: the same path, not only the same end.
PATH = ("selection", "precision")
FAULTS = ({"on": "batch", "do": "expire", "share": 0.5, "times": 1},)
SAMPLE = 3
PARTS = parts(2, sampled=1)


def comparison(one: Scenario, samples: int = 6, **pairs: Any) -> str:
    items = [{"ID": f"s_{n}:{n}", "text": f"A text about the number {n}."} for n in range(samples)]
    chosen = {"select": "sample", "n": 9, "reverse": 1.0, **pairs}
    return one.write(
        {
            "name": "night",
            "task": "compare",
            "items": items,
            "pairs": chosen,
            "models": [one.model],
            "batch": {"max_requests": 5},
        }
    )


def digests(one: Scenario, *more: str) -> list[str]:
    tables = one.folder / "runs" / "night" / "tables"
    return [hashlib.sha256((tables / f"{name}.parquet").read_bytes()).hexdigest() for name in (*TABLES, *more)]


@pytest.mark.slow
def test_any_kill_any_resume_same_tables(scenario: Callable[..., Scenario], tmp_path: Path) -> None:
    calm = scenario(faults=FAULTS)
    log = tmp_path / "checkpoints"
    assert calm.run(comparison(calm), environ={"OVERNIGHT_CHECKPOINTS": str(log)}).state == "done"
    expected, names = digests(calm), log.read_text().splitlines()
    for number in kills(len(names), 0, 1, SAMPLE):
        one = scenario(faults=FAULTS)
        study = comparison(one)
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        assert one.run(study).state == "done", number
        assert digests(one) == expected, names[number - 1]
        one.assert_paid_once()
        one.close()


def test_more_pairs_and_samples_extend_the_run(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    assert one.run(comparison(one, reverse=0.0)).state == "done"
    first = one.table()
    assert one.run(comparison(one, n=12, reverse=0.5)).state == "done"
    more = one.table()
    assert more.group_by("direction").len().sort("direction").rows() == [("forward", 12), ("reverse", 6)]
    assert first.join(more, on=["arm", "item_id", "request_key"], how="semi").height == 9
    assert one.log()["rows_run"] == 18
    refused = one.run(comparison(one, n=3))
    assert refused.error == "StudyChanged"
    assert "pairs.n: was 12, is now 3; there may only be more" in refused.message


ADAPTIVE: dict[str, Any] = {"select": "adaptive", "n": 14, "rounds": 3}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_pairs_chosen_in_rounds_are_the_same_after_any_kill(
    scenario: Callable[..., Scenario], part: int, tmp_path: Path
) -> None:
    calm = scenario()
    log = tmp_path / "checkpoints"
    assert calm.run(comparison(calm, 8, **ADAPTIVE), environ={"OVERNIGHT_CHECKPOINTS": str(log)}).state == "done"
    expected, names = digests(calm, *PATH), log.read_text().splitlines()
    table = calm.table()
    assert table.group_by("direction").len().sort("direction").rows() == [("forward", 14), ("reverse", 14)]
    assert {name for row in table.select("first_id", "second_id").rows() for name in row} == {
        f"s_{n}:{n}" for n in range(8)
    }
    with calm.ledger() as view:
        assert [round_.asks for round_ in view.rounds.everything(1)] == [8, 8, 8, 4, 0]
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        one = scenario()
        study = comparison(one, 8, **ADAPTIVE)
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        before = one.rows_on_record()
        # A run that would still ask something is never taken for finished, even while nothing of it is open.
        might_ask = before == 0 or unfinished(one.kept())
        assert one.run(study).state == "done", number
        assert might_ask or one.rows_on_record() == before, names[number - 1]
        assert not unfinished(one.kept())
        assert digests(one, *PATH) == expected, names[number - 1]
        one.assert_paid_once()
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_rounds_that_stop_by_themselves_stop_at_the_same_place_after_a_kill(
    scenario: Callable[..., Scenario], part: int, tmp_path: Path
) -> None:
    # So wide an interval is reached after the first rounds, and without a second look at the halves.
    rule = ADAPTIVE | {"n": 28, "until": {"width": 12.0, "split_half": 0}}
    calm = scenario()
    log = tmp_path / "checkpoints"
    assert calm.run(comparison(calm, 8, **rule), environ={"OVERNIGHT_CHECKPOINTS": str(log)}).state == "done"
    expected, names = digests(calm, *PATH), log.read_text().splitlines()
    precision = pl.read_parquet(calm.folder / "runs/night/tables/precision.parquet")
    assert precision["pairs"][-1] < 28
    assert "wide on average (wanted 12)" in precision["stopped"][-1]
    for number in kills(len(names), part, len(PARTS), 2):
        one = scenario()
        study = comparison(one, 8, **rule)
        one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert one.run(study).state == "done", number
        assert digests(one, *PATH) == expected, names[number - 1]
        one.assert_paid_once()
        one.close()


def test_more_adaptive_pairs_and_samples_extend_the_run(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    assert one.run(comparison(one, 6, **ADAPTIVE | {"n": 8})).state == "done"
    first = one.table()
    assert first.height == 16
    # What stands for the pairs to come in a plan may be pairs that were asked; a round asks none of them again.
    planned = api.plan(comparison(one, 6, **ADAPTIVE | {"n": 14}), runs=one.folder / "runs")
    assert (planned.total("on_record"), planned.total("shared"), planned.total("requests")) == (16, 0, 12)
    assert one.run(comparison(one, 7, **ADAPTIVE | {"n": 12})).state == "done"
    more = one.table()
    assert more.height == 24
    assert first.join(more, on=["arm", "item_id", "request_key"], how="semi").height == 16
    assert "s_6:6" in more["first_id"].to_list()
    assert one.log()["rows_run"] == 24
    tables = one.folder / "runs" / "night" / "tables"
    selection, precision = (pl.read_parquet(tables / f"{name}.parquet") for name in ("selection", "precision"))
    with one.ledger() as view:
        asked = [round_.asks // 2 for round_ in view.rounds.everything(1) if round_.asks]
    # Both orders of a pair are one choice; every one is there once, in the round in which it was asked.
    assert selection.group_by("round").len().sort("round")["len"].to_list() == asked
    assert sorted(selection["item_id"]) == sorted(set(more["item_id"]))
    assert (selection["round"] == 1).to_list() == (selection["why"] == "drawn by lot, samples taken evenly").to_list()
    assert precision["pairs"].to_list() == [sum(asked[:count]) for count in range(1, len(asked) + 1)]
    assert precision["cost"][-1] == pytest.approx(sum(more["cost"]))


def test_unreadable_answers_are_asked_again_on_request(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"answer_with": {".": "Both are lovely."}})
    study = comparison(one)
    assert one.run(study).state == "done"
    verdicts = pl.read_parquet(one.folder / "runs" / "night" / "tables" / "verdicts.parquet")
    assert set(verdicts["verdict"]) == {"unparsed"}
    assert not (one.folder / "runs" / "night" / "tables" / "rankings.parquet").exists()
    again = one.run(study, reask="unparsed")
    assert again.state == "done"
    assert "18 unparsed rows are asked again" in "\n".join(again.said)


def test_failed_rows_of_earlier_rounds_are_asked_again_and_counted(scenario: Callable[..., Scenario]) -> None:
    # Whatever a round is chosen by must be settled: a row under way is neither missing nor to be asked once more.
    fails = {"on": "row", "do": "error", "status": 400, "code": "invalid_prompt", "where": "number 3.", "times": 4}
    one = scenario(faults=[fails])
    study = comparison(one, 8, **ADAPTIVE)
    assert one.run(study).state == "rows failed"
    assert one.statuses()["failed"] == 4
    with one.ledger() as view:
        rounds = [round_.asks for round_ in view.rounds.everything(1)]
    assert one.run(study, reask="failed").state == "done"
    with one.ledger() as view:
        assert [round_.asks for round_ in view.rounds.everything(1)] == rounds
    assert one.table().height == 28
    one.assert_paid_once()
