"""The Anthropic dialect told to misbehave, seen by the official SDK."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from emulator.messaging import Connect, connecting, finished, kinds, params, requests, results
from emulator_process import EmulatorProcess

connect = pytest.fixture(connecting)


@pytest.fixture
def client(emulator: EmulatorProcess, connect: Connect) -> Anthropic:
    return connect(emulator)


def ids(client: Anthropic) -> set[str]:
    return {one.id for one in client.messages.batches.list(limit=100)}


@pytest.mark.parametrize(("misdeed", "born"), [("drop_answer", 1), ("lose_request", 0), ("twice", 2)])
def test_a_create_without_an_answer(emulator: EmulatorProcess, client: Anthropic, misdeed: str, born: int) -> None:
    before = ids(client)
    emulator.arm([{"on": "create", "do": misdeed, "times": 1}])
    with pytest.raises(anthropic.APIConnectionError):
        client.messages.batches.create(requests=requests(1))
    assert len(ids(client) - before) == born


@pytest.mark.parametrize("fault", [{"do": "delay_create"}, {"do": "hide", "drop": True}])
def test_a_create_that_shows_up_late(emulator: EmulatorProcess, client: Anthropic, fault: dict[str, Any]) -> None:
    before = ids(client)
    emulator.arm([{"on": "create", "seconds": 500, "times": 1, **fault}])
    with pytest.raises(anthropic.APIConnectionError):
        client.messages.batches.create(requests=requests(1))
    assert ids(client) == before
    emulator.advance(501)
    assert len(ids(client) - before) == 1


@pytest.mark.parametrize(
    ("status", "family", "kind"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (529, anthropic.OverloadedError, "overloaded_error"),
    ],
)
@pytest.mark.parametrize("on", ["create", "retrieve", "list", "live"])
def test_refusals_have_their_types(
    emulator: EmulatorProcess,
    client: Anthropic,
    on: str,
    status: int,
    family: type[anthropic.APIStatusError],
    kind: str,
) -> None:
    batch = client.messages.batches.create(requests=requests(1))
    emulator.arm([{"on": on, "do": "status", "status": status, "message": "Not now.", "retry_after": 7}])
    calls = {
        "create": lambda: client.messages.batches.create(requests=requests(1)),
        "retrieve": lambda: client.messages.batches.retrieve(batch.id),
        "list": client.messages.batches.list,
        "live": lambda: client.messages.create(**params()),
    }
    with pytest.raises(family, match="Not now") as caught:
        calls[on]()
    assert (caught.value.type, caught.value.response.headers["retry-after"]) == (kind, "7")


def test_rows_may_fail_go_missing_or_come_twice(emulator: EmulatorProcess, client: Anthropic) -> None:
    emulator.arm(
        [
            {"on": "row", "do": "error", "status": 529, "message": "Overloaded", "where": "number 1?"},
            {"on": "row", "do": "omit", "where": "number 2?"},
            {"on": "row", "do": "no_usage", "where": "number 3?"},
            {"on": "row", "do": "duplicate", "where": "number 4?"},
            {"on": "row", "do": "unknown_id", "where": "number 5?"},
            {"on": "row", "do": "malformed", "where": "number 6?"},
        ]
    )
    batch = finished(emulator, client, client.messages.batches.create(requests=requests(8)))
    raw = client.get(f"/v1/messages/batches/{batch.id}/results", cast_to=str)
    lines = str(raw).splitlines()
    whole = [json.loads(line) for line in lines if line.endswith("}")]
    found = [line["custom_id"] for line in whole]
    assert (found.count("r4"), found.count("r2"), found.count("r6")) == (2, 0, 0)
    assert sum(one.startswith("stranger-") for one in found) == 1
    by_id = {line["custom_id"]: line["result"] for line in whole}
    assert by_id["r1"]["error"]["error"]["type"] == "overloaded_error"
    assert "usage" not in by_id["r3"]["message"]


def test_a_batch_may_expire_stick_or_fail(emulator: EmulatorProcess, client: Anthropic) -> None:
    emulator.arm(
        [
            {"on": "batch", "do": "expire", "share": 0.5, "times": 1},
            {"on": "batch", "do": "fail", "message": "No more of these.", "times": 1},
            {"on": "batch", "do": "empty_output", "times": 1},
            {"on": "batch", "do": "stuck", "times": 1},
        ]
    )
    expired, failed, empty, stuck = (client.messages.batches.create(requests=requests(4)) for _ in range(4))
    emulator.advance(2000)
    assert kinds(client, expired) == ["expired", "expired", "succeeded", "succeeded"]
    refused = results(client, failed)
    assert {one.error.error.message for one in refused.values()} == {"No more of these."}
    assert client.messages.batches.retrieve(failed.id).request_counts.errored == 4
    assert kinds(client, empty) == []
    assert client.messages.batches.retrieve(stuck.id).processing_status == "in_progress"
    client.messages.batches.cancel(stuck.id)
    emulator.advance(2000)
    assert client.messages.batches.retrieve(stuck.id).processing_status == "ended"


def test_an_unheard_of_status_is_shown(emulator: EmulatorProcess, client: Anthropic) -> None:
    emulator.arm([{"on": "batch", "do": "status_word", "word": "meditating"}])
    batch = client.messages.batches.create(requests=requests(1))
    emulator.advance(500)
    assert str(client.messages.batches.retrieve(batch.id).processing_status) == "meditating"


def test_a_download_may_break_off(emulator: EmulatorProcess, client: Anthropic) -> None:
    batch = finished(emulator, client, client.messages.batches.create(requests=requests(20)))
    emulator.arm([{"on": "content", "do": "cut", "at": 0.5, "times": 1}])
    with pytest.raises(Exception, match=r"peer closed|incomplete|Connection"):
        results(client, batch)
    assert len(results(client, batch)) == 20


def test_a_full_queue_turns_a_create_away(emulator: EmulatorProcess, connect: Connect) -> None:
    with EmulatorProcess({"limits": {"enqueued_tokens": {"claude-*": 30}}, "time_scale": 1}) as narrow:
        client = connect(narrow)
        client.messages.batches.create(requests=requests(4))
        with pytest.raises(anthropic.RateLimitError, match="queue"):
            client.messages.batches.create(requests=requests(4))
