"""Lines of a batch's files as a provider has them, and as it might: what fuzzing starts from."""

from __future__ import annotations

import json
from typing import Any

CUSTOM_ID = "o" + "a" * 20 + "-7"


def _line(**fields: Any) -> bytes:
    return json.dumps({"id": "batch_req_1", "custom_id": CUSTOM_ID, "error": None, **fields}).encode()


def _answer(body: Any, status: Any = 200) -> bytes:
    return _line(response={"status_code": status, "request_id": "req_1", "body": body})


_USAGE = {
    "prompt_tokens": 10,
    "completion_tokens": 5,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
_MESSAGE = {"role": "assistant", "content": "A plum is a fruit. 🍑 \u00e9", "refusal": None}
_CHAT = {"object": "chat.completion", "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}]}
_OUTPUT = [
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Plums."}]},
    {"type": "message", "content": [{"type": "output_text", "text": "A plum."}, {"type": "refusal", "refusal": "No."}]},
]
_RESPONSE = {
    "object": "response",
    "status": "incomplete",
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": _OUTPUT,
    "usage": {"input_tokens": 3, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 1}},
}

LINES: tuple[bytes, ...] = (
    _answer({**_CHAT, "usage": _USAGE}),
    _answer({"choices": [{"message": {"content": None, "refusal": "I can't."}, "finish_reason": "stop"}]}),
    _answer({"choices": [{"message": {"content": "cut"}, "finish_reason": "length"}], "usage": _USAGE}),
    _answer({"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}),
    _answer(_RESPONSE),
    _answer({**_RESPONSE, "status": "completed", "incomplete_details": None}),
    _answer({**_RESPONSE, "status": "failed", "error": {"code": "server_error", "message": "oops"}}),
    _answer({"error": {"message": "busy", "type": "x", "param": None, "code": "rate_limit_exceeded"}}, 429),
    _answer({"error": {"message": "no", "type": "invalid_request_error", "code": None}}, 400),
    _answer({}, 200),
    _answer(None, 500),
    _line(response=None, error={"code": "batch_expired", "message": "This request could not be executed in time."}),
    _line(response=None, error={"code": "batch_cancelled", "message": "cancelled"}),
    _line(response=None),
    b'{"custom_id": "x", "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "\\ud83d"}}]}}}',
    b"\xef\xbb\xbf" + _answer({**_CHAT, "usage": {"prompt_tokens": -1}}),
    b"null",
    b"[]",
    b"",
    b"\x00\xff<html>Bad Gateway</html>",
)


def _result(**fields: Any) -> bytes:
    return json.dumps({"custom_id": CUSTOM_ID, "result": fields}).encode()


def _message(**change: Any) -> bytes:
    whole = {"type": "message", "content": [_TEXT], "stop_reason": "end_turn", "usage": _TOKENS}
    return _result(type="succeeded", message={**whole, **change})


_TEXT = {"type": "text", "text": "A plum is a fruit. 🍑 \u00e9"}
_THOUGHT = {"type": "thinking", "thinking": "Plums.", "signature": "c2ln"}
_TOKENS = {
    "input_tokens": 10,
    "cache_read_input_tokens": 4,
    "cache_creation_input_tokens": 0,
    "output_tokens": 5,
    "output_tokens_details": {"thinking_tokens": 2},
}
_BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": None}

ANTHROPIC_LINES: tuple[bytes, ...] = (
    _message(),
    _message(content=[_THOUGHT, {"type": "redacted_thinking", "data": "x"}, _TEXT]),
    _message(stop_reason="max_tokens", content=[]),
    _message(stop_reason="refusal", stop_details={"type": "refusal", "category": "bio", "explanation": None}),
    _message(stop_reason="pause_turn"),
    _message(stop_reason="tool_use", content=[{"type": "tool_use", "id": "t", "name": "n", "input": {}}]),
    _message(usage={"input_tokens": -1}),
    _message(content=[{"type": "text", "text": "\ud83d"}]),
    _result(type="succeeded", message={}),
    _result(type="errored", error=_BUSY),
    _result(type="expired"),
    _result(type="canceled"),
    *LINES[-5:],
)


def _content(**change: Any) -> dict[str, Any]:
    parts = [{"text": "Plums.", "thought": True}, {"text": "A plum is a fruit. 🍑 \u00e9"}]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0, **change}
    return {"candidates": [candidate], "usageMetadata": _COUNTS, "modelVersion": "m"}


def _keyed(**fields: Any) -> bytes:
    return json.dumps({"key": CUSTOM_ID, **fields}).encode()


_COUNTS = {"promptTokenCount": 10, "cachedContentTokenCount": 4, "candidatesTokenCount": 5, "thoughtsTokenCount": 2}
_NO = {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT"}}

GOOGLE_LINES: tuple[bytes, ...] = (
    _keyed(response=_content()),
    _keyed(response=_content(finishReason="MAX_TOKENS", content={})),
    _keyed(response=_content(finishReason="SAFETY", content=None)),
    _keyed(response=_content(finishReason="OTHER")),
    _keyed(response={"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": _COUNTS}),
    _keyed(response={**_content(), "usageMetadata": {"promptTokenCount": "10"}}),
    _keyed(response={}),
    _keyed(error={"code": 8, "message": "Slow down."}),
    _keyed(status=_NO["error"]),
    json.dumps({"custom_id": CUSTOM_ID, "status": "", "request": {}, "response": _content()}).encode(),
    json.dumps({"custom_id": CUSTOM_ID, "status": f"Bad Request: {json.dumps(_NO)}", "request": {}}).encode(),
    json.dumps({"custom_id": 17, "status": "[", "request": {}}).encode(),
    json.dumps({"metadata": {"key": CUSTOM_ID}, "response": _content()}).encode(),
    *LINES[-5:],
)
