"""Lines of Google's output files, in every envelope that they have been seen in."""

from datetime import date
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Model
from overnight.core.result import Result, Usage
from overnight.prices import PriceBook, cost
from overnight.providers import Reply
from overnight.providers.google_api.live import live_line
from overnight.providers.google_api.rows import FILTERED, MALFORMED, decode

USAGE = {
    "promptTokenCount": 10,
    "cachedContentTokenCount": 4,
    "candidatesTokenCount": 5,
    "thoughtsTokenCount": 7,
    "totalTokenCount": 22,
}


def response(text: str | None = "Yes.", reason: str | None = "STOP", **more: Any) -> dict[str, Any]:
    content = {} if text is None else {"content": {"role": "model", "parts": [{"text": text}]}}
    finish = {} if reason is None else {"finishReason": reason}
    return {"candidates": [{**content, **finish, "index": 0}], "usageMetadata": USAGE, **more}


def read(**fields: Any) -> Result:
    line = decode(msgspec.json.encode({"key": "k1", **fields}))
    assert line.custom_id == "k1"
    assert line.result is not None
    return line.result


def test_an_answer_with_its_tokens() -> None:
    found = read(response=response())
    assert (found.outcome, found.cause, found.answer) == ("answered", None, "Yes.")
    assert found.usage == Usage(input=10, cached=4, output=12, reasoning=7)


