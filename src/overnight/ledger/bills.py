"""The bill on record by arm, processing and day: what rows cost, what is set aside and presumed; and at other prices.

Days are of UTC: rows count on the day their answer came, money that was set aside on the day its shard was made, and
what is presumed on the day its attempt was meant to go out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from overnight.core.result import MOST_TOKENS
from overnight.ledger.connection import Records

# Sums in floating point never overflow, and are exact up to nine million dollars and nine quadrillion tokens.
_SUM = "CAST(total({}) AS BIGINT)"
# Cut off, where a cast alone would be rounded by some databases.
_DAY = "CAST(round(CAST({} / 86400 AS NUMERIC) - 0.5) AS BIGINT)"
_PARTS = ("input", "cached", "cache_write", "output", "reasoning")
_RECEIVED = "result.received_at"
# Attempt by attempt, as results lie in the ledger: nothing has to be sorted. All rows of a shard are of its arm.
_RESULTS = "FROM attempt CROSS JOIN shard ON shard.id=attempt.shard CROSS JOIN result ON result.attempt=attempt.id"
# Nano-dollars are for a million tokens; a half is rounded up, as every bill is.
_MILLION = 1_000_000
_CACHED, _WRITTEN = "coalesce(result.cached, 0)", "coalesce(result.cache_write, 0)"
_UNCACHED = f"(result.input - {_CACHED} - {_WRITTEN})"


class Place(NamedTuple):
    """Of which arm, live or not, and of which day since 1970."""

    arm: int
    live: bool
    day: int


class Billed(NamedTuple):
    """Tries: how many, how many of them answered, their tokens, what they cost, and how many have no cost on record."""

    tries: int
    answers: int
    input: int
    cached: int
    cache_write: int
    output: int
    reasoning: int
    cost: int
    unpriced: int


class SetAside(NamedTuple):
    """The most that shards can cost, None where nobody can say; and what of it is still set aside."""

    most: int | None
    held: int


class StepPrice(NamedTuple):
    """Nano-dollars for a million tokens of each kind, in prompts of more than so many tokens."""

    above: int
    input: int
    cached: int
    cache_write: int
    output: int


class RowPrice(NamedTuple):
    """What a row costs: its tokens, and so many nano-dollars for being asked."""

    steps: tuple[StepPrice, ...]
    request: int


class BillsView(Records):
    """What a run's rows come to."""

    def billed(self) -> Iterator[tuple[Place, Billed]]:
        sums = ", ".join(_SUM.format(f"result.{part}") for part in _PARTS)
        numbers = (
            f"count(*), count(*) FILTER (WHERE result.outcome<>'failed'), {sums}, {_SUM.format('result.cost')}, "
            "count(*) FILTER (WHERE result.cost IS NULL)"
        )
        found: dict[Place, list[int]] = {}
        for place, told in self._by_day(numbers):
            known = found.get(place, [0] * len(told))
            found[place] = [before + more for before, more in zip(known, told, strict=True)]
        for place in sorted(found):
            yield place, Billed._make(found[place])

    def _by_day(
        self, sums: str, which: str = "1=1", values: Sequence[object] = ()
    ) -> Iterator[tuple[Place, list[int]]]:
        """Sums over the results of each attempt; of one whose results came on several days, for each of these."""
        query = (
            f"SELECT attempt.id, min(shard.arm), min(shard.live), {_DAY.format(f'min({_RECEIVED})')}, "
            f"{_DAY.format(f'max({_RECEIVED})')}, {sums} {_RESULTS} WHERE {which} GROUP BY attempt.id"
        )
        for attempt, arm, live, first, last, *numbers in self._db.execute(query, values).fetchall():
            if first == last:
                yield Place(arm, bool(live), first), numbers
                continue
            by_day = f"SELECT {_DAY.format(_RECEIVED)}, {sums} {_RESULTS} WHERE {which} AND attempt.id={int(attempt)}"
            for day, *of_day in self._db.execute(f"{by_day} GROUP BY 1", values).fetchall():
                yield Place(arm, bool(live), day), of_day

    def set_aside(self) -> Iterator[tuple[Place, SetAside]]:
        query = (
            f"SELECT shard.arm, shard.live, {_DAY.format('shard.made_at')}, "
            f"CASE WHEN count(*)=count(amount) THEN {_SUM.format('amount')} END, "
            f"{_SUM.format('coalesce(amount, 0) - released')} "
            "FROM reservation JOIN shard ON shard.id=reservation.shard GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        for arm, live, day, most, held in self._db.execute(query):
            yield Place(arm, bool(live), day), SetAside(most, held)

    def presumed(self) -> Iterator[tuple[Place, int]]:
        query = (
            f"SELECT shard.arm, shard.live, {_DAY.format('attempt.intended_at')}, {_SUM.format('amount')} "
            "FROM presumption JOIN attempt ON attempt.id=presumption.attempt "
            "JOIN shard ON shard.id=attempt.shard GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        for arm, live, day, amount in self._db.execute(query):
            yield Place(arm, bool(live), day), amount

    def at_prices(self, prices: Mapping[tuple[int, bool], RowPrice]) -> dict[Place, int]:
        """What the rows of each arm, live or not, would cost at another price, by day; each rounded by itself.

        Rows whose counts are missing or contradict each other have no cost, at any price. All are looked at once,
        however many arms there are.
        """
        alike: dict[RowPrice, list[tuple[int, bool]]] = {}
        for asked, price in prices.items():
            alike.setdefault(price, []).append(asked)
        if not alike:
            return {}
        cases = "".join(
            f"WHEN {' OR '.join(f'shard.arm={int(arm)} AND shard.live={int(live)}' for arm, live in these)} "
            f"THEN {_row_cost(price)} "
            for price, these in alike.items()
        )
        which = (
            "result.input BETWEEN 0 AND ?1 AND result.output BETWEEN 0 AND ?1 "
            f"AND {_CACHED} >= 0 AND {_WRITTEN} >= 0 AND {_UNCACHED} >= 0"
        )
        found: dict[Place, int] = {}
        for place, (cost,) in self._by_day(_SUM.format(f"CASE {cases}END"), which, (MOST_TOKENS,)):
            if (place.arm, place.live) in prices:
                found[place] = found.get(place, 0) + cost
        return found


def _row_cost(price: RowPrice) -> str:
    """In nano-dollars, a half rounded up.

    Whole nano-dollars a token and millionths of them are counted apart: no product is too large for the database, and
    the sum is rounded once.
    """
    whole = [*_products(price.steps, _whole), str(int(price.request))]
    parts = _products(price.steps, _millionths)
    rounded = [f"({' + '.join(parts)} + {_MILLION // 2}) / {_MILLION}"] if parts else []
    return f"({' + '.join([*whole, *rounded])})"


def _products(steps: tuple[StepPrice, ...], part: Callable[[int], int]) -> list[str]:
    """Tokens of each kind by a part of their price, but for what is nothing at any step: most prices have no parts."""
    tokens = {"input": _UNCACHED, "cached": _CACHED, "cache_write": _WRITTEN, "output": "result.output"}
    return [
        f"{count} * {_step_case(kind, steps, part)}"
        for kind, count in tokens.items()
        if any(part(getattr(step, kind)) for step in steps)
    ]


def _whole(price: int) -> int:
    return price // _MILLION


def _millionths(price: int) -> int:
    return price % _MILLION


def _step_case(kind: str, steps: tuple[StepPrice, ...], part: Callable[[int], int]) -> str:
    """A part of the price in force for a row's prompt."""
    dearer = sorted((step for step in steps if step.above), key=lambda step: -step.above)
    plain = next(step for step in steps if not step.above)
    cases = "".join(f"WHEN result.input > {int(step.above)} THEN {part(getattr(step, kind))} " for step in dearer)
    ordinary = part(getattr(plain, kind))
    return f"CASE {cases}ELSE {ordinary} END" if cases else str(ordinary)
