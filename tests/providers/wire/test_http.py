"""What happens on the wire: errors in our words, checkpoints in order, one try per call."""

from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from overnight.core import checkpoint
from overnight.core.errors import OutOfCredit, ProviderError, Rejected, Throttled, Unauthorized, Unavailable
from overnight.providers.wire.http import Timeouts
from providers.asking import KEY, stored
from providers.scripted_server import closed_port, hang_up, replying, serving
from providers.wiring import IMPATIENT, closing, collect, half, run, silent, wire


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
            assert "Incorrect API key provided: ****" in str(caught.value)

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
        async with serving(replying(200, {}, Set_Cookie="who=me; Path=/")) as server:
            # By name: aiohttp's own jar keeps no cookies for bare addresses.
            line = wire(server.url.replace("127.0.0.1", "localhost"))
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
            await line.upload("/files", {}, stored(file), "f")
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


def test_a_create_that_gets_no_answer_in_time_may_have_arrived() -> None:
    async def work() -> None:
        async with serving(silent) as server:
            line = wire(server.url, IMPATIENT)
            sending = await closing(line, line.send_once("create", "/a", b"{}"))
            assert (sending.sent, sending.reply) == (True, None)
            assert "in time" in (sending.problem or "")

    run(work)


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
            # The end of what came may be held back: it could be the beginning of a key.
            assert b'{"id":'.startswith(bytes(got))

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


def test_closing_twice_and_closing_unused_is_fine() -> None:
    async def work() -> None:
        line = wire("http://127.0.0.1:1")
        await line.close()
        await line.close()

    run(work)
