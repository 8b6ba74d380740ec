"""A response in pieces: events with numbers, from `response.created` to how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from overnight_emulator.dialects.openai.errors import from_fault
from overnight_emulator.faults.kinds import Fault
from overnight_emulator.streaming import EVENTS, Stream, event, portions

Event = tuple[str, dict[str, Any]]
# After so many events nobody has counted: an error stands outside of the order.
_ERROR_NUMBER = 0


def events(response: Mapping[str, Any]) -> Iterator[bytes]:
    for number, (name, data) in enumerate(_told(response)):
        yield event({"type": name, "sequence_number": number, **data}, name)


def _told(response: Mapping[str, Any]) -> Iterator[Event]:
    begun = {
        **response,
        "status": "in_progress",
        "completed_at": None,
        "incomplete_details": None,
        "output": [],
        "usage": None,
    }
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for place, item in enumerate(response["output"]):
        yield from _item(item, place)
    yield f"response.{response['status']}", {"response": response}


def _item(item: Mapping[str, Any], place: int) -> Iterator[Event]:
    at = {"item_id": item["id"], "output_index": place}
    started = {**item, **_EMPTY[item["type"]]}
    if "status" in item:
        started["status"] = "in_progress"
    yield "response.output_item.added", {"output_index": place, "item": started}
    match item["type"]:
        case "message":
            for index, part in enumerate(item["content"]):
                yield from _part(part, {**at, "content_index": index})
        case "reasoning":
            for index, part in enumerate(item["summary"]):
                yield from _summary(part, {**at, "summary_index": index})
        case "function_call":
            yield from _told_text("response.function_call_arguments", "arguments", item["arguments"], at)
        case "custom_tool_call":
            yield from _told_text("response.custom_tool_call_input", "input", item["input"], at)
    yield "response.output_item.done", {"output_index": place, "item": item}


_EMPTY: dict[str, dict[str, Any]] = {
    "message": {"content": []},
    "reasoning": {"summary": []},
    "function_call": {"arguments": ""},
    "custom_tool_call": {"input": ""},
}


def _part(part: Mapping[str, Any], at: dict[str, Any]) -> Iterator[Event]:
    kind = part["type"]
    key = "refusal" if kind == "refusal" else "text"
    yield "response.content_part.added", {**at, "part": {**part, key: ""} | ({"logprobs": []} if key == "text" else {})}
    if key == "refusal":
        yield from _told_text("response.refusal", "refusal", part["refusal"], at)
    else:
        yield from _text(part, at)
    yield "response.content_part.done", {**at, "part": part}


def _text(part: Mapping[str, Any], at: dict[str, Any]) -> Iterator[Event]:
    if part["logprobs"]:
        for one in part["logprobs"]:
            yield "response.output_text.delta", {**at, "delta": one["token"], "logprobs": [one]}
    else:
        for piece in portions(part["text"]):
            yield "response.output_text.delta", {**at, "delta": piece, "logprobs": []}
    yield "response.output_text.done", {**at, "text": part["text"], "logprobs": part["logprobs"]}


def _summary(part: Mapping[str, Any], at: dict[str, Any]) -> Iterator[Event]:
    yield "response.reasoning_summary_part.added", {**at, "part": {**part, "text": ""}}
    yield from _told_text("response.reasoning_summary_text", "text", part["text"], at)
    yield "response.reasoning_summary_part.done", {**at, "part": part}


def _told_text(name: str, key: str, text: str, at: dict[str, Any]) -> Iterator[Event]:
    for piece in portions(text):
        yield f"{name}.delta", {**at, "delta": piece}
    yield f"{name}.done", {**at, key: text}


def _error(fault: Fault) -> bytes:
    said = from_fault(fault).body["error"]
    told = {"code": said["code"] or "server_error", "message": said["message"], "param": None}
    return event({"type": "error", "sequence_number": _ERROR_NUMBER, **told}, "error")


RESPONSES_STREAM = Stream(EVENTS, events, _error)
