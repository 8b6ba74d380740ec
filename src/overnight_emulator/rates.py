"""Limits on live calls: requests and tokens per minute, by model, each a bucket that fills evenly with virtual time."""

from __future__ import annotations

import msgspec

from overnight_emulator.clock import Clock
from overnight_emulator.patterns import value_for
from overnight_emulator.truth import PerMinute, Truth

_MINUTE = 60.0
# Where the truth sets no limit, replies tell of one that nobody meets.
FREE_REQUESTS = 10_000
FREE_TOKENS = 10_000_000


class Standing(msgspec.Struct, frozen=True):
    """What is left of one limit, and in how many virtual seconds all of it will be there again."""

    limit: int
    remaining: int
    reset: float


class Verdict(msgspec.Struct, frozen=True):
    """Whether a call may run now; `retry_after` says when it may, in virtual seconds."""

    requests: Standing
    tokens: Standing
    retry_after: float | None = None

    @property
    def over(self) -> str | None:
        """The limit that was met, in the words of most providers."""
        if self.retry_after is None:
            return None
        return "requests" if self.requests.remaining < 1 else "tokens"


class _Bucket:
    def __init__(self, limit: int, now: float) -> None:
        self.limit = limit
        self.level = float(limit)
        self._at = now

    def fill(self, now: float) -> None:
        self.level = min(self.limit, self.level + max(0.0, now - self._at) * self.limit / _MINUTE)
        self._at = now

    def wait(self, amount: float) -> float:
        """Virtual seconds until so much is there; more than the bucket holds is let through when it is full."""
        missing = min(amount, self.limit) - self.level
        return max(0.0, missing * _MINUTE / self.limit) if self.limit else _MINUTE

    def standing(self) -> Standing:
        reset = (self.limit - self.level) * _MINUTE / self.limit if self.limit else _MINUTE
        return Standing(self.limit, max(0, int(self.level)), reset)


class RateLimits:
    """All keys belong to one organisation: limits are by model alone."""

    def __init__(self, truth: Truth, clock: Clock) -> None:
        self._limits = truth.limits
        self._clock = clock
        self._buckets: dict[tuple[str, str], _Bucket] = {}

    def admit(self, model: str, tokens: int) -> Verdict:
        """Count a call in, unless a limit is met. Refused calls cost nothing."""
        requests = self._bucket("requests", model, self._limits.requests_per_minute, FREE_REQUESTS)
        allowance = self._bucket("tokens", model, self._limits.tokens_per_minute, FREE_TOKENS)
        wait = max(requests.wait(1), allowance.wait(tokens))
        if wait > 0:
            return Verdict(requests.standing(), allowance.standing(), wait)
        requests.level -= 1
        allowance.level -= tokens
        return Verdict(requests.standing(), allowance.standing())

    def correct(self, model: str, tokens: int) -> None:
        """A call took so many tokens more (or fewer) than it was let in with."""
        self._bucket("tokens", model, self._limits.tokens_per_minute, FREE_TOKENS).level -= tokens

    def _bucket(self, kind: str, model: str, limits: PerMinute, otherwise: int) -> _Bucket:
        now = self._clock.now()
        bucket = self._buckets.get((kind, model))
        if bucket is None:
            limit = limits if isinstance(limits, int) else value_for(model, limits, otherwise)
            bucket = self._buckets[kind, model] = _Bucket(limit, now)
        bucket.fill(now)
        return bucket
