"""Rows that were run and do not say what they cost: presumed at the most they can have cost, never free."""

from __future__ import annotations

import pytest

from overnight.core.result import MOST_TOKENS, Cause, Outcome, Result, Usage, was_run_unpriced
from overnight.engine.live.replies import used_tokens


@pytest.mark.parametrize(
    ("outcome", "cause", "run"),
    [
        ("answered", None, True),
        ("truncated", "max_tokens", True),
        ("refused", None, True),
        ("refused", "content_filter", True),
        ("failed", "unreadable", True),
        ("failed", "lost", True),
        ("failed", "server_error", False),
        ("failed", "expired", False),
    ],
)
def test_what_was_run(outcome: Outcome, cause: Cause | None, run: bool) -> None:
    assert was_run_unpriced(outcome, cause) is run


def test_nothing_is_learned_from_counts_beyond_belief() -> None:
    """One such row would hold back all calls for as long as its tokens took to come in again."""
    assert used_tokens(Result(outcome="answered", usage=Usage(input=2**53, output=1))) is None
    assert used_tokens(Result(outcome="answered", usage=Usage(input=1, output=MOST_TOKENS + 1))) is None
    assert used_tokens(Result(outcome="answered", usage=Usage(input=3, output=4))) == 7
