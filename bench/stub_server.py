"""A chat-completions server that does nothing but answer: as fast as a Python process can, the same to everybody.

It counts requests and the time between the first and the last of them: `GET /stats` tells and begins anew.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time

ANSWER = {
    "id": "chatcmpl-stub",
    "object": "chat.completion",
    "created": 1_750_000_000,
    "model": "gpt-4.1-mini",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "A plain answer of some length. " * 12, "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ],
    "usage": {"prompt_tokens": 20, "completion_tokens": 80, "total_tokens": 100},
}


def reply(body: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


class Stats:
    def __init__(self) -> None:
        self.count = 0
        self.first = self.last = 0.0

    def seen(self) -> None:
        self.last = time.perf_counter()
        self.first = self.first or self.last
        self.count += 1


class Connection(asyncio.Protocol):
    answer = reply(json.dumps(ANSWER).encode())
    stats = Stats()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._held = b""

    def data_received(self, data: bytes) -> None:
        self._held += data
        while (end := self._held.find(b"\r\n\r\n")) >= 0:
            head = self._held[:end].lower()
            place = head.find(b"content-length:")
            length = int(head[place + 15 :].split(b"\r\n", 1)[0]) if place >= 0 else 0
            if len(self._held) < end + 4 + length:
                return
            self._held = self._held[end + 4 + length :]
            self._respond(head)

    def _respond(self, head: bytes) -> None:
        kind = type(self)
        if head.startswith(b"get /stats"):
            told = {"count": kind.stats.count, "seconds": kind.stats.last - kind.stats.first}
            kind.stats = Stats()
            self._transport.write(reply(json.dumps(told).encode()))
            return
        kind.stats.seen()
        self._transport.write(kind.answer)


async def main() -> None:
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    print(f"listening on http://127.0.0.1:{port}", flush=True)
    # Whoever started it holds its stdin: it ends with them.
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
