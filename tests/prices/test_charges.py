from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.result import Usage
from overnight.prices import Price, Rate, Tier, ceiling, cost, price_note
from prices.asking import MILLION, priced

FLAT = priced(Rate(input=2_000_000_000, cached=500_000_000, output=8_000_000_000))
TIERED = priced(
    Rate(
        input=1_250_000_000,
        cached=125_000_000,
        cache_write=1_500_000_000,
        output=10_000_000_000,
        tiers=(
            Tier(above_input_tokens=200_000, input=2_500_000_000, cached=250_000_000, output=15_000_000_000),
            Tier(above_input_tokens=500_000, input=5_000_000_000, output=30_000_000_000),
        ),
    )
)


def test_a_row_by_hand() -> None:
    # 1000 x $2 + 200 x $8, for a million each: 0.002 + 0.0016 dollars
    assert cost(FLAT, Usage(input=1000, output=200)) == 3_600_000


def test_cached_tokens_are_part_of_the_input() -> None:
    # 400 x $2 + 600 x $0.50 + 200 x $8
    assert cost(FLAT, Usage(input=1000, cached=600, output=200)) == 800_000 + 300_000 + 1_600_000


def test_cache_writes_are_part_of_the_input() -> None:
    # 100 x $1.25 + 600 x $0.125 + 300 x $1.50 + 50 x $10
    usage = Usage(input=1000, cached=600, cache_write=300, output=50)
    assert cost(TIERED, usage) == 125_000 + 75_000 + 450_000 + 500_000


def test_reasoning_is_part_of_the_output() -> None:
    assert cost(FLAT, Usage(input=10, output=500, reasoning=480)) == cost(FLAT, Usage(input=10, output=500))


@pytest.mark.parametrize(
    ("tokens", "nano"),
    [
        (200_000, 250_000_000),
        (200_001, 500_002_500),
        (500_000, 1_250_000_000),
        (500_001, 2_500_005_000),
    ],
)
def test_above_a_size_the_whole_request_is_dearer(tokens: int, nano: int) -> None:
    assert cost(TIERED, Usage(input=tokens, output=0)) == nano


def test_the_output_of_a_long_prompt_is_dearer_too() -> None:
    # 300,000 x $2.50 + 1000 x $15
    assert cost(TIERED, Usage(input=300_000, output=1000)) == 750_000_000 + 15_000_000


def test_a_price_for_each_request_is_added_once() -> None:
    price = priced(Rate(input=1_000_000_000, output=1_000_000_000, request=12_000_000))
    assert cost(price, Usage(input=500, output=500)) == 12_000_000 + 1_000_000
    assert ceiling(price, 500, 500) == 13_000_000


@pytest.mark.parametrize(("tokens", "nano"), [(499_999, 0), (500_000, 1), (1_499_999, 1), (1_500_000, 2)])
def test_rows_are_rounded_once_a_half_up(tokens: int, nano: int) -> None:
    assert cost(priced(Rate(input=1, output=1)), Usage(input=tokens, output=0)) == nano
    assert cost(priced(Rate(input=1, output=1)), Usage(input=tokens - 1000, output=1000)) == nano


def test_a_ceiling_is_rounded_up() -> None:
    assert ceiling(priced(Rate(input=1, output=1)), 1, 0) == 1
    assert ceiling(priced(Rate(input=1, output=1)), MILLION, MILLION) == 2
    assert ceiling(priced(Rate(input=1, output=1)), 0, 0) == 0


@pytest.mark.parametrize(
    "usage",
    [
        Usage(),
        Usage(input=5),
        Usage(output=5),
        Usage(input=5, cached=6, output=1),
        Usage(input=5, cached=3, cache_write=3, output=1),
        Usage(input=5, cached=-1, output=1),
        Usage(input=5, cache_write=-1, output=1),
        Usage(input=-1, output=1),
        Usage(input=5, output=-1),
    ],
)
def test_counts_that_are_missing_or_contradict_each_other_have_no_cost(usage: Usage) -> None:
    assert cost(TIERED, usage) is None


