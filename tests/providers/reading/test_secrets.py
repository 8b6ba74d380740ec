"""Secrets that come back are made unreadable, in every spelling and over every border of pieces."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.providers.reading.complaints import scrub
from overnight.providers.reading.secrets import Secrets, taken_echoes, without_secrets

KEY = "sk-lab/0123+456789=abcdef"
SHORT = "another-key1"
PROXY = "http://user:s3cret-pass%2Fword@proxy.example:8080"


def known(**headers: str) -> Secrets:
    secrets = Secrets("host.example")
    secrets.know(headers or {"Authorization": f"Bearer {KEY}"})
    return secrets


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        f"Bearer {KEY}!",
        quote(KEY, safe=""),
        json.dumps({"a": KEY}),
        json.dumps({"a": KEY}).replace("/", "\\/"),
        *(base64.b64encode(f"{before}{KEY}{after}".encode()).decode() for before in ("", "u:", "user:") for after in ("", "x", "xyz")),
    ],
)  # fmt: skip
def test_every_spelling_is_found(text: str) -> None:
    taken_echoes()
    hidden = known().hidden(f'{{"said":"{text}"}}'.encode())
    assert len(hidden) == len(f'{{"said":"{text}"}}'.encode())
    assert hidden != f'{{"said":"{text}"}}'.encode()
    assert KEY[3:].encode() not in hidden
    assert b"*" * 12 in hidden
    assert taken_echoes() == {"host.example": 1}
    assert taken_echoes() == {}


def test_a_token_that_was_made_anew_hides_the_one_before_too() -> None:
    """Its replies may still be under way."""
    secrets = known()
    secrets.know({"Authorization": "Bearer ya29.the-next-token-of-all"})
    assert secrets.hidden(f"{KEY} ya29.the-next-token-of-all".encode()).strip(b"* ") == b""


def test_whoever_signs_each_request_anew_is_hidden_in_replies_to_any_of_them() -> None:
    signed = [
        f"AWS4-HMAC-SHA256 Credential=AKIA0123456789AB/20261118/us-east-1/s3/aws4_request, Signature={n:064x}"
        for n in range(9)
    ]
    secrets = Secrets("host.example")
    for one in signed:
        secrets.know({"Authorization": one})
    for one in signed:
        assert b"AKIA0123456789AB" not in secrets.hidden(f"you sent {one}".encode())


@given(st.integers(0, 150), st.lists(st.integers(0, 40) | st.integers(40, 120), max_size=40))
def test_pieces_make_no_difference(before: int, cuts: list[int]) -> None:
    """Whether they are shorter than a secret, longer, or nothing at all; and however long other secrets are."""
    prose = b"before it " * before
    whole = prose + KEY.encode() + b" between " + KEY.encode() * 2 + SHORT.encode() + b" after"
    got: list[bytes] = []
    hiding = known(Authorization=f"Bearer {KEY}", **{"x-api-key": SHORT}).hiding(got.append)
    place = 0
    for cut in cuts:
        hiding(whole[place : place + cut])
        place += cut
    hiding(whole[place:])
    hiding.end()
    stars = b"*" * len(KEY)
    assert b"".join(got) == prose + stars + b" between " + stars * 2 + b"*" * len(SHORT) + b" after"


def test_short_words_and_other_headers_are_left_alone() -> None:
    secrets = known(Authorization="Bearer EMPTY", **{"OpenAI-Organization": "org-0123456789abcdef"})
    assert secrets.hidden(b"EMPTY org-0123456789abcdef") == b"EMPTY org-0123456789abcdef"


@pytest.mark.parametrize("header", ["x-api-key", "x-goog-api-key"])
def test_every_vendors_header_counts(header: str) -> None:
    assert KEY.encode() not in known(**{header: KEY}).hidden(KEY.encode())


def test_proxies_passwords_are_secrets_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    said = f"407, message='s3cret-pass/word', url='{PROXY}'"
    assert scrub(said) == "407, message='[key]', url='http://proxy.example:8080'"
    basic = base64.b64encode(b"user:s3cret-pass/word").decode()
    assert "s3cret" not in without_secrets(basic)
    assert basic not in without_secrets(basic)


def test_a_reply_that_repeats_the_proxys_password_is_kept_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    basic = base64.b64encode(b"user:s3cret-pass/word")
    for secrets in (known(), known(Authorization=f"Bearer {KEY}")):
        hidden = secrets.hidden(b"s3cret-pass/word " + basic)
        assert b"s3cret" not in hidden
        assert basic not in hidden
        assert len(hidden) == len(basic) + 17
