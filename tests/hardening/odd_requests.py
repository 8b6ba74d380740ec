"""Odd requests against every route of every dialect, sent as bytes: no library smooths them on the way."""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from overnight_emulator.dialects.all import DIALECTS
from overnight_emulator.server import application
from overnight_emulator.truth import Truth
from overnight_emulator.world import World

# Fields that any dialect reads, each with a value that some dialect takes.
FIELDS: dict[str, Any] = {
    "model": "gpt-4.1",
    "messages": [{"role": "user", "content": "Hello?"}],
    "input": "Hello?",
    "prompt": "Hello?",
    "contents": [{"role": "user", "parts": [{"text": "Hello?"}]}],
    "system": "Be kind.",
    "systemInstruction": {"parts": [{"text": "Be kind."}]},
    "max_tokens": 16,
    "max_completion_tokens": 16,
    "max_output_tokens": 16,
    "generationConfig": {"maxOutputTokens": 16, "temperature": 0.5, "thinkingConfig": {"thinkingBudget": 5}},
    "temperature": 0.5,
    "top_p": 0.5,
    "n": 2,
    "seed": 1,
    "stop": ["x"],
    "stop_sequences": ["x"],
    "stream": False,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "reasoning_effort": "low",
    "reasoning": {"effort": "low", "summary": "auto"},
    "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}},
    "text": {"format": {"type": "json_schema", "name": "a", "schema": {"type": "object", "properties": {"a": {}}}}},
    "format": {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}},
    "options": {"num_predict": 5, "num_ctx": 10, "seed": 1},
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    "tool_choice": "required",
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
    "stream_options": {"include_usage": True},
    "logprobs": True,
    "top_logprobs": 3,
    "service_tier": "flex",
    "previous_response_id": "resp_x",
    "background": True,
    "include": ["message.output_text.logprobs"],
    "content": {"parts": [{"text": "Hello?"}]},
    "outputDimensionality": 8,
    "dimensions": 8,
    "encoding_format": "base64",
    "filename": "a.jsonl",
    "purpose": "batch",
    "bytes": 5,
    "mime_type": "text/plain",
    "part_ids": ["part_x"],
    "sourceObjects": [{"name": "a"}],
    "keep_alive": 0,
    "images": ["AAAA"],
    "metadata": {"a": "b"},
    "endpoint": "/v1/chat/completions",
    "completion_window": "24h",
    "input_file_id": "file-1",
    "output_expires_after": {"anchor": "created_at", "seconds": 3600},
    "requests": [{"custom_id": "a", "params": {"model": "claude-haiku-4-5", "max_tokens": 5, "messages": []}}],
    "batch": {"displayName": "a", "inputConfig": {"requests": {"requests": [{"request": {"contents": []}}]}}},
    "file": {"displayName": "a", "mimeType": "text/plain", "name": "files/a"},
    "displayName": "a",
    "inputConfig": {"instancesFormat": "jsonl", "gcsSource": {"uris": ["gs://b/in.jsonl"]}},
    "outputConfig": {"predictionsFormat": "jsonl", "gcsDestination": {"outputUriPrefix": "gs://b/out"}},
    "labels": {"a": "b"},
    "name": "a",
    "seconds": 1,
    "faults": [{"on": "create", "do": "refuse", "odds": 0}],
}
# What the calls of each dialect want, by a part of their path: enough of it to be looked at closely.
SHAPES: dict[str, tuple[str, ...]] = {
    "chat/completions": (
        *("model", "messages", "max_tokens", "n", "stop", "response_format", "metadata", "seed", "tools"),
        *("tool_choice", "stream", "stream_options", "logprobs", "top_logprobs", "service_tier"),
    ),
    "responses": ("model", "input", "text", "max_output_tokens", "metadata", "stream", "include", "top_logprobs"),
    "messages/batches": ("requests",),
    "messages": ("model", "messages", "max_tokens", "system", "stop_sequences", "stream", "tools"),
    "embeddings": ("model", "input", "dimensions", "encoding_format"),
    "moderations": ("model", "input"),
    "uploads": ("filename", "purpose", "bytes", "mime_type", "part_ids"),
    "mbedContent": ("content", "outputDimensionality", "requests", "batch"),
    "compose": ("sourceObjects",),
    "batchPredictionJobs": ("model", "displayName", "inputConfig", "outputConfig", "labels"),
    "batches": ("input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"),
    "atchGenerateContent": ("batch",),
    "enerateContent": ("contents", "systemInstruction", "generationConfig", "toolConfig"),
    "api/chat": ("model", "messages", "stream", "options", "format", "tools", "keep_alive"),
    "api/generate": ("model", "prompt", "stream", "options", "images", "keep_alive"),
    "api/embed": ("model", "input", "dimensions"),
    "advance": ("seconds",),
    "faults": ("faults",),
}
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 3, 2**31, 2**53, 2**63, 2**64, 10**400, 0.5, -0.5, 1e308, "", "x", "x" * 5_000, "\x00", "é\u2028",
    "2", "NaN", "../../etc", "gs://", "gs://b", "gs://b/\x00", [], [[]], [None], [1], ["x"], [{}], [{"role": 1}], {}, {"": None},
    {"type": []}, {"type": "json_schema"}, {"a": {"a": {"a": []}}}, [[[[[1]]]]], {"type": "object", "properties": []},
    {"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}}, {"enum": [[], {}, None]}, {"anyOf": [{"anyOf": []}]},
    {"type": "string", "minLength": 10**9}, {"type": "array", "minItems": 10**9}, {"type": "integer", "minimum": "x"},
]  # fmt: skip
RAW_BODIES: list[bytes] = [
    b"", b"null", b"[]", b"3", b'"x"', b"{", b"{}", b"\xff\xfe", b'{"a":' * 5_000, b"[" * 100_000, b'{"model":"\xff"}',
    b'{"model":"\\ud800"}', b'{"a":1e999}', b'{"a":' + b"9" * 5_000 + b"}", b'{"a":1,"a":2}', b"\x00" * 100, b"x" * 300_000,
]  # fmt: skip
QUERIES = [
    "limit=0", "limit=-1", "limit=x", "limit=99999999999999999999", "limit=%FF", "limit=", "limit=\u0663", "after=x", "after=",
    "after=%00", "before_id=x", "after_id=x&before_id=y", "pageSize=x", "pageSize=-1", "pageSize=9" * 3, "pageToken=x", "pageToken=%ff",
    "filter=x", "filter=%28%28", "filter=labels.a%3D%22", "order=x", "purpose=%00", "uploadType=x", "uploadType=resumable",
    "uploadType=multipart", "uploadType=media&name=", "uploadType=media&name=../x", "uploadType=resumable&upload_id=x",
    "alt=media", "alt=x", "prefix=%00", "ifGenerationMatch=x", "ifGenerationMatch=-1", "ifGenerationMatch=" + "9" * 5_000,
    "generation=x", "maxResults=x", "maxResults=0", "maxResults=" + "9" * 30, "startOffset=%ff", "calls=0", "batchId=x", "a" * 5_000,
    "updateMask=x", "key=x",
]  # fmt: skip
HEADERS = [
    "Content-Type: text/plain", "Content-Type: multipart/form-data", "Content-Type: multipart/form-data; boundary=",
    "Content-Type: multipart/related; boundary=b", "Content-Type: application/json; charset=utf-99",
    "Content-Type: application/json; charset=\xff", "Content-Type: /", "Content-Encoding: gzip", "Content-Encoding: deflate", "Content-Encoding: x",
    "Range: bytes=x", "Range: bytes=5-1", "Range: bytes=-0", "Range: bytes=999999999999-", "Range: lines=1-2", "If-Range: x",
    "If-Modified-Since: x", "Authorization: ", "Authorization: Basic \xff", "Authorization: Bearer " + "x" * 4_000, "x-api-key: ",
    "x-goog-api-key: \xe9", "anthropic-version: x", "anthropic-beta: \xff", "Content-Range: bytes */*", "Content-Range: bytes 0-5/x",
    "Content-Range: bytes 5-1/3", "Content-Range: x", "X-Goog-Upload-Command: x", "X-Goog-Upload-Command: start",
    "X-Goog-Upload-Command: upload, finalize", "X-Goog-Upload-Offset: x", "X-Goog-Upload-Protocol: x",
    "X-Goog-Upload-Header-Content-Length: x", "X-Upload-Content-Length: x", "X-Upload-Content-Type: \xff", "Expect: 100-continue", "Expect: x",
    "Transfer-Encoding: x", "Accept: \x01", "Cookie: \xff", "X-Goog-Hash: crc32c=x", "Content-MD5: x", "OpenAI-Organization: \xff",
]  # fmt: skip
# How Ollama says that it is asked too much: there, no other status stands for that.
OLLAMAS_BUSY = 503
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW", "get"]
IDS = [
    "x", "", "%00", "%FF", "..", "%2e%2e%2f", "a%2fb", "x" * 3_000, "batch_%F0%9F%92%A9", "file-", "gemini-2.5-flash", "'", "b/o/x", ":",
    "x:generateContent", "x:", "9" * 400, "b/o",
]  # fmt: skip


