"""What rows of each arm may cost and did cost: the kept prices, applied."""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import cast

import msgspec

from overnight.core.ask import Arm
from overnight.core.result import Usage
from overnight.ledger.transaction import View
from overnight.prices import Price, Processing
from overnight.prices.charges import ceiling, cost

# Input is measured in bytes and turned into tokens by what the provider counted before; single rows vary.
INPUT_MARGIN = 1.25
INPUT_FLOOR = 16


def kept_prices(view: View) -> dict[tuple[int, Processing], Price]:
    """By arm and processing, as the run has them."""
    return {
        (number, cast("Processing", processing)): msgspec.json.decode(text, type=Price)
        for (number, processing), text in view.spending.prices().items()
    }


def most_input(size: int, density: float) -> int:
    """The most tokens that a request of so many bytes can be."""
    return math.ceil(size * density * INPUT_MARGIN) + INPUT_FLOOR


class Pricing:
    """Prices by arm and processing; an arm without one has unknown costs, never zero ones."""

    def __init__(
        self,
        arms: Mapping[int, Arm],
        prices: Mapping[tuple[int, Processing], Price],
        output_tokens: int | None = None,
    ) -> None:
        self._arms = arms
        self._prices = prices
        self._output_tokens = output_tokens

    def ceilings(self, arm: int, processing: Processing, density: float) -> Callable[[int], int | None]:
        """The most that a request of so many bytes can cost; None when nobody can say."""
        price = self._prices.get((arm, processing))
        longest = self._arms[arm].model.options.max_tokens or self._output_tokens
        if price is None or longest is None:
            return lambda _: None

        # Asked twice of every row, and many rows are of one size.
        @lru_cache(maxsize=4_096)
        def most(size: int) -> int | None:
            return ceiling(price, most_input(size, density), longest)

        return most

    def costs(self, arm: int, processing: Processing) -> Callable[[Usage], int | None]:
        """What a row cost by its usage; None when nobody can say."""
        price = self._prices.get((arm, processing))
        return (lambda _: None) if price is None else partial(cost, price)