def test_a_price_that_is_needed_and_unknown_is_not_zero() -> None:
    no_output = priced(Rate(input=5))
    assert cost(no_output, Usage(input=MILLION, output=1)) is None
    assert cost(no_output, Usage(input=MILLION, output=0)) == 5
    assert ceiling(no_output, MILLION, 1) is None
    assert ceiling(no_output, MILLION, 0) == 5
    no_input = priced(Rate(cached=5, output=5))
    assert cost(no_input, Usage(input=1, output=0)) is None
    assert cost(no_input, Usage(input=MILLION, cached=MILLION, output=0)) == 5
    assert ceiling(no_input, MILLION, 0) is None
    beyond = priced(Rate(input=5, output=5, tiers=(Tier(above_input_tokens=10, output=5),)))
    assert cost(beyond, Usage(input=11, output=0)) is None
    assert ceiling(beyond, 10, 0) == 1
    assert ceiling(beyond, 11, 0) is None


def test_an_output_without_end_has_no_ceiling() -> None:
    assert ceiling(FLAT, 1000, None) is None


def test_a_ceiling_by_hand() -> None:
    # 1000 x $2 + 4096 x $8
    assert ceiling(FLAT, 1000, 4096) == 2_000_000 + 32_768_000
    # 1000 x $1.50 (every token written to the cache) + 100 x $10
    assert ceiling(TIERED, 1000, 100) == 1_500_000 + 1_000_000
    # 300,000 x $2.50 + 100 x $15
    assert ceiling(TIERED, 300_000, 100) == 750_000_000 + 1_500_000


def test_a_falling_tier_does_not_lower_the_ceiling() -> None:
    price = priced(Rate(input=10 * MILLION, output=0, tiers=(Tier(above_input_tokens=100, input=1, output=0),)))
    assert ceiling(price, 101, 0) == 1010


def test_tiers_must_rise() -> None:
    tiers = (Tier(above_input_tokens=5, input=1), Tier(above_input_tokens=5, input=2))
    with pytest.raises(ValueError, match="rise"):
        Rate(input=1, tiers=tiers)


def test_a_note_says_what_has_no_price_of_its_own() -> None:
    plain, cached, written = Usage(input=9, cached=0), Usage(input=9, cached=4), Usage(input=9, cache_write=4)
    bare = priced(Rate(input=1, output=1), note="yours")
    assert price_note(bare, plain) == "yours"
    assert price_note(bare, cached) == "yours; cached tokens at the input price: no price of their own is known"
    assert price_note(bare, written) == "yours; cache writes at the input price: no price of their own is known"
    known = priced(Rate(input=1, cached=1, output=1))
    assert price_note(known, cached) == ""
    carried = priced(known.rate, at_standard=("cached",))
    assert price_note(carried, plain) == ""
    assert price_note(carried, cached) == "cached tokens at the standard price: no batch price is known"


# ---- properties

amounts = st.integers(0, 10**12)
tokens = st.integers(0, 2_000_000)


@st.composite
def steps(draw: st.DrawFn, least: dict[str, int] | None = None) -> dict[str, int]:
    kinds = ("input", "cached", "cache_write", "output")
    return {kind: draw(amounts) + (least or {}).get(kind, 0) for kind in kinds}


@st.composite
def prices(draw: st.DrawFn, *, rising: bool = False) -> Price:
    """Any price; a rising one never gets cheaper with length."""
    first = last = draw(steps())
    tiers = []
    for start in sorted(draw(st.sets(st.integers(0, 1_000_000), max_size=3))):
        last = draw(steps(last if rising else None))
        tiers.append(Tier(above_input_tokens=start, **last))
    return priced(Rate(**first, tiers=tuple(tiers), request=draw(st.none() | amounts)))


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    cached, written = draw(tokens), draw(tokens)
    return Usage(
        input=cached + written + draw(tokens),
        cached=cached or None,
        cache_write=written,
        output=draw(tokens),
    )


def known(amount: int | None) -> int:
    assert amount is not None
    return amount


@given(prices(), usages(), tokens)
def test_more_output_never_costs_less(price: Price, usage: Usage, more: int) -> None:
    longer = msgspec.structs.replace(usage, output=known(usage.output) + more)
    assert known(cost(price, longer)) >= known(cost(price, usage))


