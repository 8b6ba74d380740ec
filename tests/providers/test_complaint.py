"""A provider's words, in any shape, without a key."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.providers._complaint import complaint_of, scrub


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
    ],
)
def test_keys_are_scrubbed(text: str, clean: str) -> None:
    assert scrub(text, "hunter22") == clean


@given(st.text(max_size=600), st.text("abcdef0123456789", min_size=20, max_size=40), st.text(max_size=600))
def test_no_key_survives_and_no_message_is_long(before: str, key: str, after: str) -> None:
    cleaned = scrub(f"{before} sk-{key} {after}", f"sk-{key}")
    assert f"sk-{key}" not in cleaned
    assert len(cleaned) <= 500
