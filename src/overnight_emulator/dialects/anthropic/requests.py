"""Taking in the body of a create: its requests go to disk one by one, a line each."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from pathlib import Path

import msgspec
from aiohttp import web

from overnight_emulator.dialects.anthropic.errors import ApiError, bad_json
from overnight_emulator.dialects.anthropic.lines import Request, model_of
from overnight_emulator.truth import Limits

MOST_REQUESTS = 100_000
MOST_BYTES = 256 << 20


class Received(msgspec.Struct, frozen=True):
    """What came: how many requests, the first one's id and model, and the size and digest of the lines."""

    total: int
    first_id: str
    model: str
    size: int
    sha256: str


class _Create(msgspec.Struct):
    requests: list[msgspec.Raw]


async def receive(request: web.Request, into: Path, limits: Limits) -> Received:
    most = limits.bytes or MOST_BYTES
    body = await request.read()
    if len(body) > most:
        raise ApiError(413, f"Request exceeds the maximum size: {len(body)} bytes are more than {most}.")
    try:
        return await asyncio.to_thread(_written, body, into, limits.requests or MOST_REQUESTS)
    except msgspec.ValidationError as error:
        raise ApiError(400, f"requests: {error}") from error
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise bad_json() from error


def _written(body: bytes, into: Path, most: int) -> Received:
    requests = msgspec.json.decode(body, type=_Create).requests
    if not requests or len(requests) > most:
        raise ApiError(400, f"requests: found {len(requests)}, wanted from 1 to {most}")
    first = msgspec.json.decode(requests[0], type=Request)
    digest, size = sha256(), 0
    with into.open("wb") as lines:
        for one in requests:
            # Line breaks between the parts of a request are its sender's taste; within strings there are none.
            line = bytes(one).replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
            digest.update(line)
            size += lines.write(line)
            msgspec.json.decode(line, type=Request)
    return Received(len(requests), str(first.custom_id), model_of(first.params), size, digest.hexdigest())
