"""ConverseStream: an answer as a row of events, each in AWS's binary framing."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import msgspec

from overnight_emulator.dialects.bedrock.errors import from_fault
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.streaming import Stream, portions

EVENT_STREAM = "application/vnd.amazon.eventstream"
_STRING = 7
_EXCEPTIONS = {429: "throttlingException", 400: "validationException", 503: "serviceUnavailableException"}
_write = msgspec.json.Encoder().encode


def _pieces(reply: Mapping[str, Any]) -> Iterator[bytes]:
    yield _event("messageStart", {"role": "assistant"})
    for place, block in enumerate(reply["output"]["message"]["content"]):
        yield from _block(place, block)
        yield _event("contentBlockStop", {"contentBlockIndex": place})
    yield _event("messageStop", {"stopReason": reply["stopReason"]})
    yield _event("metadata", {"usage": reply["usage"], "metrics": reply["metrics"]})


def _block(place: int, block: Mapping[str, Any]) -> Iterator[bytes]:
    deltas: list[dict[str, Any]]
    if "toolUse" in block:
        call = block["toolUse"]
        start = {"toolUse": {"toolUseId": call["toolUseId"], "name": call["name"]}}
        yield _event("contentBlockStart", {"contentBlockIndex": place, "start": start})
        deltas = [{"toolUse": {"input": part}} for part in portions(_write(call["input"]).decode())]
    elif "reasoningContent" in block:
        told = block["reasoningContent"]["reasoningText"]
        deltas = [{"reasoningContent": {name: told[name]}} for name in ("text", "signature")]
    else:
        deltas = [{"text": part} for part in portions(block["text"])]
    for delta in deltas:
        yield _event("contentBlockDelta", {"contentBlockIndex": place, "delta": delta})


def _error(fault: Fault) -> bytes:
    refused = from_fault(fault)
    kind = _EXCEPTIONS.get(refused.status, "modelStreamErrorException")
    return _framed({":exception-type": kind, ":message-type": "exception"}, {"message": str(refused)})


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return _framed({":event-type": kind, ":message-type": "event"}, data)


def _framed(headers: Mapping[str, str], data: Mapping[str, Any]) -> bytes:
    """Lengths, their checksum, headers, the body, and the checksum of it all."""
    named = {**headers, ":content-type": "application/json"}
    head = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", _STRING, len(value)) + value.encode()
        for name, value in named.items()
    )
    body = _write(data)
    prelude = struct.pack(">II", len(head) + len(body) + 16, len(head))
    whole = prelude + struct.pack(">I", crc32(prelude)) + head + body
    return whole + struct.pack(">I", crc32(whole))


CONVERSE_STREAM = Stream(EVENT_STREAM, _pieces, _error)
