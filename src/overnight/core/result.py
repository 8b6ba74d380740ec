"""The outcome of one question: data, whatever happened."""

from typing import Literal

import msgspec

Outcome = Literal["answered", "refused", "truncated", "failed"]

# Why a row is not answered. Each cause says, in docs/results.md, whether asking again can help.
Cause = Literal[
    "rate_limited",  # the provider was too busy for this row
    "server_error",  # the provider's own fault
    "timeout",  # the provider gave up on the row
    "expired",  # the batch's window closed first
    "cancelled",  # the batch was cancelled first
    "missing",  # two whole downloads agree that there is no answer
    "unreadable",  # an answer came that is not in the provider's format
    "no_credit",  # the account could not pay
    "unauthorized",  # the key may not ask this
    "invalid_request",  # the provider refuses the question itself
    "unknown_model",  # there is no such model
    "too_large",  # the question does not fit
    "content_filter",  # withheld by the provider's filter
    "max_tokens",  # cut at the limit
    "gone",  # past the provider's retention
    "lost",  # a live call was sent, and its answer did not come whole
]

# Causes that may pass: the row is asked again, up to a limit.
PASSING: frozenset[str] = frozenset(
    {"rate_limited", "server_error", "timeout", "expired", "missing", "unreadable", "lost"}
)
# The question was run and billed, as far as anybody can tell, though no bill came: its ceiling is presumed spent.
UNBILLED: frozenset[str] = frozenset({"gone", "lost", "unreadable"})
# The question was never put: asked again when the user goes on, at no cost in tries.
UNASKED: frozenset[str] = frozenset({"cancelled", "no_credit", "unauthorized"})


class Usage(msgspec.Struct, frozen=True, gc=False):
    """Tokens as the provider counted them; None where it did not say."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    reasoning: int | None = None


# More tokens than any call can take: whoever says so is not believed, and nothing is learned from it.
MOST_TOKENS = 50_000_000


class Result(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    outcome: Outcome
    cause: Cause | None = None
    answer: str | None = None
    thoughts: str | None = None
    detail: str | None = None
    usage: Usage = Usage()


class Line(msgspec.Struct, frozen=True, gc=False):
    """One decoded line of a provider's file. No custom id: the line cannot be joined to anything."""

    custom_id: str | None
    result: Result | None
    problem: str | None = None


def was_run_unpriced(outcome: Outcome, cause: Cause | None) -> bool:
    """Whether a question was run, for all we know, so that it has cost something even where no count says what."""
    return outcome != "failed" or cause in UNBILLED


def failed(cause: Cause, detail: str | None = None, usage: Usage = Usage()) -> Result:  # noqa: B008 - frozen
    return Result(outcome="failed", cause=cause, detail=detail, usage=usage)
