"""An answer of `streamGenerateContent` in pieces: each is a whole reply with what is new in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from overnight_emulator.dialects.google.errors import from_fault
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.streaming import EVENTS, Stream, portions


def _replies(response: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    candidates = response.get("candidates")
    if not candidates:
        yield dict(response)
        return
    usage = {name: value for name, value in response["usageMetadata"].items() if name != "candidatesTokenCount"}
    early = {**response, "usageMetadata": usage}
    for last, candidate in enumerate(candidates, 1 - len(candidates)):
        parts = [part for whole in (candidate.get("content") or {}).get("parts", ()) for part in _portions(whole)]
        for part in parts[:-1]:
            content = {"role": "model", "parts": [part]}
            yield {**early, "candidates": [{"content": content, "index": candidate["index"]}]}
        ending = dict(candidate)
        if parts:
            ending["content"] = {"role": "model", "parts": parts[-1:]}
        yield {**(response if last == 0 else early), "candidates": [ending]}


def _portions(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A text is told bit by bit, a call whole."""
    if "text" not in part:
        yield dict(part)
        return
    for text in portions(part["text"]):
        yield {**part, "text": text}


def _events(response: Mapping[str, Any]) -> Iterator[bytes]:
    for reply in _replies(response):
        yield _event(reply)


def _event(reply: Any) -> bytes:
    return b"data: %b\r\n\r\n" % msgspec.json.encode(reply)


def _listed(response: Mapping[str, Any]) -> Iterator[bytes]:
    for place, reply in enumerate(_replies(response)):
        yield (b",\r\n" if place else b"[") + msgspec.json.encode(reply)


EVENT_STREAM = Stream(EVENTS, _events, lambda fault: _event(_error(fault)))
# Without `alt=sse`: one list of JSON that grows.
LIST_STREAM = Stream("application/json", _listed, lambda fault: b",\r\n" + msgspec.json.encode(_error(fault)), end=b"]")


def _error(fault: Fault) -> dict[str, Any]:
    return from_fault(fault).body
