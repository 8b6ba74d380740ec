"""What an arm is expected to cost, added up request by request, and how far off that may be."""

import math
from collections.abc import Iterable, Mapping, Sequence

from overnight.api.plans.experience import Answers, Requests
from overnight.api.plans.pricing import PricesByArm
from overnight.core.ask import Arm
from overnight.core.estimate import mean_of_so_many
from overnight.prices import Price, Processing
from overnight.prices.charges import UnitCosts, unit_costs

# A stage and the name of an arm.
Place = tuple[str, str]


class _Sum:
    """Of one arm, one way. `weights`: nano-dollars for each token that the answers of an arm are longer on the mean."""

    def __init__(self, price: Price | None) -> None:
        self.price = price
        # The same for all requests, where no length of theirs changes it.
        self._flat = None if price is None or price.rate.tiers else unit_costs(price, 0)
        self.expected: float | None = None if price is None else 0.0
        self.weights: dict[Place, float] = {}
        self.for_input = 0.0
        self.rates = 0.0
        self.rates_squared = 0.0

    def units(self, tokens: float) -> UnitCosts | None:
        """For a request of so many tokens; None where nobody can say, of this one or of one before."""
        if self.expected is None or self.price is None:
            return None
        return self._flat or unit_costs(self.price, tokens)


class ArmEstimate:
    """The cost of one arm is a sum over its requests, and goes with the lengths of answers: its own and others'."""

    def __init__(self, arm: Arm, requests: Requests, prices: PricesByArm, processing: Processing) -> None:
        self.requests = requests
        self.tokens = 0.0
        self.largest = 0.0
        self.answers = 0.0
        self.requests_counted = 0
        self._place = (arm.stage, arm.name)
        self._processing = processing
        ways: tuple[Processing, ...] = ("batch", "live")
        self._sums = {way: _Sum(prices.get((arm.stage, arm.name, way))) for way in ways}

    def add(
        self, size: float, length: float, inside: Sequence[tuple[Arm, Answers, int]], turn: int = 0, count: int = 1
    ) -> None:
        """`count` requests of so many bytes and answers of so many tokens; `inside` each are answers of arms."""
        line = self.requests.line_of(turn)
        tokens = line.tokens(size)
        self.tokens += count * tokens
        self.largest = max(self.largest, tokens)
        self.answers += count * length
        self.requests_counted += count
        for one in self._sums.values():
            units = one.units(tokens)
            if units is None or one.expected is None:
                one.expected = None
                continue
            rate = units.input + self.requests.cached * (units.cached - units.input)
            one.expected += count * (tokens * rate + length * units.output + units.request)
            one.weights[self._place] = one.weights.get(self._place, 0.0) + count * units.output
            for arm, answers, times in inside:
                place = (arm.stage, arm.name)
                weight = count * times * answers.bytes_per_token * line.slope * rate
                one.weights[place] = one.weights.get(place, 0.0) + weight
            one.for_input += count * tokens * rate
            one.rates += count * rate
            one.rates_squared += count * rate**2

    def expected(self, processing: Processing) -> float | None:
        return self._sums[processing].expected

    def rates(self) -> tuple[float, float]:
        """Nano-dollars for a token in and out, on the mean of the requests that were counted."""
        planned = self._sums[self._processing]
        count = max(self.requests_counted, 1)
        return planned.rates / count, planned.weights.get(self._place, 0.0) / count

    def risks(self, answers: Mapping[Place, tuple[Answers, int]]) -> dict[str, float]:
        """By reason. `answers`: those of each arm, and how many of them are to come."""
        planned, line = self._sums[self._processing], self.requests.line
        found = _Reasons()
        for place, weight in planned.weights.items():
            told, count = answers[place]
            by_chance, by_ignorance = mean_of_so_many(told.lengths, count)
            found.add(f"chance in {'/'.join(place)}", weight * by_chance)
            found.add(told.reason, weight * by_ignorance)
        # Requests that are alike in bytes are not alike in tokens: a little noise, and a mean of some of them.
        found.add(f"chance in tokens of {'/'.join(self._place)}", line.spread * math.sqrt(planned.rates_squared))
        of_the_mean = line.spread * planned.rates / math.sqrt(line.requests) if line.requests else 0.0
        found.add(self.requests.reason, math.hypot(of_the_mean, line.doubt * planned.for_input))
        return found.told()


class _Reasons:
    def __init__(self) -> None:
        self._found: dict[str, float] = {}

    def add(self, reason: str, deviation: float) -> None:
        self._found[reason] = self._found.get(reason, 0.0) + deviation

    def told(self) -> dict[str, float]:
        """To the nano-dollar; what is nothing is left out."""
        rounded: Iterable[tuple[str, float]] = ((reason, round(one, 0)) for reason, one in self._found.items())
        return {reason: one for reason, one in rounded if one > 0}
