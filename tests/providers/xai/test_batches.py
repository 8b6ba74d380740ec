"""xAI's batches have no word for their state, and their rows no code for their errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from overnight.core.ask import Model
from overnight.providers import batch_format, vendor
from overnight.providers.xai.batches import read_batch
from overnight.providers.xai.rows import decode
from providers.asking import ask

NOW = 1_800_000_000.0
PURE = batch_format(vendor("xai"))
MODEL = Model(provider="xai", name="grok-4.3")


def batch(total: int, pending: int = 0, cancelled: int = 0, **fields: Any) -> Any:
    state = {"num_requests": total, "num_pending": pending, "num_success": total - pending - cancelled}
    found = {"batch_id": "b", "name": "tok", "state": {**state, "num_cancelled": cancelled}, **fields}
    return read_batch(json.dumps(found).encode(), NOW)


@pytest.mark.parametrize(
    ("seen", "phase"),
    [
        (batch(0), "running"),
        (batch(3, pending=1), "running"),
        (batch(3), "completed"),
        (batch(3, cancelled=2, cancel_time="2026-11-18T00:00:00Z"), "cancelled"),
        (batch(3, pending=2, cancel_time="2026-11-18T00:00:00Z"), "running"),
        # Within the first minutes rows that count as cancelled may turn out to be answered.
        (batch(3, cancelled=3, cancel_time="2027-01-15T07:58:30Z"), "running"),
        (batch(3, cancelled=3, cancel_time="2027-01-15T07:57:30Z"), "cancelled"),
        (batch(0, cancel_time="2026-11-18T00:00:00Z"), "cancelled"),
        (batch(3, pending=1, cancel_by_xai_message="Bad line."), "failed"),
        (batch(3, pending=1, expire_time="2027-01-14"), "expired"),
        (batch(3, pending=1, expire_time="2027-01-15"), "running"),
    ],
)
def test_the_state_is_in_the_counts(seen: Any, phase: str) -> None:
    assert seen.phase == phase


def test_what_was_answered_before_xai_gave_the_batch_up_is_fetched() -> None:
    assert batch(3, pending=1, cancel_by_xai_message="Stopped.").parts == (("output", "b"),)
    assert batch(3, pending=3, cancel_by_xai_message="Bad line.").parts == ()


def test_an_empty_batch_is_nobodys() -> None:
    """A crash between the making and the filling leaves one that bears our name."""
    assert batch(0).tag is None
    assert batch(2).tag == "tok"


def test_thoughts_are_added_and_errors_are_texts() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "completion_tokens_details": {"reasoning_tokens": 20}}
    completion = {"choices": [{"message": {"content": "A plum."}, "finish_reason": "stop"}], "usage": usage}
    row = {"batch_request_id": "x", "batch_result": {"response": {"chat_get_completion": completion}}}
    result = decode(json.dumps(row).encode()).result
    assert result is not None
    assert (result.answer, result.usage.output, result.usage.reasoning) == ("A plum.", 27, 20)
    failed = decode(json.dumps({"batch_request_id": "x", "batch_result": {"error": "No."}}).encode())
    assert failed.custom_id == "x"
    assert failed.result is not None
    assert (failed.result.cause, failed.result.detail) == ("server_error", "No.")


def test_lines_are_written_and_read_back() -> None:
    body = PURE.encode(ask(MODEL, "Hello."))
    line = PURE.line(MODEL, "o1-0", body)
    assert json.loads(line)["batch_request"]["chat_get_completion"] == json.loads(body)
    for one in (line, b'{"custom_id":"o1-0","body":%b}' % body):
        ready = PURE.read_line(one)
        assert (ready.custom_id, ready.model.name, ready.body) == ("o1-0", "grok-4.3", body)
