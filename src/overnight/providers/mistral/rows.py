"""Mistral's rows: OpenAI's, but that a failed one has its body as text, and that thoughts come in a list of parts."""

import re
from typing import Any

import msgspec

from overnight.core.result import Line
from overnight.providers.openai_api.rows import decode as openai_decode
from overnight.providers.reading.complaints import complaint_in
from overnight.providers.reading.patient_json import UNREADABLE

# What nearly no line has, so that nearly every line is read as it is.
_OWN_WAYS = re.compile(
    rb'"body"\s*:\s*"|"content"\s*:\s*\[|"finish_reason"\s*:\s*"(?:model_length|error)"|"detail"\s*:'
)


def decode(line: bytes) -> Line:
    """Total, as every reader of rows."""
    if _OWN_WAYS.search(line) is None:
        return openai_decode(line)
    try:
        row = msgspec.json.decode(line)
        return openai_decode(msgspec.json.encode(_as_openai(row)))
    except UNREADABLE:
        return openai_decode(line)


def _as_openai(row: Any) -> Any:
    response = row.get("response") if isinstance(row, dict) else None
    if not isinstance(response, dict):
        return row
    status, body = response.get("status_code"), response.get("body")
    if isinstance(body, str):
        body = _unfolded(body)
    failed = isinstance(status, int) and status >= 400
    return {**row, "response": {**response, "body": _failure(body) if failed else _answer(body)}}


def _unfolded(text: str) -> Any:
    try:
        found = msgspec.json.decode(text)
    except UNREADABLE:
        found = None
    return found if isinstance(found, dict) else {"message": text}


def _failure(body: Any) -> Any:
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        return body
    said = complaint_in(body)
    return {"error": {"message": said.message or None, "code": said.code or None, "type": said.type or None}}


def _answer(body: Any) -> Any:
    choices = body.get("choices") if isinstance(body, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return body
    first = choices[0]
    if first.get("finish_reason") == "error":
        return {"usage": body.get("usage"), "error": {"code": "server_error", "message": "the model broke off"}}
    reason = "length" if first.get("finish_reason") == "model_length" else first.get("finish_reason")
    message = first.get("message")
    if isinstance(message, dict) and isinstance(message.get("content"), list):
        message = _apart(message, message["content"])
    return {**body, "choices": [{**first, "finish_reason": reason, "message": message}]}


def _apart(message: dict[str, Any], parts: list[Any]) -> dict[str, Any]:
    """The text of a message, and what was thought."""
    known = [part for part in parts if isinstance(part, dict)]
    thoughts = [inner for part in known if part.get("type") == "thinking" for inner in _list(part.get("thinking"))]
    return {**message, "content": _text(known), "reasoning": _text(thoughts) or None}


def _list(found: Any) -> list[Any]:
    return [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []


def _text(parts: list[Any]) -> str:
    texts = (part.get("text") for part in parts if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))
