"""What all runs together have learned: queue limits of accounts, sizes of requests and answers, times of batches.

Advisory: losing it costs a refusal or two and a better estimate, never a row.
"""

from pathlib import Path

from overnight.engine.decisions import Learned
from overnight.ledger.account_book import AccountBook, Lessons
from overnight.ledger.account_places import AccountPlace
from overnight.providers.provider import Provider

# Before anything was measured: a little over what English text makes, so that room is not overestimated.
DEFAULT_TOKENS_PER_BYTE = 0.28
# From here on a measure is better than the default.
_ENOUGH_BYTES = 1000


def place_of(provider: Provider) -> str:
    endpoint = provider.endpoint
    where = endpoint.identity or endpoint.base_url
    return "|".join((provider.name, where, endpoint.organization or "", endpoint.project or ""))


class AccountHistory:
    def __init__(self, place: Path | AccountPlace) -> None:
        self._book = AccountBook(place)

    @property
    def trouble(self) -> str | None:
        """Why nothing is remembered, once that is so: no run depends on it."""
        return self._book.trouble

    def limits(self, provider: Provider) -> dict[str, Learned]:
        found = self._book.limits(place_of(provider))
        return {model: Learned(token_limit=tokens) for model, tokens in found.items()}

    def remember_limit(self, provider: Provider, model: str, tokens: int) -> None:
        self._book.keep_limit(place_of(provider), model, tokens)

    def tokens_per_byte(self, provider: Provider, model: str) -> float:
        sent, tokens = self._book.measured(place_of(provider), model)
        return tokens / sent if sent >= _ENOUGH_BYTES else DEFAULT_TOKENS_PER_BYTE

    def remember_density(self, provider: Provider, model: str, sent: int, tokens: int) -> None:
        """So many request bytes were counted as so many input tokens."""
        if sent and tokens:
            self._book.add_measure(place_of(provider), model, sent, tokens)

    def learn(self, lessons: Lessons) -> None:
        """What was seen of requests, answers and batches, for estimates to come."""
        if any(lessons):
            self._book.learn(lessons)

    def close(self) -> None:
        self._book.close()
