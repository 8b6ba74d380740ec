"""A provider's words, in any shape, without a key."""

import json
import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.providers.reading.complaints import complaint_of, scrub


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":{"message":"Oh.","code":null}}', "Oh."),
        (b'{"error":"Oh."}', "Oh."),
        (b'{"message":"Oh."}', "Oh."),
        (b"upstream is down", "upstream is down"),
        (b"<html><body>504</body></html>", ""),
        (b'{"error":7}', ""),
        (b"[1]", ""),
        (b"[]", ""),
        (b'[{"error":{"code":503,"message":"Oh.","status":"UNAVAILABLE"}}]', "Oh."),
        (b"", ""),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_complaints_in_any_shape(body: bytes, message: str) -> None:
    assert complaint_of(body).message == message


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Incorrect API key provided: sk-proj-ab12****wxyz.", "Incorrect API key provided: [key]."),
        ("key=sk-svcacct-0123456789_ABC, sorry", "key=[key], sorry"),
        ("header Authorization: Bearer abcdefghijklmnop!", "header Authorization: Bearer [key]"),
        ("a task-oriented risk-averse desk-top model", "a task-oriented risk-averse desk-top model"),
        ("my secret is hunter22", "my secret is [key]"),
        ("key AIzaSyA0123456789abcdef is off", "key [key] is off"),
        ("token ya29.a0AfB_by-Cd1234 is old", "token [key] is old"),
    ],
)
def test_keys_are_scrubbed(text: str, clean: str) -> None:
    assert scrub(text, "hunter22") == clean


@given(st.text(max_size=600), st.text("abcdef0123456789", min_size=20, max_size=40), st.text(max_size=600))
def test_no_key_survives_and_no_message_is_long(before: str, key: str, after: str) -> None:
    cleaned = scrub(f"{before} sk-{key} {after}", f"sk-{key}")
    assert f"sk-{key}" not in cleaned
    assert len(cleaned) <= 500


def google(status: str, message: str, *details: dict[str, object]) -> bytes:
    return msgspec.json.encode({"error": {"code": 400, "message": message, "status": status, "details": details}})


def test_google_tells_the_reason_in_its_details() -> None:
    said = complaint_of(google("INVALID_ARGUMENT", "Bad key.", {"@type": "x/ErrorInfo", "reason": "API_KEY_INVALID"}))
    assert (said.code, said.type, said.dead_key, said.no_credit) == ("API_KEY_INVALID", "INVALID_ARGUMENT", True, False)
    busy = complaint_of(google("RESOURCE_EXHAUSTED", "Full.", {"violations": []}, {"retryDelay": "12.5s"}))
    assert (busy.code, busy.retry_after, busy.no_credit) == ("RESOURCE_EXHAUSTED", 12.5, False)
    assert complaint_of(google("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.")).no_credit
    assert complaint_of(google("PERMISSION_DENIED", "No.", {"reason": "BILLING_DISABLED"})).no_credit
    assert complaint_of(google("UNKNOWN", "", {"reason": 7}, {"retryDelay": "soon"})).retry_after is None


@pytest.mark.parametrize(
    "piece", ["sk-", "sk-.", "sess-aaaaa.", "AIza", "ya29.", "Bearer ", "Bearer", "://", "://a:b", "@://a", "billing account ", "a", "."]
)  # fmt: skip
def test_no_message_takes_long_to_scrub(piece: str) -> None:
    """A server may send megabytes of what nearly looks like a key."""
    began = time.process_time()
    scrub(piece * (1_000_000 // len(piece)))
    said = complaint_of(json.dumps({"error": {"message": piece * (1_000_000 // len(piece))}}).encode())
    assert not said.no_credit
    assert time.process_time() - began < 2
