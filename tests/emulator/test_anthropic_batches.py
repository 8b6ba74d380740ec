"""Message Batches, driven by the official SDK."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import pytest
from anthropic import Anthropic

from emulator.messaging import Connect, connecting, ended, finished, kinds, params, requests, results
from emulator_process import EmulatorProcess
from overnight_emulator.simulate import expected_answer

connect = pytest.fixture(connecting)
OLD = {"anthropic-version": "2023-06-01"}


@pytest.fixture
def client(shared: EmulatorProcess, connect: Connect) -> Anthropic:
    return connect(shared)


def test_a_batch_from_create_to_results(client: Anthropic) -> None:
    sent = requests(12)
    batch = client.messages.batches.create(requests=sent)
    assert batch.id.startswith("msgbatch_")
    assert (batch.processing_status, batch.request_counts.processing) == ("in_progress", 12)
    assert (batch.expires_at - batch.created_at).total_seconds() == pytest.approx(86_400)
    assert batch.results_url is None
    over = ended(client, batch)
    counts = over.request_counts
    assert (counts.processing, counts.succeeded, counts.errored) == (0, 12, 0)
    found = results(client, over)
    assert sorted(found) == sorted(one["custom_id"] for one in sent)
    assert list(found) != [one["custom_id"] for one in sent]
    for one in sent:
        message = found[one["custom_id"]].message
        assert message.content[0].text == expected_answer(0, one["params"], dialect="anthropic")
        assert (message.stop_reason, message.usage.service_tier) == ("end_turn", "batch")
    assert over.results_url is not None
    assert over.results_url.startswith(str(client.base_url).rstrip("/"))


def test_results_are_not_there_before_the_end(emulator: EmulatorProcess, connect: Connect) -> None:
    client = connect(emulator)
    batch = client.messages.batches.create(requests=requests(1))
    with pytest.raises(anthropic.AnthropicError):
        client.messages.batches.results(batch.id)
    with pytest.raises(anthropic.NotFoundError, match="no available results"):
        client.get(f"/v1/messages/batches/{batch.id}/results", cast_to=object)
    with pytest.raises(anthropic.BadRequestError, match="cannot be deleted"):
        client.messages.batches.delete(batch.id)


def test_pages_go_both_ways(emulator: EmulatorProcess, connect: Connect) -> None:
    client = connect(emulator)
    made = [client.messages.batches.create(requests=requests(1)).id for _ in range(5)][::-1]
    first = client.messages.batches.list(limit=2)
    assert [one.id for one in first.data] == made[:2]
    assert (first.has_more, first.first_id, first.last_id) == (True, made[0], made[1])
    assert [one.id for one in client.messages.batches.list(limit=2)][:5] == made
    back = client.messages.batches.list(limit=2, before_id=made[4])
    assert [one.id for one in back.data] == made[2:4]
    assert back.has_more
    assert not client.messages.batches.list(limit=5, before_id=made[2]).has_more
    with pytest.raises(anthropic.BadRequestError):
        client.messages.batches.list(limit=1001)
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.list(after_id="msgbatch_none")


def test_cancelling_keeps_what_was_done(emulator: EmulatorProcess, connect: Connect) -> None:
    client = connect(emulator)
    batch = client.messages.batches.create(requests=requests(10))
    emulator.advance(500)
    stopping = client.messages.batches.cancel(batch.id)
    assert stopping.processing_status == "canceling"
    assert stopping.cancel_initiated_at is not None
    over = finished(emulator, client, stopping)
    counts = over.request_counts
    assert counts.canceled > 0
    assert counts.succeeded + counts.canceled == 10
    assert kinds(client, over) == ["canceled"] * counts.canceled + ["succeeded"] * counts.succeeded
    with pytest.raises(anthropic.BadRequestError):
        client.messages.batches.cancel(batch.id)


def test_what_is_not_done_in_time_expires(emulate: Callable[..., EmulatorProcess], connect: Connect) -> None:
    slow = emulate({"time_scale": 1, "latency": {"batch": [170_000, 170_000], "live": [0, 0]}})
    client = connect(slow)
    batch = client.messages.batches.create(requests=requests(10))
    slow.advance(86_500)
    over = client.messages.batches.retrieve(batch.id)
    counts = over.request_counts
    assert over.processing_status == "ended"
    assert counts.succeeded + counts.expired == 10
    assert counts.expired > 0
    assert kinds(client, over).count("expired") == counts.expired
    slow.advance(29 * 86_400)
    archived = client.messages.batches.retrieve(batch.id)
    assert archived.archived_at is not None
    assert archived.results_url is None
    with pytest.raises(anthropic.NotFoundError):
        client.get(f"/v1/messages/batches/{batch.id}/results", cast_to=object)


def test_a_deleted_batch_is_gone_but_stays_in_the_log(emulator: EmulatorProcess, connect: Connect) -> None:
    client = connect(emulator)
    batch = finished(emulator, client, client.messages.batches.create(requests=requests(1)))
    assert client.messages.batches.delete(batch.id).type == "message_batch_deleted"
    assert batch.id not in [one.id for one in client.messages.batches.list(limit=20)]
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.retrieve(batch.id)
    assert batch.id in [one["id"] for one in emulator.log(calls=False)["batches"]]


def _bad_ids() -> Iterator[tuple[str, list[Any]]]:
    yield "String should match", [{"custom_id": "with space", "params": params()}]
    yield "String should match", [{"custom_id": "x" * 65, "params": params()}]
    yield "String should match", [{"custom_id": "", "params": params()}]
    yield "Field required", [{"params": params()}]
    yield "used before", [*requests(2), *requests(1)]
    yield "wanted from 1", []


@pytest.mark.parametrize(("words", "sent"), list(_bad_ids()))
def test_a_create_is_refused_whole(client: Anthropic, words: str, sent: list[Any]) -> None:
    with pytest.raises(anthropic.BadRequestError, match=words) as caught:
        client.messages.batches.create(requests=sent)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.request_id is not None
    assert caught.value.body["request_id"] == caught.value.request_id


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stream": True}, "stream"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 64_001}, "maximum allowed"),
        ({"model": "claude-typo-typo"}, "model: claude-typo-typo"),
        ({"messages": None}, "messages: Field required"),
        ({"messages": [{"role": "system", "content": "Be brief."}]}, "Unexpected role"),
        ({"temperature": 1.0}, "temperature"),
        ({"thinking": {"type": "adaptive"}}, "thinking.type.adaptive"),
    ],
)
def test_params_fail_their_own_row(client: Anthropic, wrong: dict[str, Any], words: str) -> None:
    sent = [{"custom_id": "bad", "params": params(**wrong)}, {"custom_id": "good", "params": params()}]
    found = results(client, ended(client, client.messages.batches.create(requests=sent)))
    assert found["good"].type == "succeeded"
    assert found["bad"].type == "errored"
    assert words in found["bad"].error.error.message


def test_under_the_older_version_sampling_is_taken(shared: EmulatorProcess, connect: Connect) -> None:
    old = connect(
        shared, api_key=None, default_headers={**OLD, "X-Api-Key": "sk-ant-old", "Authorization": anthropic.omit}
    )
    sent = [{"custom_id": "warm", "params": params(temperature=0.5)}]
    found = results(old, ended(old, old.messages.batches.create(requests=sent)))
    assert found["warm"].type == "succeeded"


def test_a_thousand_requests_more_than_the_limit_are_too_many(
    emulate: Callable[..., EmulatorProcess], connect: Connect
) -> None:
    small = connect(emulate({"limits": {"requests": 3, "bytes": 2_000}}))
    with pytest.raises(anthropic.BadRequestError, match="wanted from 1 to 3"):
        small.messages.batches.create(requests=requests(4))
    with pytest.raises(anthropic.RequestTooLargeError) as caught:
        small.messages.batches.create(requests=[{"custom_id": "long", "params": params("x" * 3_000)}])
    assert caught.value.type == "request_too_large"


def test_the_log_counts_rows_and_rows_run_twice(emulate: Callable[..., EmulatorProcess], connect: Connect) -> None:
    emulator = emulate({})
    client = connect(emulator)
    for _ in range(2):
        ended(client, client.messages.batches.create(requests=requests(2)))
    log = emulator.log()
    assert [(one["dialect"], one["name"], one["rows"], one["executed"]) for one in log["batches"]] == [
        ("anthropic", "r0", 2, 2)
    ] * 2
    assert log["rows_run"] == 4
    assert sorted(one["custom_ids"] for one in log["rows_run_twice"]) == [["r0", "r0"], ["r1", "r1"]]
    assert log["call_counts"]["POST /v1/messages/batches"] == 2


def test_a_restart_loses_nothing(emulate: Callable[..., EmulatorProcess], connect: Connect) -> None:
    emulator = emulate({"time_scale": 1, "latency": {"batch": [1000, 1000], "live": [0, 0]}})
    batch = connect(emulator).messages.batches.create(requests=requests(3))
    emulator.restart()
    client = connect(emulator)
    over = finished(emulator, client, client.messages.batches.retrieve(batch.id))
    assert kinds(client, over) == ["succeeded"] * 3
