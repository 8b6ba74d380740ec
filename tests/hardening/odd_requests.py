"""Odd requests against every route of every dialect, sent as bytes: no library smooths them on the way."""

from __future__ import annotations

import asyncio
import json
import random
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

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
    "dialect": "openai",
    "count": 2,
    "input_files": ["file-1"],
    "timeout_hours": 24,
    "inputDatasetId": "accounts/emulator/datasets/a",
    "datasetId": "a",
    "dataset": {"exampleCount": "1", "format": "CHAT"},
    "jobName": "a",
    "roleArn": "arn:aws:iam::123456789012:role/emulator",
    "modelId": "a.claude",
    "modelInvocationType": "Converse",
    "inputDataConfig": {"s3InputDataConfig": {"s3Uri": "s3://b/a"}},
    "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": "s3://b/out/"}},
    "inferenceConfig": {"maxTokens": 5, "stopSequences": ["x"]},
    "batch_requests": [
        {"batch_request_id": "a", "batch_request": {"chat_get_completion": {"model": "grok-4", "messages": []}}}
    ],
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
    "batch/jobs": ("input_files", "endpoint", "model", "metadata", "timeout_hours"),
    "batchInferenceJobs": ("model", "inputDatasetId", "displayName"),
    "datasets": ("datasetId", "dataset"),
    "model-invocation-job": (
        *("jobName", "roleArn", "modelId", "modelInvocationType", "inputDataConfig", "outputDataConfig"),
        "timeout_hours",
    ),
    "converse": ("messages", "system", "inferenceConfig", "toolConfig"),
    "xai/v1/batches/": ("batch_requests",),
    "xai/v1/batches": ("name",),
    "foreign": ("dialect", "count"),
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
    "updateMask=x", "key=x", "pagination_token=x", "pagination_token=-5", "pagination_token=99", "limit=-5&pagination_token=2",
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


# What stands in a path where a dialect looks for more than an id.
PLACES = {
    "version": ("v1beta", "v1", "v1beta1", "v1beta1"),
    "bucket": ("b",),
    "to_bucket": ("b",),
    "name": ("a", "in.jsonl", "out/a"),
    "to_name": ("a", "c"),
    "account": ("emulator",),
    "project": ("lab",),
    "location": ("us-central1",),
    "model": ("gemini-2.5-flash", "gpt-4.1", "a.claude"),
    "dialect": ("together", "fireworks", "mistral"),
}
MODELS = {"anthropic": "claude-haiku-4-5", "gemini": "gemini-2.5-flash", "xai": "grok-4", "together": "Qwen/Qwen3"}
SIGNED = (
    "Authorization: AWS4-HMAC-SHA256 Credential=emulator/20260101/us-east-1/bedrock/aws4_request,"
    " SignedHeaders=host, Signature=0"
)


class Route(NamedTuple):
    method: str
    path: str


class OddRequest(NamedTuple):
    """`head` and `body` are what goes over the wire; `name` is how a report calls it."""

    name: str
    head: bytes
    body: bytes
    route: Route | None = None


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


