"""What is read from headers and from the environment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict
from yarl import URL

from overnight.providers.reading.responses import epoch_of, retry_after_of
from overnight.providers.wire.http import proxy_for


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "0.25"}, 0.25),
        ({"Retry-After": "-4"}, 0.0),
        ({"retry-after-ms": "250", "Retry-After": "9"}, 0.25),
        ({"retry-after-ms": "soon", "Retry-After": "9"}, 9.0),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Sun, 15 Nov 2026 12:00:30 GMT", "Date": "Sun, 15 Nov 2026 12:00:00 GMT"}, 30.0),
        ({"Retry-After": "Sun, 15 Nov 2026 11:00:00 GMT", "Date": "Sun, 15 Nov 2026 12:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sun, 15 Nov 2020 11:00:00 GMT"}, 0.0),
    ],
)
def test_the_wait_a_provider_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(CIMultiDict(headers)) == seconds


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        (None, None),
        ("", None),
        ("yesterday", None),
        ("Thu, 99 Jan 1970", None),
    ],
)
def test_http_dates(text: str | None, at: float | None) -> None:
    assert epoch_of(text) == at


@given(st.text())
def test_no_date_raises(text: str) -> None:
    epoch_of(text)
    retry_after_of({"retry-after": text, "retry-after-ms": text})


def test_the_environment_names_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.lab:3128")
    monkeypatch.setenv("http_proxy", "http://proxy.lab:3128")
    monkeypatch.setenv("no_proxy", "inside.lab")
    assert proxy_for(URL("https://api.openai.com/v1")) == "http://proxy.lab:3128"
    for near in ("https://inside.lab/v1", "http://localhost:1/v1", "http://127.0.0.1:8765/v1", "http://[::1]/v1"):
        assert proxy_for(URL(near)) is None
