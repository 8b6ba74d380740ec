"""A pool: several accounts or replicas answer for one arm, one of them dies, and no row shows it."""

from __future__ import annotations

import hashlib
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from emulator_process import EmulatorProcess
from overnight.serving.known_runs import KnownRuns
from overnight.serving.screens.accounts import accounts_screen, queues_of
from overnight.settings import settings
from scenarios.conftest import KEY, TIME_SCALE, Scenario
from scenarios.matrix import kills, parts

MODEL = "openai/gpt-4.1-mini"
PARTS = parts(4, sampled=1)
NO_CREDIT = {"status": 429, "code": "insufficient_quota", "message": "You exceeded your current quota"}


class Replicas:
    """Servers that answer alike; the first is the scenario's own."""

    def __init__(self, night: Scenario, others: Sequence[dict[str, Any]]) -> None:
        self.all = [night.emulator, *(self._begun(truth) for truth in others)]

    @staticmethod
    def _begun(truth: dict[str, Any]) -> EmulatorProcess:
        base = {"time_scale": TIME_SCALE, "latency": {"batch": [60, 600], "live": [0, 0]}, "seed": 7}
        return EmulatorProcess({**base, **truth, "limits": {"fewest_requests": 1}}, None, "--strict").start()

    @property
    def urls(self) -> list[str]:
        return [one.openai_url for one in self.all]

    def rows(self) -> list[int]:
        return [one.log()["rows_run"] for one in self.all]

    def close(self) -> None:
        for one in self.all[1:]:
            one.close()


@pytest.fixture
def replicas() -> Iterator[Callable[..., Replicas]]:
    begun: list[Replicas] = []

    def begin(night: Scenario, *others: dict[str, Any]) -> Replicas:
        begun.append(Replicas(night, others))
        return begun[-1]

    yield begin
    for one in begun:
        one.close()


def pool(urls: Sequence[str], **more: Any) -> dict[str, Any]:
    return {"models": [{"model": MODEL, "base_url": list(urls), **more}]}


def without_keys(table: pl.DataFrame) -> str:
    """Ports differ from test to test, and the first address is part of a question's key."""
    return hashlib.sha256(table.drop("request_key").write_csv().encode()).hexdigest()


def times_answered(servers: Replicas) -> dict[str, int]:
    """How often each question was answered, all servers together."""
    found: dict[str, int] = {}
    for server in servers.all:
        for row in server.log()["rows_run_twice"]:
            found[str(row)] = row["times"]
    return found


def assert_each_batch_once(servers: Replicas) -> None:
    names = [batch["name"] for one in servers.all for batch in one.log()["batches"] if batch["executed"]]
    assert len(names) == len(set(names))
    assert times_answered(servers) == {}


# --- live


def test_rows_are_spread_and_no_row_shows_who_answered(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]
) -> None:
    one = scenario()
    servers = replicas(one, {}, {})
    alone = one.run(one.study(240, name="alone", mode="live", **pool(servers.urls[:1])))
    assert alone.state == "done", alone
    before = servers.rows()[0]
    together = one.run(one.study(240, mode="live", **pool(servers.urls)))
    assert together.state == "done", together
    spread = servers.rows()
    spread[0] -= before
    assert sum(spread) == 240
    assert min(spread) >= 20, spread
    assert one.table_digest("alone") == one.table_digest()  # the keys of the rows too: the first address stands for all
    assert one.findings() == []


def test_a_replica_that_is_killed_leaves_its_rows_to_the_others(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]
) -> None:
    slow = {"time_scale": 1_000, "latency": {"live": [20, 60]}}
    one = scenario(slow)
    servers = replicas(one, slow, slow)

    def kill_the_second() -> None:
        until = time.monotonic() + 60
        while servers.all[1].log()["rows_run"] < 10 and time.monotonic() < until:
            time.sleep(0.02)
        servers.all[1].kill()

    killer = threading.Thread(target=kill_the_second)
    killer.start()
    ending = one.run(one.study(300, mode="live", **pool(servers.urls)), environ={"OVERNIGHT_TIME_SCALE": "1000"})
    killer.join()
    assert ending.state == "done", ending
    assert any("nothing more is sent there, and its rows go to the other accounts" in text for text in ending.said)
    assert one.statuses() == {"answered": 300}
    assert one.findings() == []
    lost = one.attempts().filter(pl.col("cause") == "lost").height
    assert servers.all[0].log()["rows_run"] + servers.all[2].log()["rows_run"] >= 300 - 300 // 3
    assert lost < 100  # what was under way when it died; all else was answered once


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_an_account_without_credit_leaves_its_rows_to_the_others(scenario: Callable[..., Scenario], mode: str) -> None:
    one = scenario({"keys": {"no_credit": ["sk-poor"], "refuse": ["sk-dead"]}})
    keys = {"FIRST_KEY": "sk-poor", "SECOND_KEY": "sk-dead", "THIRD_KEY": KEY}
    models = [{"model": MODEL, "keys": list(keys)}]
    ending = one.run(one.study(60, mode=mode, models=models), environ=keys)
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 60}
    one.assert_paid_once()
    said = [text for text in ending.said if "its rows go to the other accounts" in text]
    assert len(said) == 2, ending.said
    assert one.findings() == []


