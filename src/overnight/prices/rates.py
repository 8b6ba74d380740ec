"""A rate: what a model's tokens cost. A price: a rate with where it comes from and how far it can be trusted."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Literal

import msgspec

from overnight.prices.money import half_up

Processing = Literal["batch", "live"]
Kind = Literal["input", "cached", "cache_write", "output"]
KINDS: tuple[Kind, ...] = ("input", "cached", "cache_write", "output")

UPPER_BOUND = "upper bound: no batch price is known, the standard price is used"
YOURS = "yours"


class Tier(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The prices of a whole request whose prompt is longer than this many tokens."""

    above_input_tokens: int
    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None


class Rate(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Nano-dollars per million tokens; None is unknown. `request` is nano-dollars for each request, if any."""

    input: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    output: int | None = None
    tiers: tuple[Tier, ...] = ()
    request: int | None = None

    def __post_init__(self) -> None:
        starts = [tier.above_input_tokens for tier in self.tiers]
        if starts != sorted(set(starts)):
            raise ValueError("the tiers of a rate must rise")

    def at(self, input_tokens: int) -> "Rate | Tier":
        """The prices in force for a prompt of this length."""
        found: Rate | Tier = self
        for tier in self.tiers:
            if input_tokens <= tier.above_input_tokens:
                break
            found = tier
        return found

    def up_to(self, input_tokens: int) -> "Iterator[Rate | Tier]":
        """All the prices that a prompt of at most this length can meet."""
        yield self
        yield from (tier for tier in self.tiers if input_tokens > tier.above_input_tokens)

    def times(self, factor: Fraction) -> "Rate":
        def scaled(amount: int | None) -> int | None:
            return None if amount is None else half_up(amount * factor)

        tiers = tuple(Tier(above_input_tokens=tier.above_input_tokens, **_by_kind(tier, scaled)) for tier in self.tiers)
        return Rate(**_by_kind(self, scaled), tiers=tiers, request=scaled(self.request))

    def is_free(self) -> bool:
        """Every price is known to be nothing."""
        steps: tuple[Rate | Tier, ...] = (self, *self.tiers)
        dear = any(getattr(step, kind) for step in steps for kind in KINDS) or self.request
        return not dear and all(step.input == step.output == 0 for step in steps)


def _by_kind(step: Rate | Tier, change: Callable[[int | None], int | None]) -> dict[Kind, int | None]:
    return {kind: change(getattr(step, kind)) for kind in KINDS}


class Price(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one model costs one way. Kept with a run: its costs are computed from it, today or in a year.

    `note` is empty when the price is the published one. `entry` is the line it was found by, in the catalogue or in
    the user's file. `at_standard` names the kinds of tokens for which the batch price says nothing, so that they are
    charged as live.
    """

    provider: str
    model: str
    processing: Processing
    rate: Rate
    note: str = ""
    source: str = ""
    entry: str = ""
    at_standard: tuple[Kind, ...] = ()
