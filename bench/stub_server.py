"""A chat-completions server that does nothing but answer: as fast as a Python process can, the same to everybody.

    python bench/stub_server.py [--latency S] [--certificate FILE]

It counts requests, the time between the first and the last of them, how many were with it at once, and its own CPU,
which shows whether it is what everybody waits for: `GET /stats` tells and begins anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import ssl
import sys
import time
from collections import deque

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
        self.here = self.most = 0
        self._cpu = time.process_time()

    def came(self) -> None:
        self.last = time.perf_counter()
        self.first = self.first or self.last
        self.count += 1
        self.here += 1
        self.most = max(self.most, self.here)

    def told(self) -> dict[str, float]:
        cpu = time.process_time() - self._cpu
        return {
            "count": self.count,
            "seconds": self.last - self.first,
            "last": self.last,
            "most": self.most,
            "cpu": cpu,
        }


class Answers:
    """All answers take equally long: one timer for the one that is due next."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._due: deque[tuple[float, asyncio.Transport]] = deque()
        self._whole = reply(json.dumps(ANSWER).encode())
        self.stats = Stats()

    def owe(self, transport: asyncio.Transport) -> None:
        self.stats.came()
        if not self._latency:
            self._give(transport)
            return
        loop = asyncio.get_running_loop()
        self._due.append((loop.time() + self._latency, transport))
        if len(self._due) == 1:
            loop.call_at(self._due[0][0], self._give_due)

    def _give_due(self) -> None:
        loop = asyncio.get_running_loop()
        while self._due and self._due[0][0] <= loop.time() + 0.001:
            self._give(self._due.popleft()[1])
        if self._due:
            loop.call_at(self._due[0][0], self._give_due)

    def _give(self, transport: asyncio.Transport) -> None:
        self.stats.here -= 1
        transport.write(self._whole)


class Connection(asyncio.Protocol):
    def __init__(self, answers: Answers) -> None:
        self._answers = answers

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
        if head.startswith(b"get /stats"):
            told, self._answers.stats = self._answers.stats.told(), Stats()
            self._transport.write(reply(json.dumps(told).encode()))
            return
        self._answers.owe(self._transport)


async def main() -> None:
    parser = argparse.ArgumentParser(description="Answers, and nothing else.")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds that each answer takes")
    parser.add_argument("--certificate", help="key and certificate; then it speaks TLS")
    asked = parser.parse_args()
    tls = None
    if asked.certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(asked.certificate)
    # One file for each connection, whatever the shell allows its commands.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    answers = Answers(asked.latency)
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(answers), "127.0.0.1", 0, ssl=tls, backlog=8192)
    port = server.sockets[0].getsockname()[1]
    print(f"listening on {'https' if tls else 'http'}://127.0.0.1:{port}", flush=True)
    # Whoever started it holds its stdin: it ends with them.
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main())