def test_when_all_are_dead_the_run_says_so_and_goes_on_later(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"keys": {"no_credit": ["sk-poor"], "refuse": ["sk-dead"]}})
    models = [{"model": MODEL, "keys": ["FIRST_KEY", "SECOND_KEY"]}]
    study = one.study(60, mode="live", models=models)
    dead = one.run(study, environ={"FIRST_KEY": "sk-poor", "SECOND_KEY": "sk-dead"})
    assert dead.error in ("OutOfCredit", "Unauthorized"), dead
    assert one.run(study, environ={"FIRST_KEY": KEY, "SECOND_KEY": "sk-dead"}).state == "done"
    assert one.statuses() == {"answered": 60}


def test_each_address_of_a_pool_needs_the_users_consent(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    strange = ["https://first.example/v1", "https://second.example/v1"]
    for given in (strange, [one.emulator.openai_url, strange[1]]):
        refused = one.run(one.study(5, mode="live", **pool(given)))
        assert refused.error == "ConsentNeeded", refused
        assert ("first.example" if given is strange else "second.example") in refused.message
    assert one.log()["rows_run"] == 0


# --- by batch


def test_batches_are_spread_and_each_stays_with_its_account(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]
) -> None:
    one = scenario()
    servers = replicas(one, {}, {})
    study = one.study(30, **pool(servers.urls))
    sent = one.call("submit", study)
    assert sent.error is None, sent
    assert [len(server.log()["batches"]) for server in servers.all] == [2, 2, 2]
    assert one.run(study).state == "done"
    assert one.statuses() == {"answered": 30}
    assert_each_batch_once(servers)
    assert one.findings() == []


@pytest.mark.parametrize("rows", [4, 20])
def test_passes_that_do_not_wait_leave_a_poor_account_alone(scenario: Callable[..., Scenario], rows: int) -> None:
    """A refused create has to prove absent, which takes half a minute: the pass after that hands its rows on."""
    keys_told = {"no_credit": ["sk-poor"], "refuse": ["sk-dead"]}
    one = scenario({"keys": keys_told, "time_scale": 50, "latency": {"batch": [1, 5]}})
    keys = {"FIRST_KEY": "sk-poor", "SECOND_KEY": KEY}
    study = one.study(rows, models=[{"model": MODEL, "keys": list(keys)}])
    assert one.call("submit", study, environ=dict.fromkeys(keys, "sk-dead")).error == "Unauthorized"
    for _ in range(12):
        ending = one.call("resume", "night", once=True, environ={**keys, **one.going_on})
        if ending.state == "done":
            break
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": rows}
    one.assert_paid_once()


def test_members_come_and_go_between_runs(scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]) -> None:
    one = scenario()
    servers = replicas(one, {}, {})
    assert one.run(one.study(30, mode="live", **pool(servers.urls[:1]))).state == "done"
    assert one.run(one.study(120, mode="live", **pool(servers.urls))).state == "done"
    assert one.run(one.study(150, mode="live", **pool(servers.urls[:2]))).state == "done"
    assert sum(servers.rows()) == 150
    assert min(servers.rows()) > 0
    moved = one.run(one.study(150, mode="live", **pool(servers.urls[1:])))
    assert moved.error == "StudyChanged", moved  # another server may serve another model by that name


