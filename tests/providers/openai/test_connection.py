"""The vendor's endpoint, and verbs against answers that no well-behaved server gives."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from overnight.core.ask import Model
from overnight.core.errors import Gone, OvernightError, StudyError, Unauthorized, Unavailable
from overnight.providers import CreateAnswer, Endpoint, Fence, Intent, Limits, Sightings
from overnight.providers.openai import OpenAIVendor
from overnight.providers.openai_api.connection import FileBatchConnection
from providers.asking import KEY, ask, model, openai_at, stored
from providers.scripted_server import Answer, closed_port, hang_up, redirecting, replying, serving

VENDOR = OpenAIVendor()
ENVIRON = {"OPENAI_API_KEY": KEY}


def test_the_usual_variables_make_the_endpoint() -> None:
    environ = ENVIRON | {"OPENAI_ORG_ID": "org-1", "OPENAI_PROJECT_ID": "proj-1", "OPENAI_BASE_URL": "http://h:1/v1/"}
    assert VENDOR.endpoint(environ, None) == Endpoint(
        base_url="http://h:1/v1", key=KEY, organization="org-1", project="proj-1"
    )
    assert VENDOR.endpoint(ENVIRON, model()) == Endpoint(base_url="https://api.openai.com/v1", key=KEY)


def test_a_model_may_name_another_key_and_another_address() -> None:
    environ = ENVIRON | {"LAB_KEY": "sk-lab-1234567890", "OPENAI_ORG_ID": "org-1", "OPENAI_BASE_URL": "http://h/v1"}
    lab = Model(provider="openai", name="gpt-4.1", key="LAB_KEY", base_url="http://lab/v1")
    assert VENDOR.endpoint(environ, lab) == Endpoint(base_url="http://lab/v1", key="sk-lab-1234567890")


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_named_and_the_emulator_offered(value: str | None) -> None:
    environ = {} if value is None else {"OPENAI_API_KEY": value, "LAB_KEY": value}
    with pytest.raises(Unauthorized, match=r"^OPENAI_API_KEY is not set.*--emulate[^\n]*$"):
        VENDOR.endpoint(environ, None)
    with pytest.raises(Unauthorized, match=r"^LAB_KEY is not set"):
        VENDOR.endpoint(environ, Model(provider="openai", name="m", key="LAB_KEY"))


@pytest.mark.parametrize("key", ["sk-a b", "sk-a\nb", "sk-“a”", "sk-a\x00"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(Unauthorized, match="OPENAI_API_KEY holds characters") as caught:
        VENDOR.endpoint({"OPENAI_API_KEY": key}, None)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["http://h", "http://h/", "h:1/v1", "ftp://h/v1", "http://u:p@h/v1", "http://h:x/v1", "http://h/v1?x=1", "//h/v1"],
)
def test_an_address_that_cannot_be_one_is_refused(address: str) -> None:
    with pytest.raises(StudyError, match="OPENAI_BASE_URL"):
        VENDOR.endpoint(ENVIRON | {"OPENAI_BASE_URL": address}, None)


def test_nothing_prints_the_key() -> None:
    provider = VENDOR.connect(VENDOR.endpoint(ENVIRON, None))
    assert KEY not in repr(provider) + repr(provider.endpoint) + str(provider.endpoint)


def test_limits() -> None:
    assert VENDOR.format.limits(model()) == Limits(
        requests=50_000,
        bytes=209_715_200,
        creates_per_hour=2_000,
        window_seconds=86_400,
        retention_days=30,
        discount="50%",
    )


def test_the_pure_verbs_are_the_parts() -> None:
    pure = VENDOR.format
    asked = ask(model(), "hi")
    line = pure.line(asked.arm.model, "oabc-1", pure.encode(asked))
    assert pure.read_line(line).custom_id == "oabc-1"
    assert pure.decode(b"").custom_id is None
    assert pure.problems(model(thinking=5))


@pytest.fixture
def intent(tmp_path: Path) -> Intent:
    file = tmp_path / "in.jsonl"
    file.write_bytes(b'{"x":1}\n')
    return Intent(token="tok", run="essays", model=model(), rows=1, bytes=8, file=stored(file), description="pilot")


def with_server(answer: Answer, work: Callable[[FileBatchConnection, Any], Coroutine[Any, Any, Any]]) -> Any:
    async def outer() -> Any:
        async with serving(answer) as server:
            provider = openai_at(f"{server.url}/v1")
            try:
                return await work(provider, server)
            finally:
                await provider.close()

    return asyncio.run(outer())


def test_organisation_and_project_are_sent() -> None:
    async def work() -> None:
        async with serving(replying(200, {"data": []})) as server:
            endpoint = Endpoint(base_url=f"{server.url}/v1", key=KEY, organization="org-1", project="proj-1")
            provider = VENDOR.connect(endpoint)
            await provider.check_key()
            await provider.close()
            headers = server.seen[0].headers
            assert (headers["OpenAI-Organization"], headers["OpenAI-Project"]) == ("org-1", "proj-1")

    asyncio.run(work())


def test_create_sends_the_tag(intent: Intent) -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        answer = await provider.create(intent, "file-1")
        assert answer.batch is not None
        assert (answer.sent, answer.status, answer.batch.id) == (True, 200, "b")
        assert json.loads(server.bodies[0]) == {
            "input_file_id": "file-1",
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"overnight": "tok", "run": "essays", "description": "pilot"},
        }

    with_server(replying(200, {"id": "b", "status": "validating"}), work)


@pytest.mark.parametrize("status", [408, 409, 500, 502, 503, 504])
def test_a_create_answered_with_trouble_is_left_open(intent: Intent, status: int) -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        answer = await provider.create(intent, "file-1")
        assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, status, None, None)
        assert f"HTTP {status}" in (answer.problem or "")

    with_server(replying(status), work)


@pytest.mark.parametrize("body", [{}, [], "batch", {"id": 7}])
def test_a_create_answered_with_nonsense_is_left_open(intent: Intent, body: Any) -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        answer = await provider.create(intent, "file-1")
        assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, 200, None, None)
        assert answer.problem

    with_server(replying(200, body), work)


def test_a_redirected_create_is_left_open_and_goes_nowhere_else(intent: Intent) -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        answer = await provider.create(intent, "file-1")
        assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, 307, None, None)
        assert len(server.seen) == 1

    with_server(redirecting("/elsewhere", 307), work)


def test_a_lost_create_and_one_that_never_left(intent: Intent) -> None:
    async def lost(provider: FileBatchConnection, _: Any) -> CreateAnswer:
        return await provider.create(intent, "file-1")

    answer = with_server(hang_up, lost)
    assert (answer.sent, answer.status, answer.batch, answer.refusal) == (True, None, None, None)

    async def unsent() -> CreateAnswer:
        async with closed_port() as port:
            return await openai_at(f"http://127.0.0.1:{port}/v1").create(intent, "file-1")

    answer = asyncio.run(unsent())
    assert (answer.sent, answer.status) == (False, None)
    assert answer.problem


def test_half_an_upload_is_no_upload(intent: Intent) -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        with pytest.raises(Unavailable, match="5 of 8 bytes"):
            await provider.upload(intent)

    with_server(replying(200, {"id": "file-1", "bytes": 5}), work)


@pytest.mark.parametrize("body", [{"id": "file-1", "bytes": 8}, {"id": "file-1"}, {"id": "file-1", "bytes": "8"}])
def test_an_upload_gives_its_id(intent: Intent, body: Any) -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        assert await provider.upload(intent) == "file-1"
        assert b'filename="tok.jsonl"' in server.bodies[0]

    with_server(replying(200, body), work)


def test_an_upload_answered_with_nonsense_is_unavailable(intent: Intent) -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        with pytest.raises(Unavailable):
            await provider.upload(intent)

    with_server(replying(200, []), work)


def dated(*ids: str, has_more: bool = False) -> dict[str, Any]:
    """Batches of a listing; `b7` was created at second 7."""
    data = [{"id": name, "status": "in_progress", "created_at": int(name[1:])} for name in ids]
    return {"object": "list", "data": data, "has_more": has_more}


def paged(*pages: Any) -> Answer:
    """One page after another; a number is an HTTP status."""
    left = iter(pages)

    async def answer(_: web.Request) -> web.StreamResponse:
        page = next(left)
        headers = {"Date": "Thu, 01 Jan 1970 00:20:00 GMT"}
        if isinstance(page, int):
            return web.json_response({}, status=page, headers=headers)
        return web.json_response(page, headers=headers)

    return answer


@pytest.mark.parametrize(
    ("pages", "limit", "ids", "complete"),
    [
        ([dated("b20", "b10")], 5, ["b20", "b10"], True),
        ([dated()], 5, [], True),
        ([dated("b2000", "b1000", "b999", has_more=True)], 5, ["b2000", "b1000", "b999"], True),
        ([dated("b2000", "b699", has_more=True)], 5, ["b2000", "b699"], True),
        ([dated("b2000", has_more=True), dated("b1900")], 5, ["b2000", "b1900"], True),
        ([dated("b2000", "b1000", has_more=True), dated("b999", has_more=True)], 5, ["b2000", "b1000", "b999"], True),
        ([dated("b2000", "b1000", has_more=True), dated("b1000", has_more=True)], 5, ["b2000", "b1000"], False),
        ([dated("b2000", "b3000", "b9", has_more=True), dated("b8")], 5, ["b2000", "b3000", "b9", "b8"], True),
        ([dated("b2000", has_more=True)], 1, ["b2000"], False),
        ([dated("b2000", has_more=True), 500], 5, ["b2000"], False),
        ([dated("b2000", has_more=True), {"odd": 1}], 5, ["b2000"], False),
        ([dated(has_more=True)], 5, [], False),
    ],
)
def test_a_listing_says_whether_it_reached_the_fence(
    pages: list[Any], limit: int, ids: list[str], complete: bool
) -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        seen = await provider.recent(Fence(1000.0), limit)
        assert [batch.id for batch in seen.batches] == ids
        assert (seen.complete, seen.date) == (complete, 1200.0)
        assert [request.query.get("limit") for request in server.seen] == ["100"] * len(pages)
        if len(server.seen) == 2:
            assert server.seen[1].query["after"] == pages[0]["data"][-1]["id"]

    with_server(paged(*pages), work)


@pytest.mark.parametrize(
    ("page", "family"), [(500, Unavailable), (401, Unauthorized), ({}, Unavailable), ([], Unavailable)]
)
def test_no_first_page_is_no_listing(page: Any, family: type[OvernightError]) -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        with pytest.raises(family):
            await provider.recent(Fence(None), 5)

    with_server(paged(page), work)


def test_a_clock_that_was_set_back_makes_only_the_end_a_proof() -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        seen = await provider.recent(Fence(1000.0, 5000.0), 5)
        assert ([batch.id for batch in seen.batches], seen.complete) == (["b2000", "b999", "b998"], True)

    with_server(paged(dated("b2000", "b999", has_more=True), dated("b998")), work)


def test_the_newest_are_a_page() -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        seen = await provider.newest()
        assert ([batch.id for batch in seen.batches], seen.complete, seen.date) == (["b20"], False, 1200.0)
        assert await provider.newest() == Sightings((), complete=True, date=1200.0)
        assert server.seen[0].query == {"limit": "100"}

    with_server(paged(dated("b20", has_more=True), dated()), work)


def test_what_does_not_exist() -> None:
    async def work(provider: FileBatchConnection, server: Any) -> None:
        assert await provider.retrieve("../batch x") is None
        assert await provider.cancel("batch_x") is None
        assert not await provider.knows_file("file-x")
        await provider.remove_file("file-x")
        with pytest.raises(Gone, match="30 days"):
            await provider.fetch("file-x", lambda _: None)
        assert server.seen[0].raw_path == "/v1/batches/..%2Fbatch%20x"

    with_server(replying(404, {"error": {"message": "No batch found with id 'batch_x'."}}), work)


def test_a_batch_that_ended_meanwhile_cannot_be_cancelled_but_is_told() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if request.method == "POST":
            return web.json_response({"error": {"message": "Cannot cancel."}}, status=409)
        return web.json_response({"id": "b", "status": "completed"})

    async def work(provider: FileBatchConnection, _: Any) -> None:
        batch = await provider.cancel("b")
        assert batch is not None
        assert batch.phase == "completed"

    with_server(answer, work)


def test_a_fetch_streams_and_gives_the_length() -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        got = bytearray()
        assert await provider.fetch("file-1", got.extend) == 2
        assert got == b"{}"

    with_server(replying(), work)


def test_the_key_check_names_the_place() -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        told = await provider.check_key()
        assert provider.endpoint.base_url in told
        assert KEY not in told

    with_server(replying(200, {"data": []}), work)


def test_a_base_url_that_redirects_is_told() -> None:
    async def work(provider: FileBatchConnection, _: Any) -> None:
        with pytest.raises(Unavailable, match="make it the base URL"):
            await provider.check_key()

    with_server(redirecting("http://127.0.0.1:1/v1/models"), work)
