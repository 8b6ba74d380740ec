"""Whatever a provider sends is a value or a ProviderError: never another exception, at any depth, size or number."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from multidict import CIMultiDict

from overnight.core.errors import ProviderError
from overnight.core.result import Line, Usage
from overnight.providers import together
from overnight.providers.anthropic import batches as anthropic_batches
from overnight.providers.anthropic import live as anthropic_live
from overnight.providers.anthropic import rows as anthropic_rows
from overnight.providers.bedrock import jobs as bedrock_jobs
from overnight.providers.bedrock import rows as bedrock_rows
from overnight.providers.contract import Reply as LiveReply
from overnight.providers.fireworks import jobs as fireworks_jobs
from overnight.providers.fireworks import rows as fireworks_rows
from overnight.providers.gemini import batches as gemini_batches
from overnight.providers.google_api import live as google_live
from overnight.providers.google_api import refusals as google_refusals
from overnight.providers.google_api import rows as google_rows
from overnight.providers.mistral import jobs as mistral_jobs
from overnight.providers.mistral import rows as mistral_rows
from overnight.providers.ollama import rows as ollama_rows
from overnight.providers.openai_api import batches as openai_batches
from overnight.providers.openai_api import live as openai_live
from overnight.providers.openai_api import rows as openai_rows
from overnight.providers.reading import complaints as complaint
from overnight.providers.reading.figures import LONGEST_WAIT, MOST
from overnight.providers.reading.responses import Response, epoch_of, retry_after_of
from overnight.providers.vertex import jobs as vertex_jobs
from overnight.providers.vllm import format as vllm_format
from overnight.providers.xai import batches as xai_batches
from overnight.providers.xai import rows as xai_rows

OPENAI = openai_batches.Shape(name="openai", title="OpenAI's")
BASE = "https://api.anthropic.com"
ROWS: dict[str, Callable[[bytes], Line]] = {
    "openai": openai_rows.decode,
    "anthropic": anthropic_rows.decode,
    "google": google_rows.decode,
    "ollama": ollama_rows.decode,
    "mistral": mistral_rows.decode,
    "bedrock": bedrock_rows.decode,
    "fireworks": fireworks_rows.decode,
    "vllm": vllm_format.decode,
    "xai": xai_rows.decode,
}
LIVE_LINES: dict[str, Callable[[LiveReply], bytes]] = {
    "openai": lambda reply: openai_live.live_line("x", reply),
    "anthropic": lambda reply: anthropic_live.live_line("x", reply),
    "google": lambda reply: google_live.live_line("key", "x", reply),
    "ollama": lambda reply: ollama_rows.live_line("x", reply),
    "bedrock": lambda reply: bedrock_rows.live_line("x", reply),
}


def _refused(read: Callable[[Response], Any]) -> Callable[[bytes], Any]:
    return lambda body: [read(Response(status=status, body=body)) for status in (400, 404, 413, 429, 529)]


DECODERS: dict[str, Callable[[bytes], Any]] = {
    **{f"{vendor} row": read for vendor, read in ROWS.items()},
    "openai batch": partial(openai_batches.read_batch, OPENAI),
    "openai listing": partial(openai_batches.read_page, OPENAI),
    "openai file": partial(openai_batches.named, OPENAI),
    "openai refusal": _refused(openai_batches.create_refusal),
    "anthropic batch": lambda body: anthropic_batches.read_batch(body, BASE),
    "anthropic listing": lambda body: anthropic_batches.read_page(body, BASE),
    "anthropic refusal": _refused(anthropic_batches.create_refusal),
    "gemini batch": gemini_batches.read_batch,
    "gemini listing": lambda body: gemini_batches.read_page(body, None),
    "gemini answers in place": lambda body: list(gemini_batches.inlined_lines(body)),
    "google refusal": _refused(google_refusals.create_refusal),
    "vertex job": vertex_jobs.read_job,
    "vertex listing": lambda body: vertex_jobs.read_page(body, None),
    "mistral job": mistral_jobs.read_job,
    "mistral listing": lambda body: mistral_jobs.read_page(body, 0),
    "mistral refusal": _refused(mistral_jobs.create_refusal),
    "bedrock job": bedrock_jobs.read_job,
    "bedrock listing": bedrock_jobs.read_page,
    "bedrock refusal": _refused(bedrock_jobs.create_refusal),
    "fireworks job": fireworks_jobs.read_job,
    "fireworks listing": fireworks_jobs.read_page,
    "fireworks addresses": fireworks_jobs.signed_addresses,
    "xai batch": lambda body: xai_batches.read_batch(body, 1e9),
    "xai listing": lambda body: xai_batches.read_page(body, 1e9),
    "xai results": xai_batches.read_results,
    "xai refusal": _refused(xai_batches.add_refusal),
    "error body": lambda body: complaint.complaint_of(body, "sk-secret"),
}
RATES: dict[str, Callable[[Mapping[str, str]], Any]] = {
    "openai": openai_live.rates_of,
    "anthropic": anthropic_live.rates_of,
    "together": together.rates_of,
}

# One of each thing that a vendor sends; what is sent wrongly is made from these.
_CHAT = {
    "choices": [{"message": {"content": "A plum."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}},
}
_CLAUDE = {
    "content": [{"type": "text", "text": "A plum."}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 3, "output_tokens": 5},
}
_GEMINI = {
    "candidates": [{"content": {"parts": [{"text": "A plum."}]}, "finishReason": "STOP"}],
    "usageMetadata": {"promptTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2},
}
_BATCH = {
    "id": "batch_1",
    "status": "failed",
    "created_at": 1_700_000_000,
    "expires_at": 1_700_086_400,
    "metadata": {"overnight": "token"},
    "output_file_id": "file-1",
    "request_counts": {"total": 3, "completed": 2, "failed": 1},
    "errors": {"data": [{"code": "token_limit_exceeded", "message": "limit: 200,000 enqueued", "line": 3}]},
}
_MESSAGES = {
    "id": "msgbatch_1",
    "processing_status": "ended",
    "request_counts": {"processing": 0, "succeeded": 2, "errored": 1, "canceled": 0, "expired": 0},
    "created_at": "2026-11-01T00:00:00Z",
    "expires_at": "2026-11-02T00:00:00Z",
    "results_url": "https://elsewhere/results",
}
_OPERATION = {
    "name": "batches/1",
    "metadata": {
        "state": "BATCH_STATE_FAILED",
        "createTime": "2026-11-01T00:00:00Z",
        "batchStats": {"requestCount": "3", "successfulRequestCount": "2"},
        "output": {"inlinedResponses": {"inlinedResponses": [{"key": "x", "response": _GEMINI}]}},
    },
    "error": {"code": 8, "message": "enqueued tokens, limit: 100"},
}
_JOB = {
    "name": "projects/p/locations/l/batchPredictionJobs/1",
    "state": "JOB_STATE_FAILED",
    "createTime": "2026-11-01T00:00:00Z",
    "completionStats": {"successfulCount": "2", "failedCount": "1", "incompleteCount": "0"},
    "error": {"code": 7, "message": "no access"},
    "inputConfig": {"gcsSource": {"uris": ["gs://a/b"]}},
    "outputConfig": {"gcsDestination": {"outputUriPrefix": "gs://a/c"}},
    "labels": {"overnight": "token"},
}
_MISTRAL = {
    "id": "1",
    "status": "FAILED",
    "created_at": 1_700_000_000,
    "metadata": {"overnight": "token"},
    "input_files": ["file-1"],
    "output_file": "file-2",
    "total_requests": 3,
    "errors": [{"message": "no", "count": 1}],
}
_NOVA = {
    "output": {"message": {"content": [{"text": "A plum."}]}},
    "stopReason": "end_turn",
    "usage": {"inputTokens": 10, "outputTokens": 5},
}
_INVOCATION = {
    "jobArn": "arn:aws:bedrock:us-east-1:1:model-invocation-job/1",
    "jobName": "token",
    "status": "Failed",
    "message": "no",
    "submitTime": "2026-11-01T00:00:00Z",
    "outputDataConfig": {"s3OutputDataConfig": {"s3Uri": "s3://a/b/"}},
    "totalRecordCount": 3,
}
_INFERENCE = {
    "name": "accounts/a/batchInferenceJobs/1",
    "state": "JOB_STATE_FAILED",
    "createTime": "2026-11-01T00:00:00Z",
    "jobProgress": {"totalInputRequests": 3},
    "status": {"message": "no"},
}
_CONTAINER = {
    "batch_id": "1",
    "name": "token",
    "create_time": "2026-11-01T00:00:00Z",
    "expire_time": "2026-12-01",
    "state": {"num_requests": 3, "num_pending": 1, "num_success": 2},
}
_ERROR = {
    "error": {
        "message": "enqueued token limit, limit: 900,000",
        "code": "token_limit_exceeded",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"reason": "x", "retryDelay": "3s"}],
    }
}
# By whose they are: each decoder is given all of its own, and some of everybody's.
OWN: dict[str, list[Any]] = {
    "openai": [
        {"custom_id": "x", "response": {"status_code": 200, "body": _CHAT}, "error": None},
        {"custom_id": "x", "response": {"status_code": 429, "body": _ERROR}, "error": None},
        *(_BATCH, {"data": [_BATCH], "has_more": True}),
    ],
    "anthropic": [
        {"custom_id": "x", "result": {"type": "succeeded", "message": _CLAUDE}},
        {"custom_id": "x", "result": {"type": "errored", "error": _ERROR}},
        *(_MESSAGES, {"data": [_MESSAGES], "has_more": False, "last_id": "msgbatch_1"}),
    ],
    "google": [
        {"key": "x", "response": _GEMINI},
        {"key": "x", "error": _ERROR["error"]},
        {"custom_id": 12, "status": 'Bad Request: {"error": {"code": 400}}'},
    ],
    "gemini": [_OPERATION, {"operations": [_OPERATION], "nextPageToken": "t"}],
    "vertex": [_JOB, {"batchPredictionJobs": [_JOB]}],
    "ollama": [
        {"custom_id": "x", "status": 200, "body": {"message": {"content": "A plum."}, "done": True, "eval_count": 3}}
    ],
    "mistral": [
        {"custom_id": "x", "response": {"status_code": 200, "body": _CHAT}},
        {"custom_id": "x", "response": {"status_code": 400, "body": '{"detail": "no"}'}},
        *(_MISTRAL, {"data": [_MISTRAL], "total": 300}),
    ],
    "bedrock": [
        {"recordId": "x", "modelOutput": _NOVA},
        {"recordId": "x", "error": {"errorCode": 400, "errorMessage": "no"}},
        *(_INVOCATION, {"invocationJobSummaries": [_INVOCATION], "nextToken": "1"}),
    ],
    "fireworks": [
        {"custom_id": "x", "response": _CHAT},
        {"custom_id": "x", "error": {"code": 400, "message": "no"}},
        *(_INFERENCE, {"batchInferenceJobs": [_INFERENCE], "nextPageToken": "1"}),
        {"filenameToSignedUrls": {"a": "b"}},
    ],
    "vllm": [
        {"custom_id": "x", "response": {"status_code": 200, "body": _CHAT}, "error": None},
        {"custom_id": "x", "response": {"status_code": 400, "body": None}, "error": {"error": {"message": "no"}}},
    ],
    "xai": [
        {"batch_request_id": "x", "batch_result": {"response": {"chat_get_completion": _CHAT}}},
        {"batch_request_id": "x", "batch_result": {"error": "no"}},
        *(_CONTAINER, {"batches": [_CONTAINER], "pagination_token": "1"}),
        {"results": [{"a": 1}], "pagination_token": "1"},
    ],
    "error": [_ERROR, [_ERROR], {"error": "no"}],
}
SAMPLES: list[Any] = [one for samples in OWN.values() for one in samples]
# Of the bodies that are others', one in so many.
_SOME = 11


class Raw(str):
    """JSON that Python would not write: put in as it is."""

    __slots__ = ()


DEEP = [Raw("[" * 3_000 + "]" * 3_000), Raw('{"a":' * 900 + "1" + "}" * 900)]
ODD_NUMBERS = [
    *(2**53 + 1, 2**62, 2**63, 2**64, 2**70, 10**400, -1, -(2**70), 1.5, 1e300, -0.0),
    *(Raw("1" * 5_000), Raw("1e400"), Raw("NaN"), Raw("-Infinity"), "1" * 5_000, "9" * 30),
]
ODD_THINGS = [
    *(None, True, "", [], {}, [[]], {"a": {}}, "\ud800", "sk-" * 50, "0001-01-01T00:00:00", "9999-12-31T23:59:59Z"),
    *("http://[", "//", "gs://", "limit: " + "9" * 5_000, "9" * 400 + "s", Raw('"\\ud800"'), "x" * 1_000),
]
ODD: list[Any] = [*DEEP, *ODD_NUMBERS, *ODD_THINGS]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document, itself included."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def with_odd(value: Any, path: tuple[Any, ...], odd: Any) -> Any:
    if not path:
        return odd
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = with_odd(value[path[0]], path[1:], odd)
    return copy


def written(value: Any) -> bytes:
    """As JSON, with raw parts as they are."""
    if isinstance(value, Raw):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, dict):
        return b"{%b}" % b",".join(b"%b:%b" % (json.dumps(key).encode(), written(part)) for key, part in value.items())
    if isinstance(value, list):
        return b"[%b]" % b",".join(written(part) for part in value)
    return json.dumps(value).encode()


@cache
def bodies(whose: str | None = None) -> tuple[bytes, ...]:
    """Every odd thing at every place of every sample, or of every sample of theirs."""
    samples = SAMPLES if whose is None else OWN.get(whose, [])
    return tuple(written(with_odd(one, path, odd)) for one in samples for path in places(one) for odd in ODD)


def given_to(decoder: str) -> tuple[bytes, ...]:
    """Its own and all errors, with every odd thing at every place; of the others some."""
    return (*bodies(decoder.partition(" ")[0]), *bodies("error"), *bodies()[::_SOME])


def check(read: Callable[[bytes], Any], body: bytes) -> None:
    try:
        found = read(body)
    except ProviderError:
        return
    if isinstance(found, Line) and found.result is not None:
        usage = found.result.usage
        counts = [getattr(usage, name) for name in Usage.__struct_fields__]
        assert all(count is None or 0 <= count <= MOST for count in counts)


@pytest.mark.parametrize("name", DECODERS)
def test_odd_things_at_every_place(name: str) -> None:
    for body in given_to(name):
        check(DECODERS[name], body)


@pytest.mark.parametrize("name", DECODERS)
@given(data=st.data())
@settings(max_examples=30, deadline=None)
def test_any_bytes(name: str, data: st.DataObject) -> None:
    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    )
    body = data.draw(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
    check(DECODERS[name], body)
    whole = written(data.draw(st.sampled_from(SAMPLES)))
    cut, put = data.draw(st.integers(0, len(whole))), data.draw(st.binary(max_size=4))
    check(DECODERS[name], whole[:cut] + put + whole[cut + data.draw(st.integers(0, 3)) :])


@pytest.mark.parametrize("name", ROWS)
def test_what_is_around_a_line_says_nothing(name: str) -> None:
    for body in (*map(written, SAMPLES), *given_to(name)[::7]):
        bare = ROWS[name](body)
        for line in (body + b"\n", b"\t " + body + b" \r\n"):
            told = ROWS[name](line)
            assert (told.custom_id, told.result) == (bare.custom_id, bare.result), line


@pytest.mark.parametrize("vendor", LIVE_LINES)
def test_live_replies_become_lines_that_can_be_read(vendor: str) -> None:
    for body in given_to(vendor)[::3]:
        for status in (200, 429):
            line = LIVE_LINES[vendor](LiveReply(sent=True, status=status, body=body))
            assert b"\n" not in line
            check(ROWS[vendor], line)


HEADERS = [
    *("x-ratelimit-limit-requests", "x-ratelimit-remaining-tokens", "x-ratelimit-reset-requests"),
    *("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-reset", "x-ratelimit-limit"),
    *("x-tokenlimit-limit", "retry-after", "retry-after-ms", "date"),
]
ODD_HEADERS = [
    *("9" * 5_000, "-1", "nan", "inf", "-inf", "1e999", "1e308", "٣", "²", "", " ", "0x10", "1_000", "9" * 400 + "s"),
    *(
        "0001-01-01T00:00:00",
        "9999-12-31T23:59:59-23:59",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "Mon, 99 Xyz 99999 99:99:99",
    ),
    *("Tue, 19 Jan 9999 03:14:07 +9999", "1h" * 400, "120ms", "6m0s"),
]


@example({"retry-after": "1e308", "retry-after-ms": "nan"})
@given(st.dictionaries(st.sampled_from(HEADERS), st.sampled_from(ODD_HEADERS) | st.text(max_size=30)))
def test_headers(headers: dict[str, str]) -> None:
    told = CIMultiDict({"x-ratelimit-limit-requests": "10", "anthropic-ratelimit-tokens-limit": "10", **headers})
    for read in RATES.values():
        rates = read(told)
        for field in rates.__struct_fields__:
            value = getattr(rates, field)
            most = LONGEST_WAIT if field.endswith("reset") else MOST
            assert value is None or 0 <= value <= most
    wait = retry_after_of(told)
    assert wait is None or 0 <= wait <= LONGEST_WAIT
    epoch_of(told.get("date"))


@pytest.mark.parametrize(
    ("vendor", "sample", "path", "field"),
    [
        ("openai", OWN["openai"][0], ("response", "body", "usage", "prompt_tokens"), "input"),
        ("anthropic", OWN["anthropic"][0], ("result", "message", "usage", "input_tokens"), "input"),
        ("google", OWN["google"][0], ("response", "usageMetadata", "candidatesTokenCount"), "output"),
        ("ollama", OWN["ollama"][0], ("body", "eval_count"), "output"),
        ("bedrock", OWN["bedrock"][0], ("modelOutput", "usage", "outputTokens"), "output"),
        ("fireworks", OWN["fireworks"][0], ("response", "usage", "prompt_tokens"), "input"),
    ],
)
@pytest.mark.parametrize("odd", [2**53 + 1, 2**62, 2**70, -1, 1.5, Raw("1" * 5_000), Raw("1e400")])
def test_a_count_beyond_belief_is_unknown_and_costs_no_answer(
    vendor: str, sample: Any, path: tuple[Any, ...], field: str, odd: Any
) -> None:
    found = ROWS[vendor](written(with_odd(sample, path, odd)))
    assert found.result is not None
    assert (found.result.outcome, found.result.answer) == ("answered", "A plum.")
    assert getattr(found.result.usage, field) is None
