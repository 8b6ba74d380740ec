"""No key goes to another origin."""

import pytest
from aiohttp import web

from overnight.core.errors import ProviderError, Unavailable
from providers.asking import KEY
from providers.scripted_server import redirecting, replying, serving
from providers.wiring import closing, collect, run, wire

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
            with pytest.raises(Unavailable, match=elsewhere.url) as caught:
                await closing(line, line.ask("list", method, "/a"))
            assert "sig" not in str(caught.value)
            assert elsewhere.seen == []

    run(work)


def test_a_post_is_not_redirected_even_at_home() -> None:
    async def work() -> None:
        async with serving(redirecting("/there")) as server:
            line = wire(server.url)
            with pytest.raises(Unavailable):
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
