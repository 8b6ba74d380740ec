"""A message in pieces: it starts empty, each block is told in deltas, and then why it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from overnight_emulator.dialects.anthropic.errors import from_fault
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.streaming import EVENTS, Stream, event, portions

_DELTA_USAGE = (
    *("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
    *("output_tokens", "output_tokens_details"),
)


def events(message: Mapping[str, Any]) -> Iterator[bytes]:
    for data in _told(message):
        yield event(data, data["type"])


def _told(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    ends = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    usage = {**message["usage"], "output_tokens": min(1, message["usage"]["output_tokens"])}
    yield {"type": "message_start", "message": {**message, **ends, "content": [], "usage": usage}}
    for place, block in enumerate(message["content"]):
        empty, deltas = _block(block)
        yield {"type": "content_block_start", "index": place, "content_block": empty}
        if place == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": place, "delta": delta}
        yield {"type": "content_block_stop", "index": place}
    counted = {name: message["usage"][name] for name in _DELTA_USAGE}
    yield {"type": "message_delta", "delta": {name: message[name] for name in ends}, "usage": counted}
    yield {"type": "message_stop"}


def _block(block: Mapping[str, Any]) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """A block as it begins, and what is added to it."""
    match block["type"]:
        case "thinking":
            return {**block, "thinking": "", "signature": ""}, _thinking(block)
        case "tool_use":
            written = msgspec.json.encode(block["input"]).decode()
            deltas = ({"type": "input_json_delta", "partial_json": part} for part in ("", *portions(written)))
            return {**block, "input": {}}, deltas
    return {**block, "text": ""}, ({"type": "text_delta", "text": part} for part in portions(block["text"]))


def _thinking(block: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for part in portions(block["thinking"]):
        yield {"type": "thinking_delta", "thinking": part}
    yield {"type": "signature_delta", "signature": block["signature"]}


def _error(fault: Fault) -> bytes:
    return event(from_fault(fault).body(None), "error")


MESSAGE_STREAM = Stream(EVENTS, events, _error)
