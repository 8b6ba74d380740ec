"""What a row costs, from its real usage; and what it can cost at most, before it is sent."""

from typing import NamedTuple

from overnight.core.result import Usage
from overnight.prices.rates import Price, Rate, Tier

_TOKENS = 1_000_000
# No row costs nine million dollars: counts that come to more are not believed, and the ledger could not add them up.
_MOST = 2**53


def cost(price: Price, usage: Usage) -> int | None:
    """Nano-dollars of one row, rounded once, a half up. None: the counts or a price that they need are missing.

    Cached and newly cached tokens are part of the input, reasoning is part of the output. Counts that contradict this
    have no cost: a guess would look like a bill.
    """
    told, answered, rate = usage.input, usage.output, price.rate
    if told is None or answered is None:
        return None
    cached, written = usage.cached or 0, usage.cache_write or 0
    plain = told - cached - written
    if plain < 0 or cached < 0 or written < 0 or answered < 0:
        return None
    step = rate.at(told) if rate.tiers else rate
    if (plain and step.input is None) or (answered and step.output is None):
        return None
    total = (rate.request or 0) * _TOKENS + plain * (step.input or 0) + answered * (step.output or 0)
    if cached or written:
        read = step.input if step.cached is None else step.cached
        kept = step.input if step.cache_write is None else step.cache_write
        if (cached and read is None) or (written and kept is None):
            return None
        total += cached * (read or 0) + written * (kept or 0)
    rounded = (total + _TOKENS // 2) // _TOKENS
    return rounded if rounded <= _MOST else None


class UnitCosts(NamedTuple):
    """Nano-dollars for one token of each kind, and for the request itself."""

    input: float
    cached: float
    output: float
    request: float


def unit_costs(price: Price, input_tokens: float) -> UnitCosts | None:
    """What tokens of a request of about this size cost, for sums that are no bill. None: a price is missing."""
    step = price.rate.at(int(input_tokens))
    if step.input is None or step.output is None:
        return None
    cached = step.input if step.cached is None else step.cached
    return UnitCosts(step.input / _TOKENS, cached / _TOKENS, step.output / _TOKENS, float(price.rate.request or 0))


def ceiling(price: Price, input_tokens: int, max_output_tokens: int | None) -> int | None:
    """The most that a row of this size can cost, rounded up. None: a price is missing, or the output has no end.

    Writing to a cache may cost more than reading without one, and some providers write unasked: every input token is
    taken at the dearest price an input token can have.
    """
    if max_output_tokens is None:
        return None
    most = 0
    for step in price.rate.up_to(input_tokens):
        total = _most(step, input_tokens, max_output_tokens)
        if total is None:
            return None
        most = max(most, total)
    return -(-most // _TOKENS) + (price.rate.request or 0)


def _most(step: Rate | Tier, input_tokens: int, output_tokens: int) -> int | None:
    if (input_tokens and step.input is None) or (output_tokens and step.output is None):
        return None
    dearest = max(step.input or 0, step.cached or 0, step.cache_write or 0)
    return input_tokens * dearest + output_tokens * (step.output or 0)


def price_note(price: Price, usage: Usage) -> str:
    """How far a cost can be trusted: the price's own note, and what this usage met that has no price of its own."""
    notes = [price.note] if price.note else []
    for name, tokens, rate, kind in (
        ("cached tokens", usage.cached, price.rate.cached, "cached"),
        ("cache writes", usage.cache_write, price.rate.cache_write, "cache_write"),
    ):
        if tokens and rate is None:
            notes.append(f"{name} at the input price: no price of their own is known")
        elif tokens and kind in price.at_standard:
            notes.append(f"{name} at the standard price: no batch price is known")
    return "; ".join(notes)