def test_a_rehearsal_of_a_pool_needs_no_key(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    models = [{"model": MODEL, "keys": ["NOT_SET", "NOT_SET_EITHER"], "base_url": "https://elsewhere.example/v1"}]
    ending = one.run(one.study(10, models=models), emulate=True)
    assert ending.state == "done", ending


def test_another_key_is_tried_on_each_member_until_one_sees_the_batches(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]
) -> None:
    one = scenario()
    servers = replicas(one, {})
    study = one.study(20, **pool(servers.urls))
    assert one.call("submit", study).error is None
    ending = one.run(study, environ={"OPENAI_API_KEY": f"{KEY}-rotated"})
    assert ending.state == "done", ending
    assert sum("same account: it sees our batches" in text for text in ending.said) == 2, ending.said
    assert servers.rows() == [10, 10]
    assert_each_batch_once(servers)


def test_the_dashboard_tells_the_accounts_of_a_pool_apart(scenario: Callable[..., Scenario]) -> None:
    one = scenario({"faults": [{"on": "batch", "do": "slow", "seconds": 5_000_000}]})
    keys = {"FIRST_KEY": KEY, "SECOND_KEY": f"{KEY}2"}
    assert one.call("submit", one.study(20, models=[{"model": MODEL, "keys": list(keys)}]), environ=keys).error is None
    queues = queues_of(KnownRuns(settings(runs=one.folder / "runs")).everything())
    assert {which: queue.batches for (_, _, which), queue in queues.items()} == {
        "account 1 of night": 2,
        "account 2 of night": 2,
    }
    page = accounts_screen([], queues, None).body
    assert "gpt-4.1-mini, account 1 of night" in page
    assert "gpt-4.1-mini, account 2 of night" in page


def test_the_open_batches_of_a_pool_are_asked_for_and_cancelled_where_they_are(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]
) -> None:
    slow = {"faults": [{"on": "batch", "do": "slow", "seconds": 5_000_000}]}
    one = scenario(slow)
    servers = replicas(one, slow, slow)
    study = one.study(15, **pool(servers.urls))
    assert one.call("submit", study).error is None
    looked = one.call("scenarios.pool_verbs:checked_batches", "night")
    assert looked.said == ("3 of 3 known to their providers",), looked
    assert one.call("cancel", "night").error is None
    statuses = [batch["status"] for server in servers.all for batch in server.log()["batches"]]
    assert set(statuses) <= {"cancelled", "cancelling"}, statuses


def test_a_member_that_dies_with_batches_running_is_told_of(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas]
) -> None:
    """Its rows may be paid for: they are not asked elsewhere. The others' are done, and a later pass goes on."""
    one = scenario()
    servers = replicas(one, {"latency": {"batch": [90_000_000, 90_000_000]}})
    study = one.study(20, **pool(servers.urls))
    assert one.call("submit", study).error is None
    servers.all[1].kill()
    ending = one.run(study, timeout=60_000)
    assert ending.state != "done"
    assert one.statuses() == {"answered": 10, "pending": 10}
    assert one.log()["rows_run"] == 10


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("mode", ["live", "batch"])
def test_any_kill_any_resume_same_bytes(
    scenario: Callable[..., Scenario], replicas: Callable[..., Replicas], part: int, mode: str, tmp_path: Path
) -> None:
    """Three replicas, of which one takes nothing after a while: killed at any point, nothing is paid twice."""
    event = "live" if mode == "live" else "create"
    dying = {"faults": [{"on": event, "do": "status", "skip": 1, **NO_CREDIT}]}
    fields: dict[str, Any] = {"mode": mode, "batch": {"max_requests": 6}}
    first = scenario()
    three = replicas(first, dying, {})
    log = tmp_path / "checkpoints"
    done = first.run(first.study(60, **fields, **pool(three.urls)), environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    assert done.state == "done", done
    assert three.rows()[1] in range(1, 21)
    expected, count = without_keys(first.table()), len(log.read_text().splitlines())
    first.close()
    three.close()
    for number in kills(count, part, len(PARTS), sample=3):
        one = scenario()
        servers = replicas(one, dying, {})
        study = one.study(60, **fields, **pool(servers.urls))
        killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
        assert killed.signal in (signal.SIGKILL, None), (number, killed)
        ending = one.run(study)
        assert ending.state == "done", (number, ending)
        assert without_keys(one.table()) == expected, number
        assert one.findings() == [], number
        if mode == "batch":
            assert_each_batch_once(servers)
        else:
            lost = one.attempts().filter(pl.col("cause") == "lost").height
            assert sum(servers.rows()) <= 60 + lost, number
        one.close()
        servers.close()
