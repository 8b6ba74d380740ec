"""Dead keys, empty credit, other accounts: stop at once, say why, keep everything."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from scenarios.conftest import KEY, Scenario


def test_a_dead_key_stops_at_once(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"keys": {"refuse": ["sk-dead"]}})
    ending = one.run(one.study(), environ={"OPENAI_API_KEY": "sk-dead"})
    assert ending.error == "Unauthorized"
    assert "sk-dead" not in ending.message
    assert one.log()["call_counts"].get("POST /files", 0) <= 3
    assert one.batches() == []
    assert one.run(one.study()).state == "done"


def test_empty_credit_stops_at_once_and_keeps_everything(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"keys": {"no_credit": ["sk-poor"]}})
    ending = one.run(one.study(), environ={"OPENAI_API_KEY": "sk-poor"})
    assert ending.error == "OutOfCredit", ending
    assert one.statuses() == {"pending": 12}
    assert one.log()["call_counts"]["POST /batches"] <= 3


def test_credit_that_runs_out_in_the_middle(scenario: Callable[..., Scenario]) -> None:
    refusal = {"status": 429, "code": "insufficient_quota", "message": "You exceeded your current quota"}
    one = scenario(faults=[{"on": "create", "do": "status", "skip": 1, **refusal}])
    ending = one.run(one.study())
    assert ending.error == "OutOfCredit", ending
    assert len(one.batches()) == 1
    one.emulator.arm([])
    assert one.run(one.study()).state == "done"
    assert one.statuses() == {"answered": 12}
    one.assert_paid_once()


def test_a_batch_that_still_runs_does_not_keep_a_dead_account_waiting(scenario: Callable[..., Scenario]) -> None:
    refusal = {"status": 429, "code": "insufficient_quota", "message": "You exceeded your current quota"}
    slow = {"on": "batch", "do": "slow", "seconds": 50_000}
    one = scenario({"time_scale": 1000}, faults=[slow, {"on": "create", "do": "status", "skip": 1, **refusal}])
    began = time.monotonic()
    ending = one.run(one.study())
    assert ending.error == "OutOfCredit", ending
    assert time.monotonic() - began < 40
    assert any("nothing more is sent there" in text for text in ending.said)
    one.emulator.arm([])
    one.emulator.finish()
    assert one.run(one.study()).state == "done"
    one.assert_paid_once()


def test_an_unreachable_host_says_so(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    ending = one.run(one.study(), environ={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert ending.error == "Unavailable", ending
    assert "127.0.0.1:9" in ending.message


def test_a_pass_that_does_not_wait_says_what_it_would_wait_for(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    nowhere = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    one.run(one.study(), environ=nowhere, timeout="1s")
    ending = one.call("resume", "night", once=True, environ=nowhere)
    assert ending.state == "running", ending
    assert "no connection to 127.0.0.1:9" in ending.message
    assert "no connection" not in one.run(one.study()).message


def test_a_rotated_key_of_the_same_account_is_proved_by_its_batches(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"latency": {"batch": [20_000, 40_000], "live": [0, 0]}})
    one.call("submit", one.study())
    one.emulator.finish()
    ending = one.call("resume", "night", environ={"OPENAI_API_KEY": "sk-rotated-0123456789"})
    assert ending.state == "done", ending
    assert any("API key changed" in text for text in ending.said)
    one.assert_paid_once()


def test_a_pass_that_cannot_ask_whose_account_it_is_says_so(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"latency": {"batch": [20_000, 40_000], "live": [0, 0]}})
    one.call("submit", one.study())
    unreachable = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    for bound in ({"once": True}, {"timeout": "20s"}):
        ending = one.call("resume", "night", environ=unreachable, **bound)
        assert ending.error == "Unavailable", ending
        assert "the address changed since batches were sent" in ending.message
    one.emulator.finish()
    assert one.call("resume", "night").state == "done"
    one.assert_paid_once()


def test_another_account_is_noticed_before_anything_is_sent(scenario: Callable[..., Scenario]) -> None:
    home, away = scenario(faults=[{"on": "create", "do": "drop_answer", "times": 1}]), scenario()
    study = home.study(5)
    killed = home.run(study, environ={"OVERNIGHT_KILL_AT": _checkpoint_after(home, "committed creating")})
    assert killed.signal is not None
    elsewhere = {"OPENAI_BASE_URL": away.emulator.openai_url, "OPENAI_API_KEY": "sk-other-account"}
    ending = home.run(study, environ=elsewhere)
    assert ending.error == "AccountChanged", ending
    assert "address and API key" in ending.message
    assert "--accept-account" in ending.message
    assert away.log()["call_counts"].get("POST /files", 0) == 0
    assert away.batches() == []
    assert home.run(study).state == "done"
    home.assert_paid_once()


def _checkpoint_after(one: Scenario, name: str) -> str:
    """The number of a checkpoint, found by an undisturbed run of the same shape."""
    log = one.folder / "checkpoints"
    probe = one.study(5, name="probe", prompt="Count {text}.")
    one.emulator.arm([])
    one.run(probe, environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    one.emulator.arm([{"on": "create", "do": "drop_answer", "times": 1}])
    return str(log.read_text().splitlines().index(name) + 2)


def test_the_key_is_nowhere(scenario: Callable[..., Scenario]) -> None:
    one = scenario(
        faults=[
            {"on": "row", "do": "error", "status": 500, "odds": 0.3},
            {"on": "create", "do": "status", "status": 429, "message": f"Incorrect API key {KEY}", "times": 1},
        ]
    )
    ending = one.run(one.study(30))
    found = [path for path in _files(one.folder) if KEY.encode() in path.read_bytes()]
    assert found == []
    assert not any(KEY in text for text in ending.said)


def _files(folder: Path) -> list[Path]:
    return [Path(root) / name for root, _, names in os.walk(folder / "runs") for name in names]
