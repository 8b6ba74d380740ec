"""Sums of money that no bill comes to: held at what a database can hold, never an error and never a wrong sign."""

from __future__ import annotations

import msgspec

from ledger.stores import ARM, Run
from overnight.core.result import Result, Usage
from overnight.ledger.bills import Place, RowPrice, StepPrice
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


def test_other_prices_are_each_arms_own(run: Run) -> None:
    """In one look at all rows: of two arms at a price, of one at another, and of one that has none."""
    arms = tuple(msgspec.structs.replace(ARM, name=name) for name in "abcd")
    for arm, tokens in zip(arms, ((1_000, 10), (1_000, 10), (5_000, 0), (7, 7)), strict=True):
        run.ask("x", text=arm.name, arms=(arm,))
        numbers = {one.name: number for number, one in run.ledger.view().stages.arms().items()}
        usage = Usage(input=tokens[0], cached=200, output=tokens[1])
        run.settle(Result(outcome="answered", answer="y", usage=usage), numbers[arm.name])
    plain = RowPrice((StepPrice(0, 3_000_000, 1_000_000, 3_000_000, 5_000_000),), 50)
    steep = RowPrice((StepPrice(0, 1, 1, 1, 1), StepPrice(4_000, 2_000_000, 0, 0, 0)), 0)
    prices = {(numbers["a"], False): plain, (numbers["b"], False): plain, (numbers["c"], False): steep}
    found = run.verbs.bills.at_prices(prices)
    assert found == {
        Place(numbers["a"], False, 0): 3 * 800 + 200 + 5 * 10 + 50,
        Place(numbers["b"], False, 0): 3 * 800 + 200 + 5 * 10 + 50,
        Place(numbers["c"], False, 0): 2 * 4_800,
    }
    # Fewer tokens than were cached: a contradiction, and no cost at any price.
    assert run.verbs.bills.at_prices({(numbers["d"], False): plain}) == {}
    assert run.verbs.bills.at_prices({}) == {}
