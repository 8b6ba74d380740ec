"""A chat completion in pieces: chunks with what is new in each, then the word that all is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from overnight_emulator.dialects.openai.errors import from_fault
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.streaming import EVENTS, Stream, event, portions

_DONE = b"data: [DONE]\n\n"
_SHARED = ("id", "created", "model", "service_tier", "system_fingerprint")


Chunk = dict[str, Any]


def chat_stream(body: Mapping[str, Any], dress: Callable[[Chunk], Chunk] = dict, *, counts: bool = False) -> Stream:
    """`dress` adds what is a vendor's own to a chunk; one that `counts` has the usage in the last, unasked."""
    options = body.get("stream_options")
    counted = isinstance(options, dict) and bool(options.get("include_usage"))

    def pieces(completion: Mapping[str, Any]) -> Iterator[bytes]:
        return (event(dress(chunk)) for chunk in _chunks(completion, counted=counted and not counts, counts=counts))

    return Stream(EVENTS, pieces, _error, _DONE)


def _chunks(completion: Mapping[str, Any], *, counted: bool, counts: bool) -> Iterator[Chunk]:
    """`counted`: the last chunk has the usage and nothing else, and all others say that they have none."""
    head = {name: completion[name] for name in _SHARED if name in completion}
    head = {**head, "object": "chat.completion.chunk"} | ({"usage": None} if counted else {})
    last = completion["choices"][-1]
    for choice in completion["choices"]:
        for delta, logprobs in _deltas(choice):
            yield {**head, "choices": [_choice(choice, delta, None, logprobs)]}
        usage = {"usage": completion["usage"]} if counts and choice is last else {}
        yield {**head, "choices": [_choice(choice, {}, choice["finish_reason"], None)], **usage}
    if counted:
        yield {**head, "choices": [], "usage": completion["usage"]}


def _choice(choice: Mapping[str, Any], delta: dict[str, Any], ending: str | None, logprobs: Any) -> dict[str, Any]:
    return {"index": choice["index"], "delta": delta, "logprobs": logprobs, "finish_reason": ending}


def _deltas(choice: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Any]]:
    message = choice["message"]
    calls = message.get("tool_calls") or ()
    told = {"refusal": None} if "refusal" in message else {}
    yield {"role": "assistant", "content": None if calls else "", **told}, None
    logprobs = (choice.get("logprobs") or {}).get("content")
    if logprobs is not None:
        for one in logprobs:
            yield {"content": one["token"]}, {"content": [one], "refusal": None}
    else:
        yield from (({"content": part}, None) for part in portions(message.get("content") or ""))
    yield from (({"refusal": part}, None) for part in portions(message.get("refusal") or ""))
    for place, call in enumerate(calls):
        yield from (({"tool_calls": [{"index": place, **part}]}, None) for part in _call(call))


def _call(call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    kind = call["type"]
    told = "arguments" if kind == "function" else "input"
    yield {"id": call["id"], "type": kind, kind: {"name": call[kind]["name"], told: ""}}
    for part in portions(call[kind][told]):
        yield {kind: {told: part}}


def _error(fault: Fault) -> bytes:
    return event(from_fault(fault).body)
