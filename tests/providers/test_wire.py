"""What happens on the wire: errors in our words, checkpoints in order, and no key at another origin."""

import asyncio
import tracemalloc
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from yarl import URL

from overnight.core import checkpoint
from overnight.core.errors import (
    OutOfCredit,
    ProviderError,
    Rejected,
    Throttled,
    Unauthorized,
    Unavailable,
)
from overnight.providers._complaint import complaint_of, scrub
from overnight.providers._wire import Timeouts, Wire, epoch_of, proxy_for, retry_after_of
from providers.asking import KEY
from providers.scripted_server import closed_port, hang_up, redirecting, replying, serving

HEADERS = {"Authorization": f"Bearer {KEY}", "OpenAI-Organization": "org-1"}
IMPATIENT = Timeouts(connect=0.3, read=0.3)


def wire(url: str, timeouts: Timeouts | None = None) -> Wire:
    return Wire("openai", f"{url}/v1", HEADERS, secret=KEY, timeouts=timeouts)


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(work())


async def closing(line: Wire, awaited: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await awaited
    finally:
        await line.close()


def chain_of(error: BaseException) -> list[BaseException]:
    linked = [one for one in (error.__cause__, error.__context__) if one is not None]
    return [error, *(deeper for one in linked for deeper in chain_of(one))]


@pytest.fixture
def passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The checkpoints passed so far."""
    log = tmp_path / "checkpoints"
    log.touch()
    checkpoint.rearm({"OVERNIGHT_CHECKPOINTS": str(log)})
    yield lambda: log.read_text().split()
    checkpoint.rearm({})


ERROR = {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "x", "param": None, "code": "c"}}


@pytest.mark.parametrize(
    ("status", "code", "family"),
    [
        (401, "invalid_api_key", Unauthorized),
        (403, None, Unauthorized),
        (429, "insufficient_quota", OutOfCredit),
        (400, "billing_hard_limit_reached", OutOfCredit),
        (429, "rate_limit_exceeded", Throttled),
        (408, None, Unavailable),
        (409, None, Unavailable),
        (500, None, Unavailable),
        (503, None, Unavailable),
        (529, None, Unavailable),
        (400, "invalid_value", Rejected),
        (404, None, Rejected),
        (413, None, Rejected),
    ],
)
def test_statuses_become_our_errors_without_the_key(status: int, code: str | None, family: type[ProviderError]) -> None:
    body = {"error": ERROR["error"] | {"code": code}}

    async def work() -> None:
        async with serving(replying(status, body)) as server:
            line = wire(server.url)
            with pytest.raises(family) as caught:
                await closing(line, line.ask("list", "GET", "/batches"))
            assert type(caught.value) is family
            assert f"HTTP {status}" in str(caught.value)
            assert all(KEY not in repr(one) for one in chain_of(caught.value))
            assert "Incorrect API key provided: [key]." in str(caught.value)

    run(work)


def test_some_statuses_may_be_expected() -> None:
    async def work() -> None:
        async with serving(replying(404)) as server:
            line = wire(server.url)
            assert (await closing(line, line.ask("retrieve", "GET", "/x", also=(404,)))).status == 404

    run(work)


def test_throttling_says_how_long() -> None:
    async def work() -> None:
        async with serving(replying(429, retry_after="7", retry_after_ms="1500")) as server:
            line = wire(server.url)
            with pytest.raises(Throttled) as caught:
                await closing(line, line.ask("list", "GET", "/x"))
            assert caught.value.retry_after == 1.5

    run(work)


def test_the_key_goes_with_every_call_and_cookies_do_not() -> None:
    async def work() -> None:
        async with serving(replying(200, {}, Set_Cookie="who=me")) as server:
            line = wire(server.url)
            await line.ask("list", "GET", "/a b%2Fc".replace(" ", "%20"), query={"after": "x y&z"})
            await closing(line, line.ask("cancel", "POST", "/d"))
            for request in server.seen:
                assert request.headers["Authorization"] == f"Bearer {KEY}"
                assert request.headers["OpenAI-Organization"] == "org-1"
                assert "Cookie" not in request.headers
            assert server.seen[0].raw_path.startswith("/v1/a%20b%2Fc?")
            assert server.seen[0].query == {"after": "x y&z"}

    run(work)


def test_checkpoints_stand_around_every_call(passed: Any, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"x")

    async def work() -> None:
        async with serving(replying()) as server:
            line = wire(server.url)
            await line.ask("list", "GET", "/a")
            await line.upload("/files", {}, file, "f")
            await line.download("/a", lambda _: None)
            await line.send_once("create", "/a", b"{}")
            await line.close()

    run(work)
    verbs = ("list", "upload", "fetch", "create")
    assert passed() == [f"{moment}:{verb}" for verb in verbs for moment in ("send", "sent")]


def test_no_answer_passes_no_second_checkpoint(passed: Any) -> None:
    async def work() -> None:
        async with serving(hang_up) as server:
            line = wire(server.url)
            with pytest.raises(Unavailable):
                await line.ask("cancel", "POST", "/a")
            assert (await closing(line, line.send_once("create", "/a", b"{}"))).reply is None

    run(work)
    assert passed() == ["send:cancel", "send:create"]


def test_a_refused_connection_is_unavailable_and_a_create_was_not_sent() -> None:
    async def work() -> None:
        async with closed_port() as port:
            line = wire(f"http://127.0.0.1:{port}")
            with pytest.raises(Unavailable, match=f"no connection to 127.0.0.1:{port}"):
                await line.ask("list", "GET", "/a")
            sending = await closing(line, line.send_once("create", "/a", b"{}"))
            assert (sending.sent, sending.status, sending.reply) == (False, None, None)
            assert sending.problem

    run(work)


def test_a_name_that_does_not_resolve_was_not_sent() -> None:
    async def work() -> None:
        line = wire("http://nobody.invalid", Timeouts(connect=5))
        assert not (await closing(line, line.send_once("create", "/a", b"{}"))).sent

    run(work)


def test_a_failed_handshake_was_not_sent() -> None:
    async def work() -> None:
        async with serving(replying()) as server:
            line = wire(server.url.replace("http:", "https:"))
            assert not (await closing(line, line.send_once("create", "/a", b"{}"))).sent
            assert server.seen == []

    run(work)


def test_a_create_whose_answer_is_lost_may_have_arrived() -> None:
    async def work() -> None:
        async with serving(hang_up) as server:
            line = wire(server.url)
            sending = await closing(line, line.send_once("create", "/a", b'{"x":1}'))
            assert (sending.sent, sending.reply) == (True, None)
            assert server.bodies == [b'{"x":1}']  # once: nothing was retried

    run(work)


async def silent(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(2)
    return web.Response()


def test_a_create_that_gets_no_answer_in_time_may_have_arrived() -> None:
    async def work() -> None:
        async with serving(silent) as server:
            line = wire(server.url, IMPATIENT)
            sending = await closing(line, line.send_once("create", "/a", b"{}"))
            assert (sending.sent, sending.reply) == (True, None)
            assert "in time" in (sending.problem or "")

    run(work)


async def half(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Length": "100"})
    await response.prepare(request)
    await response.write(b'{"id":')
    assert request.transport is not None
    request.transport.close()
    return response


def test_half_an_answer_to_a_create_is_none() -> None:
    async def work() -> None:
        async with serving(half) as server:
            line = wire(server.url)
            sending = await closing(line, line.send_once("create", "/a", b"{}"))
            assert (sending.sent, sending.status, sending.reply) == (True, 200, None)

    run(work)


def test_creates_use_a_connection_of_their_own() -> None:
    async def work() -> None:
        ports: list[int] = []

        async def note(request: web.Request) -> web.StreamResponse:
            assert request.transport is not None
            ports.append(request.transport.get_extra_info("peername")[1])
            return web.json_response({})

        async with serving(note) as server:
            line = wire(server.url)
            await line.ask("list", "GET", "/a")
            await line.send_once("create", "/a", b"{}")
            await line.ask("list", "GET", "/a")
            await line.send_once("create", "/a", b"{}")
            await line.close()
            assert server.seen[1].headers["Connection"] == "close"
        assert ports[0] == ports[2]
        assert len(set(ports)) == 3

    run(work)


def test_silence_is_unavailable() -> None:
    async def work() -> None:
        async with serving(silent) as server:
            line = wire(server.url, IMPATIENT)
            with pytest.raises(Unavailable, match="in time"):
                await closing(line, line.ask("list", "GET", "/a"))

    run(work)


def collect(line: Wire, path: str = "/files/f/content") -> tuple[bytearray, Coroutine[Any, Any, Any]]:
    got = bytearray()
    return got, line.download(path, got.extend)


def test_a_download_streams_and_tells_the_announced_length() -> None:
    async def work() -> None:
        async def plain(_: web.Request) -> web.StreamResponse:
            return web.Response(body=b"row\n" * 50_000)

        async with serving(plain) as server:
            line = wire(server.url)
            got, coming = collect(line)
            reply = await closing(line, coming)
            assert (bytes(got), reply.length) == (b"row\n" * 50_000, 200_000)
            assert server.seen[0].headers["Accept-Encoding"] == "identity"

    run(work)


def test_a_download_without_a_length_has_none() -> None:
    async def work() -> None:
        async def chunked(request: web.Request) -> web.StreamResponse:
            response = web.StreamResponse()
            response.enable_chunked_encoding()
            await response.prepare(request)
            await response.write(b"row\n")
            return response

        async with serving(chunked) as server:
            line = wire(server.url)
            got, coming = collect(line)
            assert (await closing(line, coming)).length is None
            assert got == b"row\n"

    run(work)


def test_a_packed_download_is_unpacked_and_its_length_not_believed() -> None:
    async def work() -> None:
        async def packed(_: web.Request) -> web.StreamResponse:
            response = web.Response(body=b"row\n" * 1000)
            response.enable_compression(web.ContentCoding.gzip)
            return response

        async with serving(packed) as server:
            line = wire(server.url)
            got, coming = collect(line)
            assert (await closing(line, coming)).length is None
            assert got == b"row\n" * 1000

    run(work)


def test_a_download_that_breaks_off_is_unavailable() -> None:
    async def work() -> None:
        async with serving(half) as server:
            line = wire(server.url)
            got, coming = collect(line)
            with pytest.raises(Unavailable, match="broke"):
                await closing(line, coming)
            assert got == b'{"id":'

    run(work)


def test_a_full_disk_is_not_the_wires_fault() -> None:
    async def work() -> None:
        def full(_: bytes) -> None:
            raise OSError(28, "No space left on device")

        async with serving(replying()) as server:
            line = wire(server.url)
            with pytest.raises(OSError, match="No space left"):
                await closing(line, line.download("/a", full))

    run(work)


KEY_HEADERS = ("Authorization", "OpenAI-Organization")


def test_a_download_sent_to_another_origin_goes_without_the_key() -> None:
    async def work() -> None:
        async with serving(replying(200, {"row": 1})) as elsewhere:
            target = f"{elsewhere.url}/signed?sig=a%2Fb%3D"
            async with serving(redirecting(target)) as server:
                line = wire(server.url)
                got, coming = collect(line)
                await closing(line, coming)
            assert got == b'{"row": 1}'
            assert server.seen[0].headers["Authorization"]
            (request,) = elsewhere.seen
            assert request.raw_path == "/signed?sig=a%2Fb%3D"
            assert not any(name in request.headers for name in KEY_HEADERS)
            assert KEY not in str(request.raw_headers)

    run(work)


def test_the_key_does_not_come_back_after_a_detour() -> None:
    async def work() -> None:
        async def answer(request: web.Request) -> web.StreamResponse:
            if request.path == "/home":
                return web.json_response({})
            return web.Response(status=307, headers={"Location": f"{elsewhere.url}/away"})

        async def back(_: web.Request) -> web.StreamResponse:
            return web.Response(status=307, headers={"Location": f"{server.url}/home"})

        async with serving(back) as elsewhere, serving(answer) as server:
            line = wire(server.url)
            _, coming = collect(line)
            await closing(line, coming)
            assert [request.path for request in server.seen] == ["/v1/files/f/content", "/home"]
            assert "Authorization" not in server.seen[1].headers

    run(work)


def test_within_its_origin_a_redirect_is_followed_with_the_key() -> None:
    async def work() -> None:
        async def answer(request: web.Request) -> web.StreamResponse:
            if request.path == "/there":
                return web.json_response({"ok": 1})
            return web.Response(status=308, headers={"Location": "/there"})

        async with serving(answer) as server:
            line = wire(server.url)
            reply = await closing(line, line.ask("list", "GET", "/here"))
            assert reply.body == b'{"ok": 1}'
            assert server.seen[1].headers["Authorization"] == f"Bearer {KEY}"

    run(work)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_no_other_call_follows_to_another_origin(method: str) -> None:
    async def work() -> None:
        async with serving(replying()) as elsewhere, serving(redirecting(f"{elsewhere.url}/x?sig=secret")) as server:
            line = wire(server.url)
            with pytest.raises(Rejected, match=elsewhere.url) as caught:
                await closing(line, line.ask("list", method, "/a"))
            assert "sig" not in str(caught.value)
            assert elsewhere.seen == []

    run(work)


def test_a_post_is_not_redirected_even_at_home() -> None:
    async def work() -> None:
        async with serving(redirecting("/there")) as server:
            line = wire(server.url)
            with pytest.raises(Rejected):
                await line.ask("cancel", "POST", "/a")
            sending = await closing(line, line.send_once("create", "/a", b"{}"))
            assert (sending.sent, sending.status) == (True, 302)
            assert len(server.seen) == 2

    run(work)


@pytest.mark.parametrize("to", ["ftp://127.0.0.1/x", "http://[::bad/x", "http://127.0.0.1:99999/"])
def test_an_address_of_no_use_is_not_followed(to: str) -> None:
    async def work() -> None:
        async with serving(redirecting(to)) as server:
            line = wire(server.url)
            _, coming = collect(line)
            with pytest.raises(ProviderError):
                await closing(line, coming)

    run(work)


def test_a_circle_is_left() -> None:
    async def work() -> None:
        async with serving(redirecting("/v1/a")) as server:
            line = wire(server.url)
            with pytest.raises(Unavailable, match="redirected more than 5 times"):
                await closing(line, line.ask("list", "GET", "/a"))
            assert len(server.seen) == 5

    run(work)


def test_an_upload_is_a_form_with_the_file_last(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b'{"a":1}\n{"b":2}\n')

    async def work() -> None:
        parts: list[tuple[str | None, str | None, str | None, bytes]] = []

        async def take(request: web.Request) -> web.StreamResponse:
            reader = aiohttp.MultipartReader(request.headers, stream_of(server.bodies[-1]))
            while isinstance(part := await reader.next(), aiohttp.BodyPartReader):
                kind = part.headers.get("Content-Type")
                parts.append((part.name, part.filename, kind, bytes(await part.read())))
            return web.json_response({"id": "file-1"})

        async with serving(take) as server:
            line = wire(server.url)
            await closing(line, line.upload("/files", {"purpose": "batch"}, file, "tok.jsonl"))
            assert "Content-Length" in server.seen[0].headers
        assert [(name, filename, content) for name, filename, _, content in parts] == [
            ("purpose", None, b"batch"),
            ("file", "tok.jsonl", file.read_bytes()),
        ]
        assert parts[1][2] == "application/octet-stream"

    run(work)


def stream_of(body: bytes) -> aiohttp.StreamReader:
    from aiohttp.test_utils import make_mocked_request

    reader = aiohttp.StreamReader(make_mocked_request("GET", "/").protocol, 2**16, loop=asyncio.get_running_loop())
    reader.feed_data(body)
    reader.feed_eof()
    return reader


def test_an_upload_is_never_whole_in_memory(tmp_path: Path) -> None:
    size = 24_000_000
    file = tmp_path / "rows"
    with file.open("wb") as sparse:
        sparse.truncate(size)

    async def work() -> int:
        received = 0

        async def drain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal received
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while received < length:
                received += len(await reader.read(65536))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(drain, "127.0.0.1", 0)
        async with server:
            line = wire(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            tracemalloc.start()
            await closing(line, line.upload("/files", {"purpose": "batch"}, file, "rows"))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert received > size
        return peak

    assert run(work) < size / 4


def test_an_upload_that_stands_still_is_given_up(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    with file.open("wb") as sparse:
        sparse.truncate(30_000_000)

    async def work() -> None:
        given_up = asyncio.Event()
        gone = asyncio.Event()

        async def stare(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await given_up.wait()
            writer.transport.abort()
            gone.set()

        async with await asyncio.start_server(stare, "127.0.0.1", 0) as server:
            address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            line = wire(address, Timeouts(connect=1, read=0.2, upload_bytes_per_second=1e9))
            with pytest.raises(Unavailable, match="in time"):
                await line.upload("/files", {}, file, "rows")
            given_up.set()
            await gone.wait()
            await line.close()
            await asyncio.sleep(0.05)

    run(work)


def test_closing_twice_and_closing_unused_is_fine() -> None:
    async def work() -> None:
        line = wire("http://127.0.0.1:1")
        await line.close()
        await line.close()

    run(work)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "-4"}, 0.0),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"retry-after-ms": "soon", "Retry-After": "9"}, 9.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sun, 15 Nov 2026 12:00:30 GMT", "Date": "Sun, 15 Nov 2026 12:00:00 GMT"}, 30.0),
        ({"Retry-After": "Sun, 15 Nov 2026 11:00:00 GMT", "Date": "Sun, 15 Nov 2026 12:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sun, 15 Nov 2020 11:00:00 GMT"}, 0.0),
    ],
)
def test_the_wait_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(CIMultiDict(headers)) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        (None, None),
        ("", None),
        ("yesterday", None),
        ("Thu, 99 Jan 1970", None),
    ],
)
def test_http_dates(text: str | None, at: float | None) -> None:
    assert epoch_of(text) == at


@given(st.text())
def test_no_date_raises(text: str) -> None:
    epoch_of(text)
    retry_after_of({"retry-after": text, "retry-after-ms": text})


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.lab:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.lab:3128")
    monkeypatch.setenv("no_proxy", "inside.lab")
    assert proxy_for(URL("https://api.openai.com/v1")) == "http://proxy.lab:3128"
    for near in ("https://inside.lab/v1", "http://localhost:1/v1", "http://127.0.0.1:8765/v1", "http://[::1]/v1"):
        assert proxy_for(URL(near)) is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"message":"Oh.","code":null}}', "Oh."),
        (b'{"error":"Oh."}', "Oh."),
        (b'{"message":"Oh."}', "Oh."),
        (b"upstream is down", "upstream is down"),
        (b"<html><body>504</body></html>", ""),
        (b'{"error":7}', ""),
        (b"[1]", ""),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_complaints_in_any_shape(body: bytes, message: str) -> None:
    assert complaint_of(body).message == message


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Incorrect API key provided: sk-proj-ab12****wxyz.", "Incorrect API key provided: [key]."),
        ("key=sk-svcacct-0123456789_ABC, sorry", "key=[key], sorry"),
        ("header Authorization: Bearer abcdefghijklmnop!", "header Authorization: Bearer [key]"),
        ("a task-oriented risk-averse desk-top model", "a task-oriented risk-averse desk-top model"),
        ("my secret is hunter22", "my secret is [key]"),
    ],
)
def test_keys_are_scrubbed(text: str, clean: str) -> None:
    assert scrub(text, "hunter22") == clean


@given(st.text(max_size=600), st.text("abcdef0123456789", min_size=20, max_size=40), st.text(max_size=600))
def test_no_key_survives_and_no_message_is_long(before: str, key: str, after: str) -> None:
    cleaned = scrub(f"{before} sk-{key} {after}", f"sk-{key}")
    assert f"sk-{key}" not in cleaned
    assert len(cleaned) <= 500
