"""Bodies with status 200, in the right format, that are of another kind or another batch: they prove nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ledger import damage
from overnight import api
from overnight.core.shard import custom_id
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import RawFiles
from overnight.providers import batch_format, vendor
from overnight.store.run_folder import RunFolder
from scenarios.bill import assert_bill, priced
from scenarios.conftest import PROVIDERS, SHAPES, Ending, Scenario
from scenarios.lying_proxy import Exchange, Lie, LyingProxy
from scenarios.test_restored import back_up, before_the_intents, put_back, uncut

CUSTOM_ID = re.compile(rb"o([a-z2-7]{20})-\d+")
MANY = 6


@contextmanager
def lied_to(one: Scenario, lie: Lie) -> Iterator[tuple[LyingProxy, dict[str, str]]]:
    """A proxy before the emulator, and the addresses that lead through it."""
    with LyingProxy(one.emulator.url, lie) as proxy:
        yield proxy, {name: url.replace(one.emulator.url, proxy.url) for name, url in one.addresses.items()}


def first(times: int, lie: Lie) -> Lie:
    """So many lies, and then the truth."""
    told = 0

    def limited(exchange: Exchange) -> bytes | None:
        nonlocal told
        body = lie(exchange) if told < times else None
        told += body is not None
        return body

    return limited


def inputs(run: Path) -> Lie:
    """The batch's own requests, in the place of its answers."""

    def lie(exchange: Exchange) -> bytes | None:
        token = CUSTOM_ID.search(exchange.body) if exchange.method == "GET" and exchange.status == 200 else None
        if token is None:
            return None
        return _input_of(RunFolder(run), token[1].decode())

    return lie


def _input_of(folder: RunFolder, token: str) -> bytes:
    """What the attempt has sent, made once more from what is on record: the file is gone by now."""
    with look_at(folder) as view, RawFiles(folder.files, view.files.paths()) as kept:
        (attempt,) = (one for one in view.attempts.everything() if one.token == token)
        model = view.stages.arms()[attempt.arm].model
        line = batch_format(vendor(model.provider)).line
        rows = list(view.shards.places(attempt.shard))
        return b"".join(line(model, custom_id(token, number), kept.read(*place)) + b"\n" for number, *place in rows)


def others() -> Lie:
    """The answers of another batch, as a cache on the way may give them."""
    kept: list[bytes] = []

    def lie(exchange: Exchange) -> bytes | None:
        if exchange.method != "GET" or exchange.status != 200 or CUSTOM_ID.search(exchange.body) is None:
            return None
        kept.append(exchange.body)
        return kept[0] if kept[0] != exchange.body else None

    return lie


