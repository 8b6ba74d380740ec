"""What all runs together have learned: queue limits of accounts, sizes of requests and answers, times of batches.

Advisory: losing it costs a refusal or two and a better estimate, never a row.
"""

import time
from pathlib import Path

from overnight.engine.decisions import Learned, Load
from overnight.ledger.account_book import AccountBook, Doubt, Lessons
from overnight.ledger.account_places import AccountPlace
from overnight.ledger.identity import fingerprint
from overnight.providers.provider import Provider

# Before anything was measured: a little over what English text makes, so that room is not overestimated.
DEFAULT_TOKENS_PER_BYTE = 0.28
# From here on a measure is better than the default.
_ENOUGH_BYTES = 1000


_NOTHING = Load()
_FRESH = 1.0
_HOUR = 3600.0
# What a run that died has told of is over by then: nearly all batches end within a day.
_OVER = 25 * _HOUR
# Nobody waits longer for a run that has a create in doubt and is not worked on: who does, says so every few minutes.
_UNHEARD = _HOUR


def _account(provider: Provider) -> str:
    """Limits are by key where keys are of several accounts: told apart by what says nothing about either."""
    return f"{place_of(provider)}|{fingerprint('shared accounts', provider.endpoint.key)}"


def place_of(provider: Provider) -> str:
    endpoint = provider.endpoint
    where = endpoint.identity or endpoint.base_url
    return "|".join((provider.name, where, endpoint.organization or "", endpoint.project or ""))


class AccountHistory:
    def __init__(self, place: Path | AccountPlace) -> None:
        self._book = AccountBook(place)
        # By account: when it was asked, creates of the last hour, and batches and tokens by model.
        self._others: dict[str, tuple[float, int, dict[str, list[int]]]] = {}

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

    # --- what runs of a database have at an account that they share

    def share(self, provider: Provider, run: str, model: str, holding: tuple[int, int], now: float) -> None:
        """So many batches, with so many tokens in all, are with this account for this run."""
        if self._book.shared:
            self._book.use(_account(provider), model, run, holding, now)

    def share_create(self, provider: Provider, run: str, now: float) -> None:
        if self._book.shared:
            self._book.add_create(_account(provider), run, now)

    def claim_doubt(self, provider: Provider, run: tuple[str, str], now: float, *, possible: bool) -> Doubt | None:
        """That a create of this run (its id and name) is in doubt, or may be: None, or the other run's that is."""
        if not self._book.shared:
            return None
        since, (number, name) = now - _UNHEARD, run
        return self._book.claim_doubt(_account(provider), number, name, possible=possible, at=now, since=since)

    def end_doubt(self, provider: Provider, run: str) -> None:
        if self._book.shared:
            self._book.end_doubt(_account(provider), run)

    def begin_sharing(self, run: str) -> None:
        if self._book.shared:
            self._book.forget_use(run)

    def load_of_others(self, provider: Provider, run: str, model: str, now: float) -> Load:
        """What other runs have there; asked at most once a second."""
        if not self._book.shared:
            return _NOTHING
        account = _account(provider)
        if account not in self._others or self._others[account][0] + _FRESH < time.monotonic():
            used = {name: rest for name, *rest in self._book.used_by_others(account, run, now - _OVER)}
            creates = self._book.creates_of_others(account, run, now - _HOUR)
            self._others[account] = (time.monotonic(), creates, used)
        _, creates, used = self._others[account]
        batches = sum(count for count, _ in used.values())
        return Load(batches=batches, creates_last_hour=creates, tokens=used.get(model, (0, 0))[1])

    def close(self) -> None:
        self._book.close()
