"""What rows would cost live or at other prices is counted by the database: to the nano-dollar as a row's own bill is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.stores import STORES, Run, open_new, places
from overnight.core.result import MOST_TOKENS, Result, Usage
from overnight.ledger.bills import Place, RowPrice
from overnight.ledger.landed import Landed
from overnight.prices import Price
from overnight.prices.charges import cost
from overnight.prices.rates import Rate, Tier
from overnight.tables.bills import price_steps

_TOKENS = st.one_of(st.integers(0, 20), st.integers(0, MOST_TOKENS), st.sampled_from((199_999, 200_000, 200_001)))
_RATES = st.one_of(st.just(0), st.integers(1, 10_000_000_000_000))
_MAYBE = st.one_of(st.none(), _RATES)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    """Counts as providers tell them: some are missing, some contradict each other."""
    total = draw(st.one_of(st.none(), _TOKENS))
    part = st.one_of(st.none(), st.integers(0, 30), st.integers(0, total or 0))
    return Usage(input=total, cached=draw(part), cache_write=draw(part), output=draw(st.one_of(st.none(), _TOKENS)))


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    def prices() -> dict[str, int | None]:
        return {"input": draw(_RATES), "output": draw(_RATES), "cached": draw(_MAYBE), "cache_write": draw(_MAYBE)}

    starts = draw(st.lists(st.sampled_from((1, 10, 200_000, 272_000)), unique=True, max_size=2))
    tiers = tuple(Tier(above_input_tokens=start, **prices()) for start in sorted(starts))
    return Rate(**prices(), tiers=tiers, request=draw(st.one_of(st.none(), st.integers(0, 50_000_000))))


@pytest.mark.parametrize("store", sorted(STORES))
@settings(max_examples=15)
@given(told=st.lists(usages(), min_size=1, max_size=12), rate=rates())
def test_the_database_counts_as_a_row_is_billed(
    store: str, tmp_path_factory: pytest.TempPathFactory, told: list[Usage], rate: Rate
) -> None:
    with open_new(store, tmp_path_factory.mktemp("bills") / "run") as (ledger, folder):
        run = Run(ledger, folder)
        _take_in(run, told)
        steps = price_steps(rate)
        assert steps is not None
        counted = run.verbs.bills.at_prices({(1, False): RowPrice(steps, rate.request or 0)})
    price = Price(provider="openai", model="gpt-4.1-mini", processing="batch", rate=rate)
    assert counted.get(Place(1, False, 0), 0) == sum(cost(price, usage) or 0 for usage in told)


def _take_in(run: Run, told: list[Usage]) -> None:
    run.ask(*(f"{number:03d}" for number in range(len(told))))
    attempt = run.send()
    assert attempt is not None
    results = [Result(outcome="answered", answer="yes", usage=usage) for usage in told]
    landed = Landed.of(range(len(told)), results, places(range(len(told))))
    run.verbs.answers.take_in(attempt.id, run.verbs.shards.rows(attempt.shard), landed, 1.0)


@pytest.mark.parametrize("missing", ["input", "output"])
def test_a_price_that_is_not_known_is_no_price(missing: str) -> None:
    known = {"input": 1, "output": 2, missing: None}
    assert price_steps(Rate(**known)) is None
    assert price_steps(Rate(input=1, output=2, tiers=(Tier(above_input_tokens=5, **known),))) is None


def test_a_cache_without_a_price_of_its_own_costs_as_the_input_does() -> None:
    (step,) = price_steps(Rate(input=7, output=2)) or ()
    assert (step.cached, step.cache_write) == (7, 7)
