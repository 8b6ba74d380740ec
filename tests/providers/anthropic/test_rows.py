"""Lines of results as Results, batch and live alike."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.result import Result, Usage
from overnight.providers import Rates, Reply
from overnight.providers.anthropic.live import live_line, rates_of
from overnight.providers.anthropic.rows import CAUSES, decode

USAGE = {
    "input_tokens": 10,
    "cache_read_input_tokens": 70,
    "cache_creation_input_tokens": 20,
    "output_tokens": 9,
    "output_tokens_details": {"thinking_tokens": 4},
}
TEXT = {"type": "text", "text": "A plum."}
MESSAGE: dict[str, Any] = {"type": "message", "content": [TEXT], "stop_reason": "end_turn", "usage": USAGE}


def row(result: Any) -> bytes:
    return json.dumps({"custom_id": "o-1", "result": result}).encode()


def result_of(**change: Any) -> Result:
    found = decode(row({"type": "succeeded", "message": MESSAGE | change}))
    assert (found.custom_id, found.problem) == ("o-1", None)
    assert found.result is not None
    return found.result


def test_an_answer_with_everything_that_was_read_as_input() -> None:
    assert result_of() == Result(outcome="answered", answer="A plum.", usage=Usage(100, 70, 20, 9, 4))


def test_thoughts_are_apart_from_the_answer() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Fruit.", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "A "},
        {"type": "thinking", "thinking": "Plum?", "signature": "x"},
        {"type": "text", "text": "plum."},
    ]
    found = result_of(content=blocks)
    assert (found.answer, found.thoughts) == ("A plum.", "Fruit.\n\nPlum?")


@pytest.mark.parametrize(
    ("change", "outcome", "cause", "answer"),
    [
        ({"stop_reason": "stop_sequence"}, "answered", None, "A plum."),
        ({"stop_reason": "something_new"}, "answered", None, "A plum."),
        ({"content": []}, "answered", None, ""),
        ({"stop_reason": "max_tokens"}, "truncated", "max_tokens", "A plum."),
        ({"stop_reason": "max_tokens", "content": []}, "truncated", "max_tokens", ""),
        ({"stop_reason": "model_context_window_exceeded"}, "truncated", "max_tokens", "A plum."),
        ({"stop_reason": "pause_turn"}, "truncated", None, "A plum."),
        ({"stop_reason": "refusal"}, "refused", None, "A plum."),
        ({"stop_reason": "refusal", "stop_details": {"category": "bio"}}, "refused", "content_filter", "A plum."),
        ({"stop_reason": "refusal", "content": []}, "refused", None, None),
        ({"stop_reason": "tool_use"}, "answered", None, "A plum."),
        ({"stop_reason": "tool_use", "content": [{"type": "tool_use"}]}, "failed", "unreadable", None),
        ({"content": None}, "failed", "unreadable", None),
    ],
)
def test_how_an_answer_ended(change: dict[str, Any], outcome: str, cause: str | None, answer: str | None) -> None:
    found = result_of(**change)
    assert (found.outcome, found.cause, found.answer) == (outcome, cause, answer)
    assert found.usage.output == 9


def errored(kind: str, message: str = "No.", **details: str) -> Result:
    error = {"type": kind, "message": message, **({"details": details} if details else {})}
    found = decode(row({"type": "errored", "error": {"type": "error", "error": error, "request_id": None}})).result
    assert found is not None
    assert found.outcome == "failed"
    return found


@pytest.mark.parametrize(("kind", "cause"), sorted(CAUSES.items()))
def test_errors_have_their_causes(kind: str, cause: str) -> None:
    found = errored(kind)
    assert (found.cause, found.detail) == (cause, f"{kind}: No.")


def test_errors_that_only_their_words_or_codes_tell() -> None:
    assert errored("something_new").cause == "server_error"
    assert errored("invalid_request_error", "Your credit balance is too low to access it").cause == "no_credit"
    assert errored("rate_limit_error", error_code="enforced_spend_limit_reached").cause == "no_credit"
    assert errored("invalid_request_error", "prompt is too long: 9 tokens > 8").cause == "too_large"


@pytest.mark.parametrize(
    ("result", "cause"),
    [
        ({"type": "expired"}, "expired"),
        ({"type": "canceled"}, "cancelled"),
        ({"type": "errored"}, "server_error"),
        ({"type": "succeeded"}, "unreadable"),
        ({"type": "pondered"}, "unreadable"),
    ],
)
def test_rows_without_a_message(result: Any, cause: str) -> None:
    found = decode(row(result)).result
    assert found is not None
    assert (found.outcome, found.cause) == ("failed", cause)


def test_a_broken_usage_or_half_a_character_costs_no_answer() -> None:
    assert result_of(usage={"input_tokens": -1, "output_tokens": 2}).answer == "A plum."
    half = row({"type": "succeeded", "message": MESSAGE}).replace(b"A plum.", b"A \\ud83d.")
    found = decode(half).result
    assert found is not None
    assert (found.outcome, found.answer) == ("answered", "A \ufffd.")
    unreadable = result_of(content="text")
    assert (unreadable.cause, unreadable.usage.input) == ("unreadable", 100)


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"7", b'{"result":{}}', b'{"custom_id":""}', b'{"custom_id":7}'])
def test_a_line_without_an_id_joins_nothing(line: bytes) -> None:
    assert decode(line).custom_id is None
    assert decode(line).result is None


@given(
    st.binary(max_size=200)
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda c: (
            st.lists(c)
            | st.dictionaries(
                st.sampled_from(["custom_id", "result", "type", "message", "error", "content", "usage"]), c
            )
        ),
    ).map(lambda value: json.dumps(value).encode())
)
def test_whatever_comes_a_line_comes_back(line: bytes) -> None:
    found = decode(line)
    assert (found.custom_id is None) == (found.result is None)
    assert found == decode(line)


def live(status: int | None, body: Any, **more: Any) -> Result:
    content = body if isinstance(body, bytes) else json.dumps(body, indent=1).encode()
    line = live_line("o-1", Reply(sent=True, status=status, body=content, **more))
    assert b"\n" not in line
    found = decode(line)
    assert found.custom_id == "o-1"
    assert found.result is not None
    return found.result


def test_a_live_reply_is_read_like_a_row() -> None:
    assert live(200, MESSAGE) == result_of()
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "r"}
    assert live(529, error).cause == "rate_limited"


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (502, b"<html>Bad Gateway</html>", "server_error"),
        (429, b"slow down", "rate_limited"),
        (404, b"{}", "unknown_model"),
        (401, b"", "unauthorized"),
        (200, b"<html>", "unreadable"),
        (200, b"{}", "unreadable"),
        (None, b"", "server_error"),
    ],
)
def test_what_a_gateway_says_is_known_by_its_status(status: int | None, body: bytes, cause: str) -> None:
    found = live(status, body)
    assert (found.outcome, found.cause) == ("failed", cause)
    assert "<" not in (found.detail or "")


def test_rates_are_read_from_the_headers() -> None:
    headers = {
        "date": "Mon, 16 Nov 2026 02:00:00 GMT",
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": "2026-11-16T02:00:30Z",
        "anthropic-ratelimit-tokens-limit": "1000",
        "anthropic-ratelimit-tokens-remaining": "x",
        "anthropic-ratelimit-tokens-reset": "soon",
    }
    assert rates_of(headers) == Rates(requests_limit=50, requests_remaining=49, tokens_limit=1000)
    assert rates_of({"date": headers["date"]}) == Rates()
