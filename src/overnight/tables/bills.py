"""A run's bill in lines: by arm, processing and day, in nano-dollars, and what it would be live or at other prices."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from overnight.ledger.bills import Billed, Place, RowPrice, SetAside, StepPrice
from overnight.ledger.transaction import View
from overnight.prices import Price, Processing
from overnight.prices.rates import Rate, Tier

_NOTHING = Billed(0, 0, 0, 0, 0, 0, 0, 0, 0)


class BillLine(NamedTuple):
    """Nano-dollars are None where no price is known.

    `live_cost` is what rows of batches would have cost live, and is `settled` for those that were asked live.
    """

    stage: str
    arm: str
    provider: str
    model: str
    processing: Processing
    day: str
    rows: int
    answers: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    estimated: int | None
    reserved: int | None
    settled: int | None
    presumed: int | None
    live_cost: int | None
    repriced: int | None = None


def kept_prices(view: View) -> dict[tuple[int, str], Price]:
    """By arm and processing, as the run has them."""
    return {place: msgspec.json.decode(text, type=Price) for place, text in view.spending.prices().items()}


def bill_lines(view: View, today: Mapping[tuple[int, str], Price] | None = None) -> Iterator[BillLine]:
    """`today`: other prices, which the rows are priced with beside what they were settled with."""
    arms, kept = view.stages.arms(), kept_prices(view)
    billed, aside = dict(view.bills.billed()), dict(view.bills.set_aside())
    presumed = dict(view.bills.presumed())
    places = sorted({*billed, *aside, *presumed})
    live_cost_of = _at(view, {(place.arm, False): kept.get((place.arm, "live")) for place in places if not place.live})
    asked = {(place.arm, place.live) for place in places} if today is not None else set()
    repriced_of = _at(view, {(arm, live): (today or {}).get((arm, "live" if live else "batch")) for arm, live in asked})
    for place in places:
        arm, told = arms[place.arm], billed.get(place, _NOTHING)
        processing: Processing = "live" if place.live else "batch"
        price = kept.get((place.arm, processing))
        set_aside = aside.get(place, SetAside(0, 0))
        known = price is not None
        live_cost = told.cost if place.live else live_cost_of(place)
        yield BillLine(
            arm.stage, arm.name, arm.model.provider, arm.model.name, processing, _date(place.day),
            told.tries, told.answers, told.input, told.cached, told.output, told.reasoning,
            set_aside.most if known else None,
            set_aside.held if known else None,
            told.cost if known else None,
            presumed.get(place, 0) if known else None,
            live_cost if known else None,
            repriced_of(place),
        )  # fmt: skip


def _at(view: View, prices: Mapping[tuple[int, bool], Price | None]) -> Callable[[Place], int | None]:
    """What the rows of a place would cost at these prices, by arm and whether they are asked live."""
    known: dict[tuple[int, bool], RowPrice] = {}
    for asked, price in prices.items():
        steps = None if price is None else price_steps(price.rate)
        if price is not None and steps is not None:
            known[asked] = RowPrice(steps, price.rate.request or 0)
    costs = view.bills.at_prices(known)
    return lambda place: costs.get(place, 0) if (place.arm, place.live) in known else None


def price_steps(rate: Rate) -> tuple[StepPrice, ...] | None:
    """None where a price is missing."""
    steps = [_step(0, rate), *(_step(tier.above_input_tokens, tier) for tier in rate.tiers)]
    known = [step for step in steps if step is not None]
    return tuple(known) if len(known) == len(steps) else None


def _step(above: int, step: Rate | Tier) -> StepPrice | None:
    if step.input is None or step.output is None:
        return None
    cached, written = (step.input if price is None else price for price in (step.cached, step.cache_write))
    return StepPrice(above, step.input, cached, written, step.output)


def _date(day: int) -> str:
    return datetime.fromtimestamp(day * 86_400, UTC).date().isoformat()
