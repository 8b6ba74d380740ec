"""What a live reply comes down to."""

from __future__ import annotations

import pytest

from overnight.core.result import Result, Usage, failed
from overnight.engine.live.replies import fared, live_retry_delay, used_tokens
from overnight.providers import Reply

ANSWER = Result(outcome="answered", answer="yes")


@pytest.mark.parametrize(
    ("reply", "result", "expected"),
    [
        (Reply(sent=True, status=200), ANSWER, "landed"),
        (Reply(sent=True, status=400), failed("invalid_request"), "landed"),
        (Reply(sent=True, status=500), failed("server_error"), "landed"),
        (Reply(sent=True, status=429), failed("rate_limited"), "limited"),
        (Reply(sent=True, status=429), failed("no_credit"), "dead"),
        (Reply(sent=True, status=401), failed("unauthorized"), "dead"),
        (Reply(sent=True, status=503), failed("server_error"), "busy"),
        (Reply(sent=True, status=529), failed("server_error"), "busy"),
        (Reply(sent=False, problem="no route"), None, "unreachable"),
        (Reply(sent=True, problem="broke off"), None, "lost"),
        (Reply(sent=True, status=200, problem="broke off"), None, "lost"),
    ],
)
def test_how_a_call_fared(reply: Reply, result: Result | None, expected: str) -> None:
    assert fared(reply, result) == expected


def test_tokens_are_known_only_when_both_counts_are() -> None:
    assert used_tokens(Result(outcome="answered", usage=Usage(input=3, output=4))) == 7
    assert used_tokens(Result(outcome="answered", usage=Usage(input=3))) is None


def test_rows_asked_again_wait_a_little_longer_each_time() -> None:
    delays = [live_retry_delay(tries) for tries in range(12)]
    assert delays == sorted(delays)
    assert delays[0] == 0
    assert delays[-1] <= 60
