"""A ledger that was edited: what has its answer is not sent again, and what cannot be read is said in words."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import overnight
from emulator_process import EmulatorProcess
from hardening.conftest import Shell
from ledger import damage
from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from serving.runs_to_show import Looker, spec_study

FAST = {"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}}
SLOW = {"time_scale": 1, "latency": {"batch": [3600, 3600], "live": [0, 0]}}


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatorProcess]:
    with EmulatorProcess(FAST) as one:
        monkeypatch.setenv("OPENAI_BASE_URL", one.openai_url)
        yield one


@pytest.mark.parametrize(
    "edit",
    [
        "DELETE FROM shard_done",
        "UPDATE settled SET line=-7",
        "DELETE FROM result",
        "INSERT INTO queue SELECT ask, 0, 0 FROM settled",
    ],
)
def test_what_has_its_answer_is_not_sent_again(shell: Shell, emulator: EmulatorProcess, edit: str) -> None:
    assert shell.type("run", "study.yaml").code == 0
    before = {**emulator.log(), "now": None}
    damage.edit(shell.folder / "runs" / "fruit", edit)
    for verb in (("run", "study.yaml"), ("resume", "fruit", "--once")):
        ending = shell.type(*verb)
        assert ending.code == 2, (verb, ending)
        assert "nothing is sent; bring ledger.db back from a copy" in ending.complaint
    assert {**emulator.log(), "now": None} == before
    assert shell.type("verify", "fruit").code != 0


@pytest.mark.parametrize("number", ["7", "NULL", "9223372036854775807"])
def test_rounds_that_are_not_on_record_are_told_and_do_not_go_on_for_ever(
    shell: Shell, emulator: EmulatorProcess, number: str
) -> None:
    pairs = {"select": "adaptive", "n": 4, "rounds": 2}
    shell.study(task="compare", prompt=None, trait="overall_quality", pairs=pairs)
    assert shell.type("run", "study.yaml").code == 0
    before = emulator.log()["rows_run"]
    damage.spoiling("slot", f"UPDATE slot SET round={number}", "round")(shell.folder / "runs" / "fruit")
    ending = shell.type("resume", "fruit", "--timeout", "12h")
    assert ending.code == 2, ending
    assert "slot.round" in ending.complaint
    assert emulator.log()["rows_run"] == before
    assert "slot" in shell.type("verify", "fruit").out


def test_a_page_about_rows_whose_ids_were_altered_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = overnight.run(spec_study(tmp_path), runs=tmp_path / "runs", emulate=True)
    damage.edit(run.path, "UPDATE OR IGNORE slot SET item='x' WHERE item LIKE '%rule_0%'")
    with Dashboard(settings(runs=tmp_path / "runs", emulate=True), port=0) as dashboard:
        shown = Looker(dashboard.address).get("/run/spec/item", id="x")
    assert shown.status < 500
    assert "of the ledger" in shown.text


def test_submit_and_cancel_come_back_in_time_from_a_provider_that_nobody_reaches(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "1")
    with EmulatorProcess(SLOW) as one:
        monkeypatch.setenv("OPENAI_BASE_URL", one.openai_url)
        shell.type("submit", "study.yaml")
    for verb in (("cancel", "fruit"), ("submit", "study.yaml", "--as", "other")):
        begun = time.monotonic()
        ending = shell.type(*verb, "--timeout", "2s")
        assert time.monotonic() - begun < 15
        assert ending.code == 4, ending
        assert "openai: " in ending.err
        assert "no connection to 127.0.0.1" in ending.err
