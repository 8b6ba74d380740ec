"""A server that answers with bytes as the test has them, whatever HTTP says of that."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Talk = Callable[["Visitor"], Awaitable[None]]


class Visitor:
    """One connection, as the test's server sees it."""

    def __init__(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.number = number
        self._reader = reader
        self.writer = writer

    async def question(self) -> tuple[bytes, bytes] | None:
        """Headers and body of the next one; None when there is no further one."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            return head, await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def say(self, *pieces: bytes, pause: float = 0.0) -> None:
        for piece in pieces:
            self.writer.write(piece)
            await self.writer.drain()
            await asyncio.sleep(pause)

    async def gone(self, seconds: float = 2.0) -> bool:
        """Whether the other end has left by then."""
        try:
            async with asyncio.timeout(seconds):
                return await self._reader.read(1) == b""
        except (TimeoutError, ConnectionError) as error:
            return isinstance(error, ConnectionError)


@asynccontextmanager
async def talking(talk: Talk, tls: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[int]:
    """Its port. What goes wrong in the talk is raised at the end."""
    talks: list[asyncio.Task[None]] = []
    faults: list[BaseException] = []

    async def visit(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.append(task)
        try:
            await talk(Visitor(len(talks), reader, writer))
        except ConnectionError:
            pass
        except Exception as fault:  # noqa: BLE001 - told to the test
            faults.append(fault)
        finally:
            writer.close()

    server = await asyncio.start_server(visit, "127.0.0.1", port, ssl=tls)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in talks:
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)
    if faults:
        raise faults[0]


def answer(body: bytes = b"{}", *headers: str) -> bytes:
    """A whole answer of the usual form."""
    told = "".join(f"{header}\r\n" for header in headers)
    return f"HTTP/1.1 200 OK\r\n{told}Content-Length: {len(body)}\r\n\r\n".encode() + body
