"""Sums of money that no bill comes to: held at what a database can hold, never an error and never a wrong sign."""

from __future__ import annotations

from ledger.stores import Run
from overnight.ledger.spending import Charge


def shards(run: Run, count: int) -> list[tuple[int, int]]:
    """(shard, attempt) of one row each."""
    found = []
    for name in map(str, range(count)):
        run.ask(name)
        attempt = run.send()
        assert attempt is not None
        found.append((attempt.shard, attempt.id))
    return found


def test_sums_do_not_overflow(run: Run) -> None:
    for shard, attempt in shards(run, 3):
        run.verbs.spending.reserve(shard, 2**70, 0.25)
        charge = Charge(settled=2**62, released=2**80, presumed=[(0, 2**63)])
        run.verbs.spending.book(shard, 1, attempt, charge)
        run.verbs.spending.settle(1, 2**62, 2**62)
    balance = run.verbs.spending.by_arm()[1]
    assert balance.settled == balance.presumed == 2**62
    assert balance.reserved == 0


def test_ordinary_sums_are_exact_to_the_nano_dollar(run: Run) -> None:
    ((shard, attempt),) = shards(run, 1)
    run.verbs.spending.reserve(shard, 1_000_000_000_001, 0.25)
    run.verbs.spending.book(shard, 1, attempt, Charge(settled=123_456_789, released=1, presumed=[(0, 3), (1, 4)]))
    balance = run.verbs.spending.by_arm()[1]
    assert (balance.settled, balance.presumed, balance.reserved) == (123_456_789, 7, 1_000_000_000_000)