def assert_nothing_happened(one: Scenario, ending: Ending) -> None:
    """As a run that nobody has lied to."""
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 12}
    assert len(one.batches()) == 3
    assert one.findings() == []
    one.assert_paid_once()
    assert_bill(one)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_requests_in_place_of_the_answers_prove_nothing(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    with lied_to(one, first(MANY, inputs(one.folder / "runs/night"))) as (proxy, there):
        ending = one.run(priced(one, budget=0.05), environ=there)
    assert proxy.lies == MANY
    assert_nothing_happened(one, ending)
    assert set(one.attempts()["cause"]) == {None}


@pytest.mark.parametrize("provider", [*SHAPES, "groq"])
def test_the_requests_prove_nothing_however_long_they_come(scenario: Callable[..., Scenario], provider: str) -> None:
    """Each of their lines names a row and is no answer, as in a file that the provider has spoilt."""
    one = scenario(provider=provider)
    with lied_to(one, first(4, inputs(one.folder / "runs/night"))) as (proxy, there):
        assert one.call("submit", priced(one, 5), environ=there).state == "submitted"
        for _ in range(7):
            one.emulator.advance(2 * 3600)
            ending = one.call("resume", "night", once=True, environ={**there, **one.going_on})
            if ending.state != "running":
                break
    assert ending.state == "done", ending
    assert proxy.lies == 4
    assert set(one.attempts()["cause"]) == {None}
    assert_bill(one)
    one.assert_paid_once()


@pytest.mark.parametrize("provider", SHAPES)
def test_the_answers_of_another_batch_prove_nothing(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    with lied_to(one, first(MANY, others())) as (proxy, there):
        ending = one.run(priced(one, budget=0.05), environ=there)
    assert proxy.lies
    assert_nothing_happened(one, ending)


def listing_with(entry: Any) -> Lie:
    """One entry more, first of all, in every listing of batches."""

    def lie(exchange: Exchange) -> bytes | None:
        if exchange.method != "GET" or exchange.status != 200:
            return None
        try:
            page = json.loads(exchange.body)
        except ValueError:
            return None
        if isinstance(page, list):
            return json.dumps([entry, *page]).encode()
        name = next((name for name in _LISTS if isinstance(page, dict) and isinstance(page.get(name), list)), None)
        if name is None or exchange.path.endswith("/files"):
            return None
        return json.dumps({**page, name: [entry, *page[name]]}).encode()

    return lie


_LISTS = ("data", "batches", "operations", "batchPredictionJobs", "batchInferenceJobs", "invocationJobSummaries")
ODD_ENTRIES: dict[str, Any] = {"nothing": None, "a number": 7, "no id": {"status": "completed"}, "a file": {"id": "file-1", "object": "file"}}  # fmt: skip


@pytest.mark.parametrize("provider", PROVIDERS)
def test_one_odd_entry_of_a_listing_stops_nobody(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    with lied_to(one, listing_with(None)) as (proxy, there):
        ending = one.run(priced(one, budget=0.05), environ=there)
    assert proxy.lies
    assert_nothing_happened(one, ending)


@pytest.mark.parametrize("odd", ODD_ENTRIES)
@pytest.mark.parametrize("provider", ["anthropic", "openai", "together"])
def test_a_listing_with_an_odd_entry_proves_no_absence(
    scenario: Callable[..., Scenario], provider: str, odd: str
) -> None:
    """The batch was made, its answer lost, and the listing shows something unreadable in its place: the user decides."""
    lost = {"on": "create", "do": "drop_answer", "times": 1}
    one = scenario(faults=[lost], provider=provider)
    study = priced(one, 4, budget=0.05)
    with lied_to(one, in_place_of_batches(ODD_ENTRIES[odd])) as (_, there):
        ending = one.run(study, environ=there)
    assert len(one.batches()) == 1
    assert ending.state == "undecided", ending
    assert "an entry that nobody can read" in ending.message
    batch = one.batches()[0]["id"]
    api.resolve_shard("night", 1, batch_id=batch, runs=one.folder / "runs")
    assert one.run(study).state == "done"
    assert one.statuses() == {"answered": 4}
    one.assert_paid_once()
    assert_bill(one)


def in_place_of_batches(entry: Any) -> Lie:
    """Every entry of a listing of batches is this one."""

    def lie(exchange: Exchange) -> bytes | None:
        if exchange.method != "GET" or exchange.status != 200 or exchange.path.endswith("/files"):
            return None
        try:
            page = json.loads(exchange.body)
        except ValueError:
            return None
        if isinstance(page, list):
            return json.dumps([entry] * len(page)).encode() if page else None
        if not isinstance(page, dict) or not isinstance(page.get("data"), list) or not page["data"]:
            return None
        return json.dumps({**page, "data": [entry] * len(page["data"])}).encode()

    return lie


def swapped(part: str, times: int = 1) -> Lie:
    """The second answer to such a POST is the first one again, as a cache on the way gives it."""
    kept: list[bytes] = []
    told = 0

    def lie(exchange: Exchange) -> bytes | None:
        nonlocal told
        if exchange.method != "POST" or not exchange.path.endswith(part) or exchange.status != 200:
            return None
        kept.append(exchange.body)
        if len(kept) == 1 or told >= times:
            return None
        told += 1
        return kept[0]

    return lie


def kind_of_file(exchange: Exchange) -> bytes | None:
    """A file in the answer to a create."""
    if exchange.method != "POST" or not exchange.path.endswith("/batches") or exchange.status != 200:
        return None
    return b'{"id":"file-1","object":"file","status":"processed","filename":"x.jsonl","bytes":7}'


def untagged(exchange: Exchange) -> bytes | None:
    """Somebody else's batch in the answer to a create: of another input, without a tag."""
    if exchange.method != "POST" or not exchange.path.endswith("/batches") or exchange.status != 200:
        return None
    return json.dumps(
        {**json.loads(exchange.body), "id": "batch_1", "metadata": None, "input_file_id": "file-1"}
    ).encode()


ANSWERS: dict[str, Lie] = {"another upload": swapped("/files"), "a file": first(1, kind_of_file), "a stranger's batch": first(1, untagged)}  # fmt: skip


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_about_something_else_is_no_answer(scenario: Callable[..., Scenario], what: str) -> None:
    one = scenario()
    with lied_to(one, ANSWERS[what]) as (proxy, there):
        ending = one.run(priced(one, budget=0.05), environ=there)
    assert proxy.lies == 1
    assert_nothing_happened(one, ending)
    # Not for a moment: a batch of that name may be there, and somebody else's.
    believed = damage.found(one.folder / "runs/night", "SELECT data ->> 'batch_id' FROM event WHERE kind='accepted'")
    assert {name for (name,) in believed} == {batch["id"] for batch in one.batches()}


@pytest.mark.parametrize("body", [b"{}", b'{"error":{"message":"no"}}', b'{"data":[{"id":"file-1"}]}'])
def test_names_of_files_that_did_not_come_prove_no_absence(scenario: Callable[..., Scenario], body: bytes) -> None:
    """Together's batches are known by the names of their inputs: without these, none of them seems to be ours."""
    one = scenario(faults=[{"on": "create", "do": "drop_answer", "times": 1}], provider="together")

    def lie(exchange: Exchange) -> bytes | None:
        listed = exchange.method == "GET" and exchange.path.endswith("/files")
        return body if listed and one.batches() else None

    study = priced(one, 4, budget=0.05)
    with lied_to(one, first(8, lie)) as (proxy, there):
        ending = one.run(study, environ=there)
        if ending.state != "done":
            ending = one.run(study, environ=there)
    assert proxy.lies
    assert len(one.batches()) == 1
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 4}
    one.assert_paid_once()
    assert_bill(one)


@pytest.mark.parametrize("body", [b"{}", b'{"data":[{"id":"file-1"}]}'])
def test_without_the_names_of_files_an_older_run_sends_nothing(scenario: Callable[..., Scenario], body: bytes) -> None:
    """A run put back from before its shards were cut knows its batches at Together by these names alone."""
    one = scenario(provider="together")
    run = one.folder / "runs" / "night"
    before_the_intents(one, one.study(12))
    kept = back_up(one)
    assert one.run(one.study(12)).state == "done"
    made = len(one.batches())
    put_back(one, kept)
    damage.edits(run, "DELETE FROM attempt", "DELETE FROM event")
    uncut(RunFolder(run))
    (run / "sent").unlink()

    def lie(exchange: Exchange) -> bytes | None:
        return body if exchange.method == "GET" and exchange.path.endswith("/files") else None

    with lied_to(one, lie) as (proxy, there):
        ending = one.run(one.study(12, batch={"max_requests": 3}), environ=there, timeout="1h")
    assert proxy.lies
    assert ending.state != "done", ending
    assert len(one.batches()) == made
    one.assert_paid_once()
