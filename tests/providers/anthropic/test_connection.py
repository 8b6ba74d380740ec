"""Anthropic's endpoint, batch objects, refusals and calls, against scripted servers."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from emulator_process import EmulatorProcess
from overnight.core.ask import Model, Options
from overnight.core.errors import Gone, StudyError, Unauthorized, Unavailable
from overnight.providers import Batch, Counts, Endpoint, Intent, Limits
from overnight.providers.anthropic import AnthropicVendor
from overnight.providers.anthropic.batches import create_refusal, read_batch, read_page
from overnight.providers.anthropic.connection import AnthropicConnection
from overnight.providers.reading.responses import Response
from overnight.providers.wire.bodies import Envelope
from providers.asking import ask, stored
from providers.emulated import EmulatedVendor, end_of, rows_of, submit
from providers.scripted_server import Answer, replying, serving

KEY = "sk-ant-0123456789abcdef"
BASE = "https://api.anthropic.com"
VENDOR = AnthropicVendor()
ENVIRON = {"ANTHROPIC_API_KEY": KEY}
MODEL = Model(provider="anthropic", name="claude-haiku-4-5")
COUNTS = {"processing": 0, "succeeded": 3, "errored": 1, "canceled": 0, "expired": 0}
ENDED = {
    "id": "msgbatch_1",
    "type": "message_batch",
    "processing_status": "ended",
    "request_counts": COUNTS,
    "created_at": "2026-11-15T10:00:00.250000Z",
    "expires_at": "2026-11-16T10:00:00.250000Z",
    "results_url": f"{BASE}/v1/messages/batches/msgbatch_1/results",
}


def test_the_endpoint_comes_from_the_variables() -> None:
    plain = VENDOR.endpoint(ENVIRON, None)
    assert (plain.base_url, plain.key, plain.project) == (BASE, KEY, None)
    there = VENDOR.endpoint(ENVIRON | {"ANTHROPIC_BASE_URL": "http://h:1/", "ANTHROPIC_WORKSPACE_ID": "w"}, None)
    assert (there.base_url, there.project) == ("http://h:1", "w")
    own = msgspec.structs.replace(MODEL, key="LAB", base_url="https://lab/anthropic")
    lab = VENDOR.endpoint({"LAB": "sk-ant-lab-key", "ANTHROPIC_WORKSPACE_ID": "w"}, own)
    assert (lab.base_url, lab.key, lab.project) == ("https://lab/anthropic", "sk-ant-lab-key", None)
    assert KEY not in repr(plain) + repr(VENDOR.connect(plain))


def test_what_is_wrong_with_the_variables_is_said() -> None:
    with pytest.raises(Unauthorized, match=r"^ANTHROPIC_API_KEY is not set: put the Anthropic key.*--emulate"):
        VENDOR.endpoint({}, None)
    for address in ("https://api.anthropic.com/v1", "ftp://h", "h:1", "https://u:p@h", "https://h?x=1"):
        with pytest.raises(StudyError, match="ANTHROPIC_BASE_URL"):
            VENDOR.endpoint(ENVIRON | {"ANTHROPIC_BASE_URL": address}, None)


def test_limits() -> None:
    assert VENDOR.format.limits(MODEL) == Limits(requests=100_000, bytes=256_000_000, retention_days=29, discount="50%")


# --- objects


def batch(base: str = BASE, **change: Any) -> Batch:
    return read_batch(json.dumps(ENDED | change).encode(), base)


def test_a_batch_that_has_ended() -> None:
    found = batch()
    assert (found.id, found.phase, found.status, found.known_status) == ("msgbatch_1", "completed", "ended", True)
    assert (found.counts.total, found.counts.completed, found.counts.failed) == (4, 3, 1)
    assert found.parts == (("output", "msgbatch_1"),)
    assert found.created_at == 1794736800.25
    assert (found.expires_at or 0) - found.created_at == 86_400


@pytest.mark.parametrize(
    ("status", "counts", "phase", "known"),
    [
        ("in_progress", {"processing": 4}, "running", True),
        ("canceling", {"processing": 4}, "running", True),
        ("meditating", {"processing": 4}, "running", False),
        ("ended", {"succeeded": 3, "expired": 1}, "expired", True),
        ("ended", {"succeeded": 2, "expired": 1, "canceled": 1}, "cancelled", True),
        ("ended", {"errored": 4}, "completed", True),
    ],
)
def test_how_a_batch_stands_is_read_from_its_counts(status: str, counts: Any, phase: str, known: bool) -> None:
    found = batch(processing_status=status, request_counts=counts)
    assert (found.phase, found.known_status, found.counts.total) == (phase, known, 4)
    assert bool(found.parts) == (status == "ended")


def test_results_elsewhere_are_named_in_full() -> None:
    assert batch("http://gateway:8/anthropic").parts == (("output", f"msgbatch_1 {ENDED['results_url']}"),)
    assert batch(results_url=None).parts == (("output", "msgbatch_1"),)


def test_a_field_of_another_kind_is_not_known_and_the_rest_is_read() -> None:
    found = batch(request_counts="many", created_at=7)
    assert (found.id, found.phase, found.known_status) == ("msgbatch_1", "completed", True)
    assert (found.counts, found.created_at) == (Counts(), None)


def test_an_object_in_no_known_shape_is_running() -> None:
    found = batch(processing_status=["ended"])
    assert (found.id, found.phase, found.known_status) == ("msgbatch_1", "running", False)
    for body in (b"", b"[]", b"<html>"):
        with pytest.raises(Unavailable, match="base URL"):
            read_batch(body, BASE)
        with pytest.raises(Unavailable, match="base URL"):
            read_page(body, BASE)


def test_the_end_of_a_listing_must_be_said() -> None:
    page = json.dumps({"data": [ENDED], "has_more": False, "last_id": "msgbatch_1"}).encode()
    assert (read_page(page, BASE).has_more, read_page(page, BASE).cursor) == (False, "msgbatch_1")
    assert read_page(b'{"data":[{"id":"b"}]}', BASE).has_more
    assert not read_page(b'{"data":[]}', BASE).has_more


def test_a_batch_may_be_ours_by_its_size_alone(tmp_path: Path) -> None:
    intent = Intent(token="t", run="r", model=MODEL, rows=4, bytes=1, file=stored(tmp_path))
    assert VENDOR.format.ours(batch(), intent, None) == "maybe"
    assert VENDOR.format.ours(batch(request_counts=COUNTS | {"errored": 2}), intent, None) == "no"
    assert VENDOR.format.ours(batch(request_counts=None), intent, None) == "maybe"


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"type": "invalid_request_error", "message": "requests.0.custom_id: no"}, "invalid"),
        (400, {"message": "Your credit balance is too low to access the API"}, "no_credit"),
        (400, {"message": "On hold.", "details": {"error_code": "organization_on_hold"}}, "unauthorized"),
        (400, {"message": "too many requests in the batch"}, "too_large"),
        (401, {"message": "invalid x-api-key"}, "unauthorized"),
        (402, {"type": "billing_error", "message": "Pay."}, "no_credit"),
        (403, {"message": "No."}, "unauthorized"),
        (413, {"type": "request_too_large", "message": "Big."}, "too_large"),
        (429, {"message": "Slow."}, "throttled"),
        (429, {"message": "No.", "details": {"error_code": "enforced_spend_limit_reached"}}, "no_credit"),
        (529, {"type": "overloaded_error", "message": "Overloaded"}, "throttled"),
        (500, {"message": "Oh."}, None),
        (409, {"message": "Oh."}, None),
    ],
)
def test_refusals_by_kind(status: int, error: dict[str, Any], kind: str | None) -> None:
    refusal = create_refusal(Response(status=status, body=json.dumps({"type": "error", "error": error}).encode()))
    assert (refusal and refusal.kind) == kind


# --- on the wire


@pytest.fixture
def intent(tmp_path: Path) -> Intent:
    file = tmp_path / "in.jsonl"
    file.write_bytes(b'{"custom_id":"a","params":{}}\n{"custom_id":"b","params":{}}\n')
    return Intent(token="tok", run="essays", model=MODEL, rows=2, bytes=60, file=stored(file))


def with_server(answer: Answer, work: Callable[[AnthropicConnection, Any], Coroutine[Any, Any, Any]]) -> Any:
    async def outer() -> Any:
        async with serving(answer) as server:
            provider = AnthropicConnection(Endpoint(base_url=server.url, key=KEY, project="wrkspc"))
            try:
                return await work(provider, server)
            finally:
                await provider.close()

    return asyncio.run(outer())


def test_a_create_is_one_body_of_a_known_length(intent: Intent) -> None:
    async def work(provider: AnthropicConnection, server: Any) -> None:
        answer = await provider.create(intent, "")
        assert answer.batch is not None
        (request,) = server.seen
        assert server.bodies == [b'{"requests":[{"custom_id":"a","params":{}},{"custom_id":"b","params":{}}]}']
        assert int(request.headers["Content-Length"]) == len(server.bodies[0])
        assert "Transfer-Encoding" not in request.headers
        assert request.headers["Authorization"] == f"Bearer {KEY}"
        assert request.headers["anthropic-version"] == "2026-10-21"
        assert request.headers["anthropic-workspace-id"] == "wrkspc"
        assert "x-api-key" not in request.headers

    with_server(replying(200, ENDED), work)


def test_a_model_that_samples_is_asked_under_the_older_version(intent: Intent) -> None:
    warm = msgspec.structs.replace(MODEL, options=Options(temperature=0.5))

    async def work(provider: AnthropicConnection, server: Any) -> None:
        await provider.create(msgspec.structs.replace(intent, model=warm), "")
        await provider.call(warm, b"{}")
        for request in server.seen:
            assert request.headers["x-api-key"] == KEY
            assert request.headers["anthropic-version"] == "2023-06-01"
            assert "Authorization" not in request.headers

    with_server(replying(200, ENDED), work)


@pytest.mark.parametrize("content", [b"1\n2\n3\n", b"1\n2\n3", b"1\n"])
def test_an_envelope_is_a_list_of_its_lines(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "lines"
    file.write_bytes(content)
    envelope = Envelope(b'{"requests":[', stored(file), b"]}")

    async def whole() -> bytes:
        with envelope.opened() as pieces:
            return b"".join([piece async for piece in pieces])

    written = asyncio.run(whole())
    assert json.loads(written) == {"requests": [int(line) for line in content.split()]}
    assert envelope.length == len(written)


def test_an_envelope_is_never_whole_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_bytes(b'{"x":"%b"}\n' % (b"y" * 990) * 8_000)
    envelope = Envelope(b"[", stored(file), b"]")

    async def sizes() -> list[int]:
        with envelope.opened() as pieces:
            return [len(piece) async for piece in pieces]

    found = asyncio.run(sizes())
    assert max(found) <= 1 << 20
    assert sum(found) == envelope.length


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_trouble_leaves_a_create_open(intent: Intent, status: int) -> None:
    async def work(provider: AnthropicConnection, _: Any) -> None:
        answer = await provider.create(intent, "")
        assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, status, None, None)

    with_server(replying(status), work)


def test_results_at_another_origin_get_no_key() -> None:
    async def rows(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"rows\n")

    async def work(provider: AnthropicConnection, home: Any) -> None:
        async with serving(rows) as elsewhere:
            got = bytearray()
            assert await provider.fetch(f"msgbatch_1 {elsewhere.url}/signed", got.extend) == 5
            assert got == b"rows\n"
            (request,) = elsewhere.seen
            assert KEY not in str(request.raw_headers)
            assert not {"authorization", "x-api-key", "anthropic-workspace-id"} & {n.lower() for n in request.headers}
        assert home.seen == []

    with_server(replying(404), work)


def test_results_that_want_a_key_elsewhere_are_fetched_at_home() -> None:
    async def rows(_: web.Request) -> web.StreamResponse:
        return web.Response(body=b"rows\n")

    async def work(provider: AnthropicConnection, home: Any) -> None:
        async with serving(replying(401)) as elsewhere:
            got = bytearray()
            await provider.fetch(f"msgbatch_1 {elsewhere.url}/v1/messages/batches/msgbatch_1/results", got.extend)
            assert got == b"rows\n"
        (request,) = home.seen
        assert request.path == "/v1/messages/batches/msgbatch_1/results"
        assert request.headers["Authorization"] == f"Bearer {KEY}"

    with_server(rows, work)


def test_results_past_their_time_are_gone() -> None:
    async def work(provider: AnthropicConnection, _: Any) -> None:
        with pytest.raises(Gone, match="after 29 days"):
            await provider.fetch("msgbatch_1", lambda _: None)

    with_server(replying(404), work)


def test_a_live_call_sends_the_very_bytes_of_a_batch() -> None:
    async def work(provider: AnthropicConnection, server: Any) -> None:
        asked = ask(MODEL, "hi")
        body = VENDOR.format.encode(asked)
        reply = await provider.call(MODEL, body)
        assert server.bodies == [body]
        assert server.seen[0].path == "/v1/messages"
        assert VENDOR.format.line(MODEL, "o-1", body).endswith(b'"params":' + body + b"}")
        assert (reply.sent, reply.status, reply.retry_after) == (True, 429, 3.0)
        assert reply.rates.requests_limit == 50
        found = VENDOR.format.decode(VENDOR.format.live_line("o-1", reply)).result
        assert found is not None
        assert found.cause == "rate_limited"

    error = {"type": "error", "error": {"type": "rate_limit_error", "message": "Slow."}}
    headers = {"retry_after": "3", "anthropic_ratelimit_requests_limit": "50"}
    with_server(replying(429, error, **headers), work)


def test_a_call_that_cannot_connect_was_not_sent() -> None:
    async def work() -> None:
        provider = AnthropicConnection(Endpoint(base_url="http://127.0.0.1:1", key=KEY))
        reply = await provider.call(MODEL, b"{}")
        assert (reply.sent, reply.status) == (False, None)
        await provider.close()

    asyncio.run(work())


# --- at the emulator


def test_live_and_batch_answers_are_the_same(emulator: EmulatorProcess, tmp_path: Path) -> None:
    emulated = EmulatedVendor("anthropic", emulator, tmp_path)
    thinking = msgspec.structs.replace(emulated.model, options=Options(thinking="on"))
    asks = [*emulated.asks(2), *emulated.asks(2, thinking)]
    intent = emulated.intent(asks)

    async def work(provider: Any) -> None:
        rows = await rows_of(emulated, provider, await end_of(provider, await submit(provider, intent)))
        batched = {line.custom_id: line.result for line in rows["output"]}
        for n, one in enumerate(asks):
            reply = await provider.call(one.arm.model, VENDOR.format.encode(one))
            live = VENDOR.format.decode(VENDOR.format.live_line(f"o{intent.token}-{n}", reply))
            assert live.result == batched[live.custom_id]
            assert bool(live.result.thoughts) == (one.arm.model is thinking)
            assert reply.rates.tokens_limit

    emulated.run(work)