class Route(NamedTuple):
    method: str
    path: str


class OddRequest(NamedTuple):
    """`head` and `body` are what goes over the wire; `name` is how a report calls it."""

    name: str
    head: bytes
    body: bytes


def routes() -> list[Route]:
    """Every route of every dialect, and of the emulator itself, as the server mounts them."""
    with tempfile.TemporaryDirectory() as folder:
        truth = Truth()
        world = World(truth, Path(folder), {one.name: one.rows(truth) for one in DIALECTS if one.rows is not None})
        app = application(world, DIALECTS)
        found = {
            Route(route.method, route.resource.canonical)
            for route in app.router.routes()
            if route.resource is not None and route.method != "*"
        }
        for dialect in DIALECTS:
            for prefix in dialect.prefixes:
                for route in dialect.application(world).router.routes():
                    if route.resource is not None:
                        found.add(
                            Route("POST" if route.method == "*" else route.method, prefix + route.resource.canonical)
                        )
        asyncio.run(world.close())
    return sorted(found)


def odd_requests(seed: int, count: int) -> Iterator[OddRequest]:
    """So many, drawn from a seed; each is the same again by its number."""
    known = routes()
    for number in range(count):
        yield _drawn(random.Random(f"{seed}-{number}"), known, f"{seed}-{number}")


