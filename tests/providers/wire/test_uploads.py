"""Files are sent from disk, never whole in memory, and not for ever."""

import asyncio
import tracemalloc
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from overnight.core.errors import Unauthorized, Unavailable
from overnight.providers.wire.bodies import SentFile, TooLittle
from overnight.providers.wire.http import Timeouts, Wire
from overnight.providers.wire.signing import Request
from providers.asking import KEY, stored
from providers.scripted_server import replying, serving
from providers.wiring import closing, run, wire


@pytest.mark.parametrize("lines", [0, 2, 300_000])
def test_an_upload_is_a_form_with_the_file_last(tmp_path: Path, lines: int) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"".join(b'{"a":%d}\n' % number for number in range(lines)))

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
            await closing(line, line.upload("/files", {"purpose": "batch"}, stored(file), "tok.jsonl"))
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
            await closing(line, line.upload("/files", {"purpose": "batch"}, stored(file), "rows"))
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
                await line.upload("/files", {}, stored(file), "rows")
            given_up.set()
            await gone.wait()
            await line.close()
            await asyncio.sleep(0.05)

    run(work)


def test_a_file_goes_to_the_address_that_was_given_without_the_key(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b'{"a":1}\n')

    async def work() -> None:
        async with serving(replying(body={"ok": 1}, X_Seen="yes")) as server:
            line = wire("http://127.0.0.1:1")
            headers = {"X-Goog-Upload-Offset": "0"}
            reply = await closing(line, line.send_file(f"{server.url}/upload?id=7", stored(file), headers=headers))
            assert (reply.status, reply.headers["x-seen"]) == (200, "yes")
            (request,) = server.seen
            assert (request.path_qs, request.headers["Content-Length"]) == ("/upload?id=7", "8")
            assert request.headers["X-Goog-Upload-Offset"] == "0"
            assert server.bodies == [b'{"a":1}\n']
            assert KEY not in str(request.raw_headers)

    run(work)


def test_a_file_of_several_pieces_comes_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b"".join(b'{"a":%d}\n' % number for number in range(300_000)))

    async def work() -> None:
        async with serving(replying(body={})) as server:
            line = wire(server.url)
            await closing(line, line.send_file("/rows", stored(file), method="PUT"))
            assert server.bodies == [file.read_bytes()]

    run(work)


def test_a_file_on_a_connection_that_proves_dead_is_sent_whole_or_not_at_all(tmp_path: Path) -> None:
    """Some versions of aiohttp try a PUT once more there, when some of the file is read."""
    file = tmp_path / "rows"
    file.write_bytes(b"".join(b'{"a":%d}\n' % number for number in range(300_000)))
    whole: list[bytes] = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Takes one request on each connection, and breaks off in the next."""
        head = await reader.readuntil(b"\r\n\r\n")
        whole.append(await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
        await reader.read(1 << 16)
        writer.transport.abort()

    async def work() -> None:
        async with await asyncio.start_server(once, "127.0.0.1", 0) as server:
            line = wire(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", Timeouts(read=5))
            await line.send_file("/rows", stored(file), method="PUT")
            with suppress(Unavailable):
                await asyncio.wait_for(line.send_file("/rows", stored(file), method="PUT"), 4)
            await line.close()
            await asyncio.sleep(0.05)
        assert {*whole} == {file.read_bytes()}

    run(work)


def test_a_file_that_got_shorter_meanwhile_is_never_sent_as_a_whole(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_bytes(b'{"a":1}\n')
    body = SentFile(stored(file), b"[", b"]")
    file.write_bytes(b"{")

    async def work() -> None:
        with body.opened() as pieces:
            coming = aiter(pieces)
            assert [await anext(coming), await anext(coming)] == [b"[", b"{"]
            with pytest.raises(TooLittle, match="rows got shorter"):
                await anext(coming)

    run(work)


@pytest.mark.parametrize("address", ["ftp://127.0.0.1/x", "http://[", "http://127.0.0.1/x"])
def test_an_upload_address_of_no_use_is_refused(tmp_path: Path, address: str) -> None:
    line = Wire("gemini", "https://example.invalid", {}, secret="")
    with pytest.raises(Unavailable, match="of no use"):
        run(lambda: line.send_file(address, stored(tmp_path / "rows")))


def test_key_headers_that_last_an_hour_are_asked_for_at_each_call() -> None:
    asked = []

    async def headers(_: Request) -> dict[str, str]:
        asked.append(1)
        if len(asked) > 2:
            raise Unauthorized("the credentials were withdrawn")
        return {"Authorization": f"Bearer token-{len(asked)}"}

    async def work() -> None:
        async with serving(replying(body={})) as server:
            line = Wire("vertex", server.url, headers, secret="")
            await line.ask("list", "GET", "/jobs")
            await line.send_once("create", "/jobs", b"{}")
            late = await closing(line, line.send_once("create", "/jobs", b"{}"))
            assert [one.headers["Authorization"] for one in server.seen] == ["Bearer token-1", "Bearer token-2"]
            assert (late.sent, late.problem) == (False, "the credentials were withdrawn")

    run(work)