def furnish(url: str) -> dict[str, list[str]]:
    """Batches, files and objects that are there, for requests to name: ids by dialect."""
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
    line["body"] = {"model": "gpt-4.1", "messages": FIELDS["messages"]}  # type: ignore[assignment]
    form = (
        b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data;'
    )
    form += b' name="file"; filename="a.jsonl"\r\n\r\n' + json.dumps(line).encode() + b"\n\r\n--b--\r\n"
    found: dict[str, list[str]] = {}
    for name in sorted(one.name for one in DIALECTS if one.rows is not None):
        _sent(url, "/_emulator/foreign", {"dialect": name, "count": 2, "rows": 3})
    for name, prefix in {"openai": "openai/v1", "azure": "azure/openai/v1", "groq": "groq/openai/v1"}.items():
        files = [_sent(url, f"/{prefix}/files", form, "multipart/form-data; boundary=b")["id"] for _ in range(5)]
        asked = {"input_file_id": files[0], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
        found[name] = [*files, _sent(url, f"/{prefix}/batches", asked)["id"]]
    said = _sent(url, "/openai/v1/responses", {"model": "gpt-4.1", "input": "Hello?"})
    upload = {"filename": "a", "purpose": "batch", "bytes": 5, "mime_type": "text/plain"}
    found["openai"] += [said["id"], _sent(url, "/openai/v1/uploads", upload)["id"]]
    found["anthropic"] = [
        _sent(url, "/anthropic/v1/files", form, "multipart/form-data; boundary=b")["id"] for _ in "abc"
    ]
    found["mistral"] = [_sent(url, "/mistral/v1/files", form, "multipart/form-data; boundary=b")["id"]]
    found["xai"] = [_sent(url, "/xai/v1/batches", {"name": "a"})["batch_id"]]
    dataset = {"datasetId": "a", "dataset": FIELDS["dataset"]}
    _sent(url, "/fireworks/v1/accounts/emulator/datasets", dataset)
    found["fireworks"] = ["a"]
    _sent(url, "/upload/storage/v1/b/b/o?uploadType=media&name=in.jsonl", b"{}\n", "text/plain")
    _sent(url, "/finish", None, control=True)
    for batch in _sent(url, "/log?calls=0", None, control=True)["batches"]:
        found.setdefault(batch["dialect"], []).append(batch["id"])
    return found


def _sent(url: str, path: str, body: Any, kind: str = "application/json", *, control: bool = False) -> Any:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    headers = {"Content-Type": kind, "Authorization": "Bearer x", "x-api-key": "x", "anthropic-version": "2023-06-01"}
    method = "GET" if path.startswith("/log") else "POST"
    where = f"{url}/_emulator{path}" if control else f"{url}{path}"
    with urlopen(Request(where, data, headers, method=method), timeout=20) as answer:
        return json.load(answer)


def odd_requests(seed: int, count: int, real: Mapping[str, Sequence[str]] | None = None) -> Iterator[OddRequest]:
    """So many, drawn from a seed; each is the same again by its number, but for the ids of what is there.

    What is said to the emulator itself (to forget everything, to jump in time) comes late.
    """
    known = routes()
    drawn = [
        _drawn(random.Random(f"{seed}-{number}"), known, f"{seed}-{number}", real or {}) for number in range(count)
    ]
    late = len(drawn) * 4 // 5
    early = [one for one in drawn[:late] if "/_emulator/" not in one.name]
    yield from early
    yield from sorted((one for one in drawn if one not in set(early)), key=lambda one: one.name)


def _drawn(chance: random.Random, known: list[Route], name: str, real: Mapping[str, Sequence[str]]) -> OddRequest:
    route = chance.choice(known if chance.random() < 0.5 else [route for route in known if route.method == "POST"])
    method = route.method if chance.random() < 0.9 else chance.choice(METHODS)
    dialect = route.path.split("/")[1]

    def place(found: re.Match[str]) -> str:
        if chance.random() < 0.15:
            return chance.choice(IDS)
        there = [one for one in real.get(dialect, ()) if ("file" in one) is ("/files" in route.path)]
        if there and route.method == "DELETE" and chance.random() < 0.7:
            return "gone"  # else there soon would be nothing left
        return chance.choice(PLACES.get(found[1].partition(":")[0]) or there or real.get(dialect) or IDS)

    path = re.sub(r"\{([^}]*)\}", place, route.path)
    if chance.random() < 0.05:
        path += chance.choice(["/", "//", "/x", "%00", "?", ":x"])
    queries = [quote(chance.choice(QUERIES), safe="=&%")] if chance.random() < 0.35 else []
    if path.startswith("/azure/openai") and not path.startswith("/azure/openai/v1") and chance.random() < 0.9:
        queries.append("api-version=2025-04-01-preview")
    path += "?" + "&".join(queries) if queries else ""
    headers, body = ["Host: 127.0.0.1", "Connection: close"], _body(chance, path, real.get(dialect) or ())
    if chance.random() < 0.9:
        signed = dialect in {"bedrock", "s3"}
        headers += [SIGNED if signed else "Authorization: Bearer x", "x-api-key: x", "anthropic-version: 2023-06-01"]
        headers.append("x-goog-api-key: x")
    if chance.random() < 0.1 or (("files" in path or "upload" in path) and chance.random() < 0.7):
        body, kind = _form(chance)
        headers.append(f"Content-Type: {kind}")
    elif chance.random() < 0.8:
        headers.append("Content-Type: application/json")
    headers += [chance.choice(HEADERS) for _ in range(chance.choice([0, 0, 0, 1, 2]))]
    headers.append(f"Content-Length: {len(body)}")
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in headers) + "\r\n"
    return OddRequest(f"{name} {method} {path[:80]}", head.encode("latin-1", "replace"), body, route)


def _body(chance: random.Random, path: str, real: Sequence[str]) -> bytes:
    if chance.random() < 0.1:
        return chance.choice(RAW_BODIES)
    shape = next((fields for part, fields in SHAPES.items() if part in path), tuple(FIELDS))
    if chance.random() < 0.1:
        shape = tuple(name for name in FIELDS if chance.random() < 0.8)
    # One field in three is left out, but for the first two, without which there is nothing to look at.
    body = {name: FIELDS[name] for place, name in enumerate(shape) if place < 2 or chance.random() < 0.66}
    if "model" in body:
        body["model"] = MODELS.get(path.split("/")[1], "gpt-4.1")
    if "stream" in body:
        body["stream"] = chance.random() < 0.5
    if real and "input_file_id" in body:
        body["input_file_id"] = chance.choice(real)
    if "converse" in path:
        body["messages"] = [{"role": "user", "content": [{"text": "Hello?"}]}]
    for _ in range(chance.choice([0, 1, 1, 2, 4])):
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
            await reader.read()  # to the end: a stream that never ends is a hang
        except ConnectionError:
            return 0
        finally:
            writer.close()
    return int(line.split()[1]) if line.startswith(b"HTTP/") else 0


async def statuses(url: str, requests: Sequence[OddRequest]) -> list[int]:
    """One for each request; -1 where no answer came in time."""
    found = []
    for request in requests:
        try:
            # A reply that comes while a large body is still on its way may be lost with the connection, by HTTP itself.
            found.append(await status_of(url, request) or await status_of(url, request))
        except TimeoutError:
            found.append(-1)
    return found


def faulty(requests: Sequence[OddRequest], answered: Sequence[int]) -> list[str]:
    """The requests that were answered 5xx, not in time, or by hanging up."""
    words = {-1: "no answer", 0: "hung up"}
    return [
        f"{words.get(status, status)}: {request.name} {request.body[:300]!r}"
        for request, status in zip(requests, answered, strict=True)
        if status <= 0 or (status >= 500 and status != OLLAMAS_BUSY)
    ]