def _drawn(chance: random.Random, known: list[Route], name: str) -> OddRequest:
    route = chance.choice(known if chance.random() < 0.4 else [route for route in known if route.method == "POST"])
    method = route.method if chance.random() < 0.9 else chance.choice(METHODS)
    path = re.sub(r"\{[^}]*\}", lambda _: chance.choice(IDS), route.path)
    if chance.random() < 0.05:
        path += chance.choice(["/", "//", "/x", "%00", "?", ":x"])
    if chance.random() < 0.35:
        path += "?" + quote(chance.choice(QUERIES), safe="=&%")
    headers, body = ["Host: 127.0.0.1", "Connection: close"], _body(chance, path)
    if chance.random() < 0.75:
        headers += ["Authorization: Bearer x", "x-api-key: x", "anthropic-version: 2023-06-01", "x-goog-api-key: x"]
    if chance.random() < 0.15 or "files" in path or "upload" in path:
        body, kind = _form(chance)
        headers.append(f"Content-Type: {kind}")
    elif chance.random() < 0.8:
        headers.append("Content-Type: application/json")
    headers += [chance.choice(HEADERS) for _ in range(chance.choice([0, 0, 1, 1, 2]))]
    headers.append(f"Content-Length: {len(body)}")
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in headers) + "\r\n"
    return OddRequest(f"{name} {method} {path[:80]}", head.encode("latin-1", "replace"), body)


