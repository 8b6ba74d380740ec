"""Batch objects, listings and refusals as OpenAI writes them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.errors import Unavailable
from overnight.providers import Batch, Counts, Fence, Intent, Refusal
from overnight.providers.openai import provider
from overnight.providers.openai_api.batches import (
    Shape,
    create_refusal,
    metadata_of,
    named,
    read_batch,
    read_page,
)
from overnight.providers.reading.listing import reaches
from overnight.providers.reading.responses import Response
from providers.asking import KEY, model, stored

OPENAI = Shape(name="openai", title="OpenAI's")
RAW: dict[str, Any] = {
    "id": "batch_1",
    "object": "batch",
    "endpoint": "/v1/chat/completions",
    "errors": None,
    "input_file_id": "file-in",
    "completion_window": "24h",
    "status": "completed",
    "output_file_id": "file-out",
    "error_file_id": "file-err",
    "created_at": 1_790_000_000,
    "expires_at": 1_790_086_400,
    "request_counts": {"total": 5, "completed": 4, "failed": 1},
    "metadata": {"overnight": "tok", "run": "essays"},
    "usage": {"input_tokens": 1},
}


def batch(**change: Any) -> Batch:
    return read_batch(OPENAI, json.dumps(RAW | change).encode())


def failing(code: str | None, text: str = "No.", param: str | None = None, line: int | None = None) -> Refusal | None:
    errors = {"object": "list", "data": [{"code": code, "message": text, "param": param, "line": line}]}
    return batch(status="failed", errors=errors).refusal


def intent(**change: Any) -> Intent:
    given_fields: dict[str, Any] = {"token": "tok", "run": "essays", "rows": 1, "bytes": 1, "file": stored(Path("x"))}
    return Intent(model=model(), **(given_fields | change))


def test_a_finished_batch() -> None:
    assert batch() == Batch(
        id="batch_1",
        phase="completed",
        status="completed",
        created_at=1_790_000_000.0,
        expires_at=1_790_086_400.0,
        tag="tok",
        input_ref="file-in",
        counts=Counts(5, 4, 1),
        parts=(("output", "file-out"), ("error", "file-err")),
    )


@pytest.mark.parametrize(
    ("status", "phase"),
    [
        ("validating", "running"),
        ("in_progress", "running"),
        ("finalizing", "running"),
        ("cancelling", "running"),
        ("completed", "completed"),
        ("failed", "failed"),
        ("expired", "expired"),
        ("cancelled", "cancelled"),
    ],
)
def test_status_words_have_phases(status: str, phase: str) -> None:
    seen = batch(status=status)
    assert (seen.phase, seen.status, seen.known_status) == (phase, status, True)


@pytest.mark.parametrize("status", ["paused", "COMPLETED", ""])
def test_an_unknown_status_word_means_running(status: str) -> None:
    seen = batch(status=status)
    assert (seen.phase, seen.status, seen.known_status) == ("running", status, False)


@pytest.mark.parametrize("nothing", [None, ""])
def test_a_missing_file_is_null_or_empty(nothing: str | None) -> None:
    assert batch(output_file_id=nothing).parts == (("error", "file-err"),)
    assert batch(error_file_id=nothing).parts == (("output", "file-out"),)
    assert batch(output_file_id=nothing, error_file_id=nothing).parts == ()


@pytest.mark.parametrize("metadata", [None, {}, {"overnight": 7}, {"other": "tok"}])
def test_a_batch_without_our_tag(metadata: Any) -> None:
    assert batch(metadata=metadata).tag is None


def test_fields_may_be_missing() -> None:
    assert read_batch(OPENAI, b'{"id":"b","status":"in_progress"}') == Batch(
        id="b", phase="running", status="in_progress"
    )
    assert batch(request_counts=None).counts == Counts()


@pytest.mark.parametrize("field", ["request_counts", "metadata", "created_at", "expires_at", "errors", "input_file_id"])
@pytest.mark.parametrize("odd", ["many", [1], {"total": "5", "data": 7}, 2**70, True])
def test_a_field_of_another_kind_is_not_known_and_the_rest_is_read(field: str, odd: Any) -> None:
    found = read_batch(OPENAI, json.dumps({**RAW, field: odd}).encode())
    assert (found.id, found.phase, found.known_status) == ("batch_1", "completed", True)
    assert found.parts == (("output", "file-out"), ("error", "file-err"))


def test_a_batch_in_another_shape_is_running_for_all_we_know() -> None:
    assert read_batch(OPENAI, b'{"id":"b","status":7}') == Batch(id="b", phase="running", status="", known_status=False)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"id":7}', b'{"object":"list"}', b'{"id":"\xff"}'])
def test_what_has_no_id_is_no_batch(body: bytes) -> None:
    with pytest.raises(Unavailable):
        read_batch(OPENAI, body)
    with pytest.raises(Unavailable):
        named(OPENAI, body)


LIMIT = (
    "Enqueued token limit reached for gpt-4.1 in organization org-x. Limit: {} enqueued tokens. "
    "Please try again once some in_progress batches have been completed."
)


@pytest.mark.parametrize(
    ("written", "limit"),
    [("90000", 90_000), ("1,350,000", 1_350_000), ("2.000.000", 2_000_000), ("90 000", 90_000), ("90", 90)],
)
def test_the_token_limit_is_read_from_the_refusal(written: str, limit: int) -> None:
    text = LIMIT.format(written)
    assert failing("token_limit_exceeded", text) == Refusal(kind="token_limit", message=text, token_limit=limit)
    assert failing(None, text) == Refusal(kind="token_limit", message=text, token_limit=limit)


@given(st.integers(0, 10**12))
def test_any_limit_is_read_with_and_without_separators(limit: int) -> None:
    for written in (str(limit), f"{limit:,}", f"{limit:_}"):
        refusal = failing("token_limit_exceeded", LIMIT.format(written))
        assert refusal is not None
        assert refusal.token_limit == limit


def test_a_limit_that_is_not_told_is_not_known() -> None:
    assert failing("token_limit_exceeded", "Too many tokens.") == Refusal(
        kind="token_limit", message="Too many tokens."
    )


@pytest.mark.parametrize(
    ("code", "text", "param", "kind"),
    [
        ("model_not_found", "No such model.", "body.model", "unknown_model"),
        ("invalid_request", "File file-x was not found.", "file_id", "file_not_ready"),
        ("invalid_request", "No such File object: file-x", None, "file_not_ready"),
        ("invalid_request", "You must provide a model.", "body.model", "invalid"),
        ("invalid_json_line", "Line 3 is not JSON.", None, "invalid"),
        ("duplicate_custom_id", "r1 is there twice.", "custom_id", "invalid"),
        ("mismatched_model", "Two models.", "body.model", "invalid"),
        ("invalid_url", "Not the endpoint.", "url", "invalid"),
        ("streaming_unsupported", "No.", "body.stream", "invalid"),
        ("file_too_large", "No.", None, "too_large"),
        (None, "The file is larger than the 209715200 maximum.", None, "too_large"),
        ("invalid_request", "Batch file is too large.", "file_id", "too_large"),
        ("too_many_tasks", "No.", None, "too_large"),
        ("billing_hard_limit_reached", "Billing hard limit has been reached.", None, "no_credit"),
        ("insufficient_quota", "You exceeded your current quota.", None, "no_credit"),
        ("new_code", "Something new.", None, "invalid"),
    ],
)
def test_validation_failures_have_kinds(code: str | None, text: str, param: str | None, kind: str) -> None:
    refusal = failing(code, text, param, 3)
    assert refusal is not None
    assert (refusal.kind, refusal.message, refusal.line) == (kind, text, 3)


@pytest.mark.parametrize("errors", [None, {"data": []}, {"data": None}, {"object": "list"}])
def test_a_failure_without_a_reason_is_for_good(errors: Any) -> None:
    refusal = batch(status="failed", errors=errors).refusal
    assert refusal == Refusal(kind="invalid", message="the batch failed and the provider gave no reason")


def test_only_a_failed_batch_is_refused() -> None:
    errors = {"data": [{"code": "x", "message": "y"}]}
    assert all(batch(status=word, errors=errors).refusal is None for word in ("in_progress", "expired", "odd"))


def reply(status: int, code: str | None = None, text: str = "No.", **more: Any) -> Response:
    body = json.dumps({"error": {"message": text, "type": "invalid_request_error", "param": None, "code": code}})
    return Response(status=status, body=body.encode(), **more)


@pytest.mark.parametrize(
    ("status", "code", "text", "kind"),
    [
        (400, None, "No.", "invalid"),
        (401, "invalid_api_key", "No.", "unauthorized"),
        (403, None, "No.", "unauthorized"),
        (404, "model_not_found", "No.", "unknown_model"),
        (404, None, "No such File object: file-x", "file_not_ready"),
        (413, None, "No.", "too_large"),
        (429, "rate_limit_exceeded", "No.", "throttled"),
        (429, None, "No.", "throttled"),
        (429, "insufficient_quota", "No.", "no_credit"),
        (400, "billing_hard_limit_reached", "No.", "no_credit"),
        (400, "token_limit_exceeded", LIMIT.format("5"), "token_limit"),
        (529, None, "Overloaded.", "throttled"),
    ],
)
def test_refused_creates_have_kinds(status: int, code: str | None, text: str, kind: str) -> None:
    refusal = create_refusal(reply(status, code, text, retry_after=2.5))
    assert refusal is not None
    assert (refusal.kind, refusal.message, refusal.retry_after) == (kind, text, 2.5)


@pytest.mark.parametrize("status", [200, 302, 408, 409, 425, 499, 500, 502, 503, 504])
def test_no_refusal_is_read_out_of_an_answer_that_leaves_it_open(status: int) -> None:
    assert create_refusal(reply(status)) is None


def test_a_refusal_in_no_known_shape_still_says_something() -> None:
    assert create_refusal(Response(status=400, body=b"{}")) == Refusal(kind="invalid", message="HTTP 400")


@pytest.mark.parametrize("body", [b"<html>Bad request</html>", b"no healthy upstream", b""])
def test_what_is_not_in_the_providers_words_is_no_refusal(body: bytes) -> None:
    assert create_refusal(Response(status=400, body=body)) is None
    assert create_refusal(Response(status=413, body=body)) is not None


def test_a_refusal_holds_no_key() -> None:
    refused = create_refusal(reply(401, None, f"Bad key {KEY}!"), KEY)
    assert refused is not None
    assert refused.message == "Bad key [key]!"


def test_the_tag_is_the_token() -> None:
    assert metadata_of(intent()) == {"overnight": "tok", "run": "essays"}
    long = metadata_of(intent(run="r" * 600, description="d" * 600))
    assert long == {"overnight": "tok", "run": "r" * 512, "description": "d" * 512}


@pytest.mark.parametrize(
    ("tag", "input_ref", "file_id", "ours"),
    [
        ("tok", None, None, "yes"),
        ("tok", "file-b", "file-a", "yes"),
        (None, "file-a", "file-a", "yes"),
        ("other", "file-a", "file-a", "yes"),
        ("other", "file-b", "file-a", "no"),
        (None, "file-b", "file-a", "no"),
        (None, None, None, "no"),
    ],
)
def test_a_batch_is_ours_by_tag_or_by_file(
    tag: str | None, input_ref: str | None, file_id: str | None, ours: str
) -> None:
    seen = Batch(id="b", phase="running", status="validating", tag=tag, input_ref=input_ref)
    assert provider.format.ours(seen, intent(), file_id) == ours


def listed(*pairs: tuple[str, float | None]) -> tuple[Batch, ...]:
    return tuple(Batch(id=name, phase="running", status="", created_at=at) for name, at in pairs)


@pytest.mark.parametrize(
    ("batches", "reached"),
    [
        ((), False),
        ((("new", 1010.0),), False),
        ((("new", 1010.0), ("newest", 1000.0)), False),  # one of the same second may follow
        ((("newest", 1000.0), ("older", 999.0)), True),
        ((("newest", 1000.0), ("odd", None)), False),
    ],
)
def test_a_listing_reaches_the_fence(batches: Any, reached: bool) -> None:
    assert reaches(Fence(1000.0), listed(*batches)) is reached
    assert not reaches(Fence(None), listed(*batches))


def test_a_page() -> None:
    page = read_page(
        OPENAI, json.dumps({"object": "list", "data": [RAW, {"id": "odd", "status": 7}], "has_more": True}).encode()
    )
    assert [one.id for one in page.batches] == ["batch_1", "odd"]
    assert page.has_more
    assert not read_page(OPENAI, b'{"data":[]}').has_more


def test_a_page_that_does_not_say_whether_it_is_the_last_is_not() -> None:
    assert read_page(OPENAI, b'{"data":[{"id":"b"}]}').has_more


@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"data":7}'])
def test_a_page_in_another_shape_is_no_listing(body: bytes) -> None:
    with pytest.raises(Unavailable):
        read_page(OPENAI, body)