def test_counts_that_are_nought_are_left_out_on_the_wire() -> None:
    blocked = read(response={"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 3}})
    assert blocked.usage == Usage(input=3, output=0)
    assert read(response={**response(), "usageMetadata": {}}).usage == Usage()


def test_thoughts_are_kept_apart() -> None:
    parts = [
        {"text": "Hm.", "thought": True},
        {"text": "Ye"},
        {"text": "s."},
        {"functionCall": {}},
        {"text": "So.", "thought": True},
    ]
    found = read(response={"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    assert (found.answer, found.thoughts) == ("Yes.", "Hm.\n\nSo.")


@pytest.mark.parametrize("reason", sorted(FILTERED))
def test_filters_are_refusals(reason: str) -> None:
    found = read(response=response(None, reason))
    assert (found.outcome, found.cause, found.answer) == ("refused", "content_filter", None)
    assert reason in (found.detail or "")
    prompt = read(response={"promptFeedback": {"blockReason": reason}, "usageMetadata": USAGE})
    assert (prompt.outcome, prompt.cause) == ("refused", "content_filter")


def test_a_limit_cuts_and_may_leave_nothing() -> None:
    found = read(response=response("Half a", "MAX_TOKENS"))
    assert (found.outcome, found.cause, found.answer) == ("truncated", "max_tokens", "Half a")
    assert read(response=response(None, "MAX_TOKENS")).answer == ""


@pytest.mark.parametrize("reason", sorted(MALFORMED))
def test_nothing_readable_came_of_it(reason: str) -> None:
    assert (read(response=response("x", reason)).outcome, read(response=response("x", reason)).cause) == (
        "failed",
        "unreadable",
    )


def test_odd_reasons_do_not_make_a_whole_answer() -> None:
    cut = read(response=response("So far", "OTHER"))
    assert (cut.outcome, cut.cause, cut.detail) == ("truncated", None, "finishReason OTHER")
    assert read(response=response(None, "OTHER")).cause == "server_error"
    assert read(response=response(None, "STOP")).cause == "unreadable"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        ({"code": 8, "message": "Slow."}, "rate_limited"),
        ({"code": 13, "message": "Oh."}, "server_error"),
        ({"code": 3, "message": "Bad."}, "invalid_request"),
        ({"code": 4, "message": "Late."}, "timeout"),
        ({"code": 5, "message": "Which?"}, "unknown_model"),
        ({"code": 7, "message": "No."}, "unauthorized"),
        ({"code": 1, "message": "Stop."}, "cancelled"),
        ({"code": 429, "message": "Slow.", "status": "RESOURCE_EXHAUSTED"}, "rate_limited"),
        ({"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT"}, "invalid_request"),
        ({"code": 503, "message": "Full.", "status": "UNAVAILABLE"}, "server_error"),
        ({"code": 418, "message": "Teapot."}, "invalid_request"),
        (
            {"code": 3, "message": "The input token count (9) exceeds the maximum number of tokens allowed (8)."},
            "too_large",
        ),
        (
            {"code": 429, "message": "Your prepayment credits are depleted.", "status": "RESOURCE_EXHAUSTED"},
            "no_credit",
        ),
        ({"message": "Something."}, "server_error"),
        ({"error": {"code": 400, "message": "Nested.", "status": "INVALID_ARGUMENT"}}, "invalid_request"),
    ],
)
def test_errors_by_code_or_word_under_either_name(error: dict[str, Any], cause: str) -> None:
    for field in ("error", "status"):
        found = read(**{field: error})
        assert (found.outcome, found.cause) == ("failed", cause)
        assert found.detail


def test_vertex_tells_a_failure_in_a_sentence() -> None:
    line = {
        "status": 'Bad Request: {"error": {"code": 400, "message": "No.", "status": "INVALID_ARGUMENT"}}',
        "processed_time": "2026-11-16T00:00:00Z",
        "request": {"contents": []},
        "custom_id": "o1-2",
    }
    found = decode(msgspec.json.encode(line))
    assert found.custom_id == "o1-2"
    assert found.result is not None
    assert (found.result.cause, found.result.detail) == ("invalid_request", "INVALID_ARGUMENT: No.")
    plain = decode(msgspec.json.encode({**line, "status": "INTERNAL trouble {"}))
    assert plain.result is not None
    assert (plain.result.cause, plain.result.detail) == ("server_error", "INTERNAL trouble {")


def test_vertex_with_an_answer() -> None:
    line = {"status": "", "processed_time": "x", "request": {"a": 1}, "response": response(), "custom_id": "o1-2"}
    found = decode(msgspec.json.encode(line))
    assert found.result is not None
    assert found.result.answer == "Yes."


def test_ids_wherever_they_stand_and_never_by_place() -> None:
    assert decode(msgspec.json.encode({"metadata": {"key": "m1"}, "response": response()})).custom_id == "m1"
    assert decode(msgspec.json.encode({"custom_id": 17, "response": response()})).custom_id == "17"
    for nameless in ({"response": response()}, {"key": "", "response": response()}, {"key": None, "error": {}}):
        found = decode(msgspec.json.encode(nameless))
        assert (found.custom_id, found.result) == (None, None)
        assert found.problem


def test_counts_as_text_and_usage_gone_wrong_cost_no_answer() -> None:
    found = read(response={**response(), "usageMetadata": {name: str(count) for name, count in USAGE.items()}})
    assert found.usage.output == 12
    for wrong in ({"promptTokenCount": -1}, {"promptTokenCount": "many"}, []):
        found = read(response={**response(), "usageMetadata": wrong})
        assert (found.outcome, found.answer, found.usage) == ("answered", "Yes.", Usage())


def test_half_a_character_costs_no_answer() -> None:
    whole = msgspec.json.encode({"key": "k1", "response": response("Ja")})
    found = decode(whole.replace(b'"Ja"', b'"J\\ud800a"'))
    assert found.result is not None
    assert found.result.answer == "J\ufffda"


def test_an_answer_that_cannot_be_read_is_still_paid_for() -> None:
    found = read(response={"candidates": 7, "usageMetadata": USAGE})
    assert (found.cause, found.usage.output) == ("unreadable", 12)


@given(st.binary(max_size=200))
def test_whatever_comes_a_line_comes_back(data: bytes) -> None:
    assert decode(data).custom_id is None or decode(data).result is not None


_json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "key",
                    "custom_id",
                    "metadata",
                    "response",
                    "error",
                    "status",
                    "candidates",
                    "content",
                    "parts",
                    "text",
                    "usageMetadata",
                    "code",
                    "message",
                    "details",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_json_values)
def test_whatever_json_comes_a_line_comes_back(value: Any) -> None:
    line = msgspec.json.encode(value)
    found = decode(line)
    assert (found.custom_id is None) == (found.result is None)


@given(st.text(max_size=40), st.text(max_size=40))
def test_answers_come_back_as_they_were_written(key: str, text: str) -> None:
    line = decode(msgspec.json.encode({"key": key, "response": response(text)}))
    assert line.custom_id == (key or None)
    if key:
        assert line.result is not None
        assert line.result.answer == text


@pytest.mark.parametrize("id_field", ["key", "custom_id"])
def test_live_replies_are_lines_of_the_same_kind(id_field: Any) -> None:
    body = msgspec.json.format(msgspec.json.encode(response()), indent=2)
    kept = live_line(id_field, "o1-0", Reply(sent=True, status=200, body=body))
    assert b"\n" not in kept
    assert decode(kept) == decode(msgspec.json.encode({id_field: "o1-0", "response": response()}))
    for reply, cause in (
        (
            Reply(
                sent=True, status=429, body=b'{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED"}}'
            ),
            "rate_limited",
        ),
        (Reply(sent=True, status=400, body=b'[{"error":{"code":400,"message":"No."}}]'), "invalid_request"),
        (Reply(sent=True, status=502, body=b"<html>Bad Gateway</html>"), "server_error"),
        (Reply(sent=True, problem="the connection broke"), "server_error"),
        (Reply(sent=True, status=200, body=b"half a"), "unreadable"),
        (Reply(sent=True, status=404, body=b"no such thing"), "unknown_model"),
    ):
        line = decode(live_line(id_field, "o1-0", reply))
        assert line.custom_id == "o1-0"
        assert line.result is not None
        assert line.result.cause == cause


@pytest.mark.parametrize("provider", ["gemini", "vertex"])
def test_what_is_billed_is_what_is_priced(provider: str) -> None:
    """Cached tokens are part of the prompt, and thoughts are output though they are counted beside it."""
    counts = {
        "promptTokenCount": 1000,
        "cachedContentTokenCount": 400,
        "candidatesTokenCount": 100,
        "thoughtsTokenCount": 50,
    }
    usage = read(response={**response(), "usageMetadata": counts}).usage
    price = PriceBook(today=date(2026, 11, 16)).price(Model(provider=provider, name="gemini-2.5-flash"), "batch")
    assert price is not None
    # $0.15 in, $0.03 cached (as live) and $1.25 out, each for a million.
    assert cost(price, usage) == 600 * 150 + 400 * 30 + 150 * 1250
