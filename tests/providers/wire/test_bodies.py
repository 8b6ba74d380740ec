"""Bodies that trickle, never end, or unpack to gigabytes: each call has an end, and holds little on the way."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
import zlib
from collections.abc import Awaitable, Callable

import pytest
from aiohttp import web

from overnight.core.errors import Unavailable
from overnight.providers.wire import bodies as _bodies
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Timeouts
from providers.scripted_server import serving
from providers.wiring import closing, collect, run, wire

HURRIED = Timeouts(connect=2, read=2, total=0.4, download_bytes_per_second=10_000)
BOMB_BYTES = 300 << 20


def packed(size: int, wbits: int = 31) -> bytes:
    packing = zlib.compressobj(9, zlib.DEFLATED, wbits)
    pieces = [packing.compress(b" " * (1 << 20)) for _ in range(size >> 20)]
    return b"".join([packing.compress(b"{}"), *pieces, packing.flush()])


def encoded(body: bytes, encoding: str) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, headers={"Content-Encoding": encoding})

    return answer


async def trickle(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(200):
        await response.write(b" ")
        await asyncio.sleep(0.02)
    return response


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(200):
        await response.write(b" " * (1 << 20))
    return response


@pytest.mark.parametrize("verb", ["ask", "create", "download"])
def test_a_byte_at_a_time_is_no_answer(verb: str) -> None:
    async def work() -> None:
        async with serving(trickle) as server:
            line = wire(server.url, HURRIED)
            began = time.monotonic()
            if verb == "create":
                sending = await closing(line, line.send_once("create", "/x", b"{}"))
                assert (sending.sent, sending.reply) == (True, None)
                assert "in time" in (sending.problem or "")
            else:
                call = line.ask("list", "GET", "/x") if verb == "ask" else collect(line)[1]
                with pytest.raises(Unavailable, match=r"no answer from .* in time"):
                    await closing(line, call)
            assert time.monotonic() - began < 2

    run(work)


def test_a_download_that_keeps_its_pace_may_take_its_time() -> None:
    async def steady(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(40):
            await response.write(b"x" * 2_000)
            await asyncio.sleep(0.02)
        return response

    async def work() -> None:
        async with serving(steady) as server:
            line = wire(server.url, HURRIED)
            got, call = collect(line)
            await closing(line, call)
            assert len(got) == 80_000

    run(work)


def test_a_small_reply_has_a_size() -> None:
    async def work() -> None:
        async with serving(endless) as server:
            line = wire(server.url)
            with pytest.raises(Unavailable, match="sent an answer of more than 64 MB"):
                await closing(line, line.ask("list", "GET", "/x"))
            live = LiveWire(server.url, {}, secret="")
            reply = await live.call("/x", b"{}")
            await live.close()
            assert (reply.sent, reply.status) == (True, 200)
            assert "more than 64 MB" in (reply.problem or "")

    run(work)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_bomb_is_taken_apart_with_care(encoding: str) -> None:
    """300 MB in 300 kB, which nobody asked for."""
    bomb = packed(BOMB_BYTES, 31 if encoding == "gzip" else 15)
    peaks: list[int] = []

    async def work() -> None:
        async with serving(encoded(bomb, encoding)) as server:
            line = wire(server.url)
            tracemalloc.start()
            with pytest.raises(Unavailable, match="more than 64 MB"):
                await line.ask("list", "GET", "/x")
            came = [0]

            def count(chunk: bytes) -> None:
                assert len(chunk) <= 1 << 20
                came[0] += len(chunk)

            await closing(line, line.download("/x", count))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert came[0] == BOMB_BYTES + 2

    run(work)
    assert peaks[0] < 200 << 20


def test_a_packed_answer_is_read_and_a_strange_packing_is_not() -> None:
    async def work() -> None:
        async with serving(encoded(packed(0), "gzip")) as server:
            line = wire(server.url)
            assert (await closing(line, line.ask("list", "GET", "/x"))).body == b"{}"
            assert server.seen[0].headers["Accept-Encoding"] == "identity"
        for body, encoding, word in ((b"{}", "zstd", "packed as 'zstd'"), (b"{}", "gzip", "cannot be unpacked")):
            async with serving(encoded(body, encoding)) as server:
                line = wire(server.url)
                with pytest.raises(Unavailable, match=word):
                    await closing(line, line.ask("list", "GET", "/x"))

    run(work)


def test_the_caps_are_what_the_documents_say() -> None:
    assert (_bodies.MOST_BYTES, _bodies.MOST_INLINED) == (64 << 20, 512 << 20)
