"""A run that is handed to somebody else: all of it is in its folder, and nothing of the machine that it came from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ledger import damage
from overnight import api
from overnight.ledger.identity import fingerprint
from scenarios.bill import assert_bill, priced
from scenarios.conftest import KEY, Scenario

OTHER_KEY = "sk-other-9876543210zyxwvutsrqponm"


def handed_on(one: Scenario) -> None:
    """Zipped, sent, and unpacked in another place; the folder that it came from is not there any more."""
    packed = shutil.make_archive(str(one.folder.parent / "sent"), "zip", one.folder / "runs", "night")
    one.folder = one.folder.parent / "elsewhere"
    shutil.unpack_archive(packed, one.folder / "runs")


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@pytest.mark.parametrize("mode", ["batch", "live"])
def test_whoever_gets_a_run_reads_it_and_checks_it(scenario: Callable[..., Scenario], mode: str) -> None:
    one = scenario()
    assert one.run(priced(one, mode=mode)).state == "done"
    before, home = one.table_digest(), str(one.folder)
    price_file = damage.found(one.folder / "runs" / "night", "SELECT value FROM fact WHERE name='prices_file'")
    assert price_file == [(f"{home}/prices.yaml",)]
    damage.edit(one.folder / "runs" / "night", "UPDATE fact SET value='' WHERE name='prices_file'")
    damage.edit(one.folder / "runs" / "night", "VACUUM")
    handed_on(one)
    for path in files(one.folder):
        assert home.encode() not in path.read_bytes(), path
        assert KEY.encode() not in path.read_bytes(), path
    assert one.findings() == []
    api.rebuild("night", runs=one.folder / "runs")
    assert one.table_digest() == before
    assert_bill(one)


def test_whoever_gets_a_run_goes_on_with_a_key_of_their_own(scenario: Callable[..., Scenario]) -> None:
    one = scenario()
    killed = one.run(priced(one), environ={"OVERNIGHT_KILL_AT": "30"})
    assert killed.signal is not None
    batches = len(one.batches())
    assert batches < 3
    handed_on(one)
    ending = one.call("resume", "night", accept_account=True, environ={"OPENAI_API_KEY": OTHER_KEY})
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 12}
    assert_bill(one)
    one.assert_paid_once()
    for path in files(one.folder):
        assert OTHER_KEY.encode() not in path.read_bytes(), path


def test_a_fingerprint_tells_keys_apart_in_its_own_run_only() -> None:
    assert fingerprint("run", KEY) == fingerprint("run", KEY) != fingerprint("run", OTHER_KEY)
    assert fingerprint("run", KEY) != fingerprint("another", KEY)
    assert fingerprint("run", KEY)[:6] not in KEY