@given(prices(rising=True), usages(), tokens, st.sampled_from(["cached", "cache_write", None]))
def test_more_input_of_any_kind_never_costs_less(price: Price, usage: Usage, more: int, kind: str | None) -> None:
    counts = {"input": known(usage.input) + more}
    if kind is not None:
        counts[kind] = (getattr(usage, kind) or 0) + more
    assert known(cost(price, msgspec.structs.replace(usage, **counts))) >= known(cost(price, usage))


@given(steps(), usages())
def test_a_cache_that_is_cheaper_never_costs_more(step: dict[str, int], usage: Usage) -> None:
    price = priced(Rate(input=step["input"] + step["cached"], cached=step["cached"], output=step["output"]))
    uncached = Usage(input=usage.input, output=usage.output)
    assert known(cost(price, msgspec.structs.replace(usage, cache_write=0))) <= known(cost(price, uncached))


@given(prices(), usages(), tokens, tokens)
def test_no_row_costs_more_than_its_ceiling(price: Price, usage: Usage, shorter: int, less: int) -> None:
    most = ceiling(price, known(usage.input) + shorter, known(usage.output) + less)
    assert known(cost(price, usage)) <= known(most)


@given(steps(), tokens, tokens)
def test_a_ceiling_is_reached(step: dict[str, int], input_tokens: int, output_tokens: int) -> None:
    price = priced(Rate(input=step["input"], output=step["output"]))
    reached = known(cost(price, Usage(input=input_tokens, output=output_tokens)))
    assert 0 <= known(ceiling(price, input_tokens, output_tokens)) - reached <= 1


@given(steps(), st.lists(usages(), min_size=1, max_size=20))
def test_rows_add_up(step: dict[str, int], rows: list[Usage]) -> None:
    """Each row is off by half a nano-dollar at most, and so is their sum."""
    price = priced(Rate(**step))
    together = Usage(
        input=sum(known(row.input) for row in rows),
        cached=sum(row.cached or 0 for row in rows),
        cache_write=sum(row.cache_write or 0 for row in rows),
        output=sum(known(row.output) for row in rows),
    )
    apart = sum(known(cost(price, row)) for row in rows)
    assert abs(apart - known(cost(price, together))) <= Fraction(len(rows) + 1, 2)


@given(steps(), usages())
def test_the_arithmetic_is_exact(step: dict[str, int], usage: Usage) -> None:
    counts = {kind: getattr(usage, kind) or 0 for kind in ("cached", "cache_write", "output")}
    counts["input"] = known(usage.input) - counts["cached"] - counts["cache_write"]
    exact = sum(Fraction(counts[kind] * step[kind], MILLION) for kind in counts)
    off = known(cost(priced(Rate(**step)), usage)) - exact
    assert -Fraction(1, 2) < off <= Fraction(1, 2)


texts = st.text(max_size=20)
kinds = st.lists(st.sampled_from(["cached", "cache_write"]), unique=True).map(tuple)


@given(prices(), texts, texts, texts, kinds, usages())
def test_a_kept_price_costs_the_same(
    price: Price, note: str, source: str, entry: str, at_standard: tuple[str, ...], usage: Usage
) -> None:
    price = msgspec.structs.replace(price, note=note, source=source, entry=entry, at_standard=at_standard)
    kept = msgspec.json.decode(msgspec.json.encode(price), type=Price)
    assert kept == price
    assert cost(kept, usage) == cost(price, usage)
    assert price_note(kept, usage) == price_note(price, usage)


@given(prices(), st.fractions(0, 1, max_denominator=1000))
def test_a_part_of_a_rate_is_a_part_of_each_of_its_prices(price: Price, factor: Fraction) -> None:
    rate = price.rate.times(factor)
    for whole, part in zip((price.rate, *price.rate.tiers), (rate, *rate.tiers), strict=True):
        for kind in ("input", "cached", "cache_write", "output"):
            assert abs(getattr(part, kind) - getattr(whole, kind) * factor) <= Fraction(1, 2)
    assert (rate.request is None) == (price.rate.request is None)


@given(st.integers(0, 2**53), st.integers(0, 2**53))
def test_a_cost_that_no_ledger_holds_is_none(tokens_in: int, tokens_out: int) -> None:
    dear = Price(
        provider="openai", model="m", processing="live", rate=Rate(input=10**15, output=10**15), note="", source="x"
    )
    found = cost(dear, Usage(input=tokens_in, output=tokens_out))
    assert found is None or found <= 2**53
