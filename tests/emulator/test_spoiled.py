"""Replies that are a trap, as plain HTTP sees them."""

from __future__ import annotations

import gzip
import http.client
import json
import time
import urllib.request
from collections.abc import Mapping
from typing import Any

import pytest
from driving import chat_body, chat_lines, ended, rows


def get(emulator: Any, path: str = "/openai/v1/batches", body: Any = None) -> tuple[bytes, Mapping[str, str]]:
    headers = {"Authorization": "Bearer sk-x", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(emulator.url + path, data, headers), timeout=10) as reply:
        return reply.read(), reply.headers


def test_a_body_that_trickles(emulator):
    emulator.arm([{"on": "list", "do": "trickle", "seconds": 0.002, "times": 1}])
    began = time.monotonic()
    slow, _ = get(emulator)
    assert json.loads(slow)["object"] == "list"
    assert time.monotonic() - began >= 0.002 * len(slow)


def test_a_body_without_end(emulator):
    emulator.arm([{"on": "list", "do": "endless", "times": 1}])
    host = emulator.url.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=10)
    connection.request("GET", "/openai/v1/batches", headers={"Authorization": "Bearer sk-x"})
    assert len(connection.getresponse().read(5 << 20)) == 5 << 20
    connection.close()


def test_a_body_that_unpacks_to_much(emulator):
    emulator.arm([{"on": "list", "do": "bomb", "megabytes": 3, "times": 1}])
    body, headers = get(emulator)
    assert headers["Content-Encoding"] == "gzip"
    assert len(body) < 20_000
    assert len(gzip.decompress(body)) > 3 << 20


def test_a_body_that_nests_without_end(emulator):
    emulator.arm([{"on": "list", "do": "deep", "times": 1}])
    body, _ = get(emulator)
    assert body.count(b"[") > 100_000
    with pytest.raises(RecursionError):
        json.loads(body)


def test_headers_that_nobody_can_read(emulator):
    emulator.arm([{"on": "live", "do": "odd_headers", "times": 1}])
    body, headers = get(emulator, "/openai/v1/chat/completions", chat_body("Why?"))
    assert json.loads(body)["choices"]
    assert headers["x-ratelimit-limit-requests"] == "9" * 600


def test_counts_that_nobody_can_believe(emulator, connect):
    emulator.arm([{"on": "row", "do": "odd_usage", "count": -7}])
    client = connect(emulator)
    batch = ended(emulator, client, chat_lines(2))
    usage = [row["response"]["body"]["usage"] for row in rows(client, batch.output_file_id)]
    assert {one["prompt_tokens"] for one in usage} == {-7}