def _body(chance: random.Random, path: str) -> bytes:
    if chance.random() < 0.15:
        return chance.choice(RAW_BODIES)
    shape = next((fields for part, fields in SHAPES.items() if part in path), tuple(FIELDS))
    if chance.random() < 0.3:
        shape = tuple(name for name in FIELDS if chance.random() < 0.8)
    body = {name: FIELDS[name] for name in shape}
    if "anthropic" in path:
        body["model"] = "claude-haiku-4-5"
    if "stream" in body:
        body["stream"] = chance.random() < 0.5
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        _spoil(body, chance)
    text = json.dumps(body)
    return (
        text.encode("utf-8", "surrogatepass")
        if chance.random() < 0.95
        else text[: chance.randrange(len(text))].encode()
    )


def _spoil(body: dict[str, Any], chance: random.Random) -> None:
    """Puts an odd value somewhere, at any depth."""
    here: Any = body
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        if not keys:
            return
        key = chance.choice(keys)
        inner = here[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.4:
            here[key] = chance.choice(VALUES)
            return
        here[key] = here = type(inner)(inner)


def _form(chance: random.Random) -> tuple[bytes, str]:
    """An upload, damaged: boundaries, headers, lengths, encodings."""
    line = json.dumps({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": FIELDS}).encode()
    content = chance.choice([b"", line, line[:50], b"\xff" * 20, b"\x00", b"[]\n3\n", line + b"\n" + line, b"\n" * 9])
    if chance.random() < 0.25:
        return content, chance.choice(["application/jsonl", "text/plain", "application/octet-stream", "x"])
    purpose = chance.choice([b"batch", b"batch", b"", b"\xff", b"x" * 70_000, b"batch-api"])
    extra = chance.choice([b"3600", b"x", b"-1", b"9" * 5_000, b"\xff", "\u0663".encode()])
    parts = [
        b'Content-Disposition: form-data; name="purpose"\r\n\r\n' + purpose,
        b'Content-Disposition: form-data; name="expires_after[seconds]"\r\n\r\n' + extra,
        b'Content-Disposition: form-data; name="file"; filename="' + chance.choice([b"a.jsonl", b"", b"\xff", b'"', b"../x"]) + b'"\r\n'
        + chance.choice([b"", b"Content-Transfer-Encoding: base64\r\n", b"Content-Transfer-Encoding: x\r\n", b"Content-Encoding: gzip\r\n",
                         b"Content-Type: \xff\r\n", b"Content-Length: 3\r\n", b"Content-Type: multipart/mixed; boundary=b\r\n"])
        + b"\r\n" + content,
        chance.choice([b"\r\n\r\n{}", b"Content-Type: application/json\r\n\r\n{}", b"no header at all", b"\xff: x\r\n\r\n", b"",
                       b"Content-Disposition: form-data\r\n\r\nx", b'Content-Type: application/json\r\n\r\n{"name":3}']),
    ]  # fmt: skip
    chance.shuffle(parts)
    form = b"".join(b"--b\r\n" + part + b"\r\n" for part in parts[: chance.randint(0, 4)])
    form += chance.choice([b"--b--\r\n", b"--b--", b"", b"--c--\r\n", b"--b"])
    return form, chance.choice(["multipart/form-data; boundary=b", "multipart/form-data; boundary=b", "multipart/related; boundary=b",
                                "multipart/form-data; boundary=c", "multipart/form-data"])  # fmt: skip


async def status_of(url: str, request: OddRequest, patience: float = 20.0) -> int:
    """The status of the answer; 0 when the server hung up without one."""
    place = urlsplit(url)
    assert place.hostname is not None
    async with asyncio.timeout(patience):
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            writer.write(request.head + request.body)
            line = await reader.readline()
            if line.startswith(b"HTTP/1.1 100"):
                await reader.readline()
                line = await reader.readline()
        except ConnectionError:
            return 0
        finally:
            writer.close()
    return int(line.split()[1]) if line.startswith(b"HTTP/") else 0


async def faulty_answers(url: str, requests: list[OddRequest]) -> list[str]:
    """The requests that were answered 5xx, or not in time."""
    found = []
    for request in requests:
        try:
            status = await status_of(url, request)
        except TimeoutError:
            found.append(f"no answer: {request.name}")
            continue
        if status >= 500 and status != OLLAMAS_BUSY:
            found.append(f"{status}: {request.name} {request.body[:300]!r}")
    return found
