"""Every shape of a result line, and that no bytes whatever are too much for the decoder."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.result import Line, Result, Usage, failed
from overnight.providers.openai_api.rows import decode

CHAT_USAGE = {
    "prompt_tokens": 440,
    "completion_tokens": 95,
    "total_tokens": 535,
    "prompt_tokens_details": {"cached_tokens": 128, "cache_write_tokens": 7, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 64, "audio_tokens": 0},
}
RESPONSES_USAGE = {
    "input_tokens": 440,
    "input_tokens_details": {"cached_tokens": 128, "cache_write_tokens": 7},
    "output_tokens": 95,
    "output_tokens_details": {"reasoning_tokens": 64},
    "total_tokens": 535,
}
USAGE = Usage(input=440, cached=128, cache_write=7, output=95, reasoning=64)


def row(response: Any = None, error: Any = None, custom_id: Any = "r1") -> bytes:
    return json.dumps({"id": "batch_req_1", "custom_id": custom_id, "response": response, "error": error}).encode()


def http(body: Any, status: Any = 200) -> bytes:
    return row({"status_code": status, "request_id": "req_1", "body": body})


def complaint(status: int, code: str | None = None, message: str = "No.", kind: str | None = None) -> bytes:
    return http({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def chat(finish: str | None = "stop", **message: Any) -> bytes:
    said = {"role": "assistant", "content": None, "refusal": None, "annotations": []} | message
    choice = {"index": 0, "message": said, "logprobs": None, "finish_reason": finish}
    return http({"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": CHAT_USAGE})


def responses(*output: Any, status: str = "completed", **more: Any) -> bytes:
    return http(
        {"id": "resp_1", "object": "response", "status": status, "output": output, "usage": RESPONSES_USAGE} | more
    )


def message(*parts: Any) -> dict[str, Any]:
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": list(parts)}


def text(words: str) -> dict[str, Any]:
    return {"type": "output_text", "text": words, "annotations": []}


def thought(*words: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": one} for one in words]}


REFUSAL = {"type": "refusal", "refusal": "I cannot."}


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (chat(content="Yes."), Result(outcome="answered", answer="Yes.", usage=USAGE)),
        (chat(content=""), Result(outcome="answered", answer="", usage=USAGE)),
        (chat(None, content="Yes."), Result(outcome="answered", answer="Yes.", usage=USAGE)),
        (chat("length", content="Ye"), Result(outcome="truncated", cause="max_tokens", answer="Ye", usage=USAGE)),
        (chat("length", content=""), Result(outcome="truncated", cause="max_tokens", answer="", usage=USAGE)),
        (chat("length"), Result(outcome="truncated", cause="max_tokens", answer="", usage=USAGE)),
        (chat(refusal="I cannot."), Result(outcome="refused", answer="I cannot.", usage=USAGE)),
        (chat("length", refusal="I can"), Result(outcome="refused", answer="I can", usage=USAGE)),
        (chat("content_filter"), Result(outcome="refused", cause="content_filter", usage=USAGE)),
        (
            chat("content_filter", content="Well"),
            Result(outcome="refused", cause="content_filter", answer="Well", usage=USAGE),
        ),
        (chat("tool_calls"), failed("unreadable", "no content (finish_reason tool_calls)", USAGE)),
        (chat(), failed("unreadable", "no content (finish_reason stop)", USAGE)),
    ],
)
def test_chat_answers(line: bytes, result: Result) -> None:
    assert decode(line) == Line("r1", result)


@pytest.mark.parametrize(
    ("line", "result"),
    [
        (responses(message(text("Yes."))), Result(outcome="answered", answer="Yes.", usage=USAGE)),
        (
            responses(thought("First.", "Then."), message(text("Yes"), text(".")), message(text(" Sure."))),
            Result(outcome="answered", answer="Yes. Sure.", thoughts="First.\n\nThen.", usage=USAGE),
        ),
        (
            responses(
                {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm."}]},
                message(text("A")),
            ),
            Result(outcome="answered", answer="A", thoughts="Hm.", usage=USAGE),
        ),
        (responses(thought(), message(text(""))), Result(outcome="answered", answer="", usage=USAGE)),
        (responses(message(REFUSAL)), Result(outcome="refused", answer="I cannot.", usage=USAGE)),
        (
            responses(message(text("Well. "), REFUSAL)),
            Result(outcome="refused", answer="Well. I cannot.", usage=USAGE),
        ),
        (
            responses(
                thought("Hm."),
                message(text("Ye")),
                status="incomplete",
                incomplete_details={"reason": "max_output_tokens"},
            ),
            Result(outcome="truncated", cause="max_tokens", answer="Ye", thoughts="Hm.", usage=USAGE),
        ),
        (
            responses(thought(), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            Result(outcome="truncated", cause="max_tokens", answer="", usage=USAGE),
        ),
        (
            responses(status="incomplete", incomplete_details={"reason": "content_filter"}),
            Result(outcome="refused", cause="content_filter", usage=USAGE),
        ),
        (
            responses(message(text("A")), status="incomplete", incomplete_details={"reason": "steered"}),
            Result(outcome="truncated", answer="A", detail="incomplete: steered", usage=USAGE),
        ),
        (
            responses(status="incomplete", incomplete_details=None),
            Result(outcome="truncated", answer="", detail="incomplete: None", usage=USAGE),
        ),
        (responses(), failed("unreadable", "a response without text", USAGE)),
        (responses({"type": "function_call", "name": "f"}), failed("unreadable", "a response without text", USAGE)),
        (responses(status="queued"), failed("unreadable", "a response that is still queued", USAGE)),
        (responses(status="cancelled"), failed("cancelled", "the response was cancelled", USAGE)),
        (responses(status="failed", error=None), failed("server_error", "the provider gave no reason", USAGE)),
    ],
)
def test_responses_answers(line: bytes, result: Result) -> None:
    assert decode(line) == Line("r1", result)


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("server_error", "server_error"),
        ("rate_limit_exceeded", "rate_limited"),
        ("invalid_prompt", "invalid_request"),
        ("data_residency_mismatch", "invalid_request"),
        ("vector_store_timeout", "timeout"),
        ("something_new", "server_error"),
    ],
)
def test_a_failed_response_is_read_by_its_code(code: str, cause: str) -> None:
    line = responses(status="failed", error={"code": code, "message": "Sorry."})
    assert decode(line) == Line("r1", failed(cause, f"{code}: Sorry.", USAGE))  # type: ignore[arg-type]


@pytest.mark.parametrize("code", ["bio_policy", "misalignment_policy_violation", "content_filter"])
def test_the_providers_filter_is_a_refusal(code: str) -> None:
    result = decode(responses(status="failed", error={"code": code, "message": "Flagged."})).result
    assert result == Result(outcome="refused", cause="content_filter", detail=f"{code}: Flagged.", usage=USAGE)
    assert decode(complaint(400, code)).result == Result(
        outcome="refused", cause="content_filter", detail=f"HTTP 400, {code}: No.", usage=Usage(input=0, output=0)
    )


@pytest.mark.parametrize(
    ("status", "code", "cause"),
    [
        (429, "rate_limit_exceeded", "rate_limited"),
        (429, None, "rate_limited"),
        (429, "insufficient_quota", "no_credit"),
        (400, "billing_hard_limit_reached", "no_credit"),
        (500, None, "server_error"),
        (503, "overloaded", "server_error"),
        (529, None, "server_error"),
        (504, None, "timeout"),
        (408, None, "timeout"),
        (401, "invalid_api_key", "unauthorized"),
        (403, None, "unauthorized"),
        (404, "model_not_found", "unknown_model"),
        (404, None, "unknown_model"),
        (400, "model_not_found", "unknown_model"),
        (413, None, "too_large"),
        (400, "context_length_exceeded", "too_large"),
        (400, "unsupported_parameter", "invalid_request"),
        (422, None, "invalid_request"),
    ],
)
def test_http_failures_have_causes(status: int, code: str | None, cause: str) -> None:
    detail = f"HTTP {status}, {code}: No." if code else f"HTTP {status}: No."
    assert decode(complaint(status, code)) == Line("r1", failed(cause, detail))  # type: ignore[arg-type]


def test_an_empty_account_may_say_so_in_the_type() -> None:
    result = decode(complaint(429, None, kind="insufficient_quota")).result
    assert result is not None
    assert result.cause == "no_credit"


@pytest.mark.parametrize(
    ("code", "cause"),
    [
        ("batch_expired", "expired"),
        ("batch_cancelled", "cancelled"),
        ("rate_limit_exceeded", "rate_limited"),
        ("request_timeout", "timeout"),
        ("never_heard_of", "server_error"),
    ],
)
@pytest.mark.parametrize("response", [None, {"status_code": None, "request_id": "", "body": None}, {"status_code": 0}])
def test_rows_that_were_not_run(code: str, cause: str, response: Any) -> None:
    line = row(response, {"code": code, "message": "It was not."})
    assert decode(line) == Line("r1", failed(cause, f"{code}: It was not."))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "detail"),
    [
        (row({"status_code": 200, "request_id": "x"}), "a response with HTTP status 200 and no answer"),
        (http(None), "a response with HTTP status 200 and no answer"),
        (http({}, 0), "a response with HTTP status 0 and no answer"),
        (http({"choices": [{"message": {"content": "x"}}]}, None), "a response with HTTP status None and no answer"),
        (http({"choices": []}), "a response with neither choices nor output"),
        (http({}), "a response with neither choices nor output"),
    ],
)
def test_answers_that_are_none(line: bytes, detail: str) -> None:
    assert decode(line) == Line("r1", failed("unreadable", detail))


def test_an_error_without_a_body_goes_by_its_status() -> None:
    assert decode(http(None, 502)) == Line("r1", failed("server_error", "HTTP 502"))


def test_an_error_in_a_good_response_is_an_error() -> None:
    line = http({"error": {"code": "server_error", "message": "Oh."}})
    assert decode(line) == Line("r1", failed("server_error", "server_error: Oh."))


def test_a_paid_answer_wins_over_an_error_beside_it() -> None:
    body = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}
    line = row({"status_code": 200, "body": body}, {"code": "odd", "message": "Hm."})
    assert decode(line) == Line("r1", Result(outcome="answered", answer="A"))


def test_details_hold_no_key_and_no_novel() -> None:
    result = decode(complaint(401, None, "Incorrect API key provided: sk-proj-abcdef*****wxyz. " + "x" * 1000)).result
    assert result is not None
    assert result.detail is not None
    assert "sk-proj" not in result.detail
    assert result.detail.startswith("HTTP 401: Incorrect API key provided: [key]. x")
    assert len(result.detail) == 500


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"null",
        b"[]",
        b'"r1"',
        b"{",
        b"\x00",
        b"\xff\xfe",
        row(custom_id=None),
        row(custom_id=""),
        row(custom_id=7),
        b"[" * 100_000,
    ],
)
def test_a_line_without_an_id_says_so(line: bytes) -> None:
    decoded = decode(line)
    assert decoded.custom_id is None
    assert decoded.result is None
    assert decoded.problem


def test_half_a_character_costs_that_character_only() -> None:
    line = chat(content="@").replace(b'"@"', b'"fine \\ud83d then \xff bytes"')
    assert decode(line) == Line("r1", Result(outcome="answered", answer="fine � then � bytes", usage=USAGE))


@pytest.mark.parametrize("broken", [b"r\\ud800", b"r\xff"])
def test_a_broken_id_is_no_id(broken: bytes) -> None:
    assert decode(chat(content="A").replace(b'"r1"', b'"' + broken + b'"')).custom_id is None


@pytest.mark.parametrize("usage", ["many", [1], {"prompt_tokens": -1}, {"prompt_tokens": 1.5}])
def test_a_usage_gone_wrong_does_not_cost_the_answer(usage: Any) -> None:
    line = http({"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}], "usage": usage})
    assert decode(line) == Line("r1", Result(outcome="answered", answer="A"))


def test_an_answer_in_another_shape_is_unreadable_but_its_tokens_count() -> None:
    decoded = decode(http({"choices": [{"message": {"content": [{"type": "text"}]}}], "usage": CHAT_USAGE}))
    assert decoded.custom_id == "r1"
    assert decoded.result is not None
    assert (decoded.result.cause, decoded.result.usage) == ("unreadable", USAGE)


@pytest.mark.parametrize("response", [5, "x", [], {"status_code": "200", "body": {}}, {"status_code": 200, "body": 5}])
def test_an_envelope_in_another_shape_is_unreadable(response: Any) -> None:
    decoded = decode(row(response))
    assert decoded.custom_id == "r1"
    assert decoded.result is not None
    assert decoded.result.cause == "unreadable"


def test_a_byte_order_mark_before_the_first_line_is_passed_over() -> None:
    assert decode(b"\xef\xbb\xbf" + chat(content="A")) == decode(chat(content="A"))


def test_an_unknown_field_and_spaces_change_nothing() -> None:
    line = chat(content="A", audio={"x": [1, {"y": None}]}).replace(b",", b" ,\t").rstrip() + b"\n"
    assert decode(line) == Line("r1", Result(outcome="answered", answer="A", usage=USAGE))


SHAPES = [
    chat(content="Yes."),
    chat("length", content=""),
    responses(thought("Hm."), message(text("Yes."), REFUSAL)),
    responses(status="failed", error={"code": "server_error", "message": "x"}),
    complaint(429, "rate_limit_exceeded"),
    row(None, {"code": "batch_expired", "message": "x"}),
]


def check(line: bytes) -> None:
    decoded = decode(line)
    assert (decoded.result is None) == (decoded.problem is not None)
    assert decoded.custom_id is not None or decoded.result is None
    if decoded.custom_id is not None:
        found = json.loads(line.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))
        assert found["custom_id"] == decoded.custom_id
        assert decoded.custom_id.encode()
    if decoded.result is not None:
        assert all((part or "").encode() is not None for part in (decoded.result.answer, decoded.result.thoughts))
        assert len(decoded.result.detail or "") <= 500


@given(st.binary())
def test_no_bytes_raise(line: bytes) -> None:
    check(line)


@given(st.sampled_from(SHAPES), st.data())
def test_no_damage_raises_or_invents_an_id(line: bytes, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(line)))
    end = data.draw(st.integers(start, min(len(line), start + 12)))
    junk = data.draw(
        st.binary(max_size=6) | st.sampled_from([b"null", b"[]", b"{}", b'"', b"1e999", b"\\ud800", b"-1"])
    )
    check(line[:start] + junk + line[end:])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [here] if here else []
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return found + [path for key, part in pairs for path in paths(part, (*here, key))]


@given(st.sampled_from(SHAPES), json_values, st.data())
def test_any_value_in_any_place_is_survived(line: bytes, value: Any, data: st.DataObject) -> None:
    found = json.loads(line)
    path = data.draw(st.sampled_from(paths(found)))
    place = found
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    changed = json.dumps(found).encode()
    check(changed)
    if path[0] != "custom_id":
        assert decode(changed).custom_id == "r1"


@given(st.lists(st.tuples(st.booleans(), st.text()), min_size=1, max_size=5))
def test_all_text_of_a_response_is_kept_in_order(said: list[tuple[bool, str]]) -> None:
    parts = [REFUSAL | {"refusal": words} if refused else text(words) for refused, words in said]
    result = decode(responses(message(*parts))).result
    assert result is not None
    assert result.answer == "".join(words for _, words in said)
    assert result.outcome == ("refused" if any(refused for refused, _ in said) else "answered")
