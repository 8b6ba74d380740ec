"""Whatever goes wrong, no key and no control character is shown."""

from __future__ import annotations

import pytest

from overnight.cli.ending import exit_code_of
from overnight.cli.flags import Voice

KEY = "sk-test-0123456789abcdefghijklmnop"


def test_a_fault_of_our_own_shows_no_key(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pass-word-0123@proxy.example:8080")

    def command() -> int:
        message = f"headers: Bearer {KEY} through pass-word-0123 \x1b[2J"
        raise ValueError(message)

    for voice in (Voice(), Voice(verbose=True)):
        assert exit_code_of(command, voice) == 1
        shown = capsys.readouterr().err
        assert KEY not in shown
        assert "pass-word-0123" not in shown
        assert "\x1b" not in shown
