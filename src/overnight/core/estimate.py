"""What requests and answers come to, as far as those seen so far tell, and how sure that is. Pure.

A cost that lies ahead is uncertain for reasons: how long answers are, how many tokens a text makes. Each reason has a
name. What two arms owe to one reason goes up and down together and adds up; what they owe to different ones does not.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

# From so many answers on, they are better than anything that is known from elsewhere.
ENOUGH = 5
# How far a usual length, and a usual number of tokens for a byte, are from the truth: a standard deviation, relative.
DOUBT_OF_AN_ASSUMPTION = 0.75
DOUBT_OF_A_DENSITY = 0.25
# The same for what other arms of the stage, and other studies with the same task and model, have shown.
DOUBT_OF_A_NEIGHBOUR = 0.15
DOUBT_OF_ANOTHER_STUDY = 0.3
DOUBT_OF_ANOTHER_TEXT = 0.08
# Single answers differ by so much of their mean, where nobody has seen enough of them.
_USUAL_SPREAD = 0.75
# A length beyond so many times what nine of ten stay below is counted as that: one absurd count must not set a price.
_FAR = 10.0
# Requests that are so much further off the line than most others say nothing about texts.
_OFF_THE_LINE = 8.0
# Answers go with the length of their requests when so many rows show a slope that is so many times its error.
_ENOUGH_FOR_A_LINE, _PLAIN = 15, 4.0
_NORMAL = NormalDist()
# Steps of a doubling: lengths of one step are within a fifth of each other.
_STEPS = 4
_MOST_STEPS = 26 * _STEPS


class Lengths(NamedTuple):
    """How long answers are, in tokens: their mean and spread, of so many; and how far the mean may be off, relative."""

    mean: float
    spread: float
    answers: int = 0
    doubt: float = 0.0

    @property
    def mean_error(self) -> float:
        """The standard error of the mean, the doubt about whose answers these were included."""
        return math.hypot(self.spread / math.sqrt(self.answers) if self.answers else 0.0, self.doubt * self.mean)

    def within(self, longest: int | None) -> "Lengths":
        """Nothing is longer than its limit."""
        if longest is None or self.mean <= longest:
            return self
        return self._replace(mean=float(longest), spread=min(self.spread, float(longest)))


class Line(NamedTuple):
    """Tokens of a request by its bytes: `start + slope * bytes`, seen in so many requests; `spread` of single ones."""

    start: float
    slope: float
    requests: int = 0
    spread: float = 0.0
    doubt: float = 0.0

    def tokens(self, size: float) -> float:
        return max(self.start + self.slope * size, 0.0)


class ByLength(NamedTuple):
    """Answers that go with their requests: a line that holds between the smallest and the largest request seen."""

    line: Line
    smallest: float
    largest: float

    def length(self, size: float) -> float:
        return self.line.tokens(min(max(size, self.smallest), self.largest))


class Interval(NamedTuple):
    """An amount of money that lies ahead: what is expected, what nine of ten times is enough, and nine of ten cases."""

    expected: float
    p90: float
    low: float
    high: float


@lru_cache(maxsize=4096)
def step_of(amount: int) -> int:
    """A number for all amounts of about this size; nought for nought, and never more than some hundred of them."""
    return 0 if amount < 1 else min(1 + int(math.log2(amount) * _STEPS), _MOST_STEPS)


def lengths_of(seen: Iterable[tuple[float, int]], doubt: float = 0.0) -> Lengths | None:
    """From lengths and how often each was seen. One that is far beyond all others is not taken at its word."""
    counted = sorted((max(length, 0.0), count) for length, count in seen if count > 0)
    total = sum(count for _, count in counted)
    if not total:
        return None
    cap = _FAR * max(_quantile(counted, total, 0.9), 1.0)
    mean = sum(min(length, cap) * count for length, count in counted) / total
    squares = sum((min(length, cap) - mean) ** 2 * count for length, count in counted)
    if total < ENOUGH:
        return Lengths(mean, mean * _USUAL_SPREAD, total, doubt)
    # What is estimated from few answers is less sure than it looks: the spread of a t distribution.
    return Lengths(mean, math.sqrt(squares / (total - 1) * (total - 1) / (total - 3)), total, doubt)


def assumed_lengths(tokens: float) -> Lengths:
    """Of a usual answer that nobody has seen yet."""
    return Lengths(tokens, tokens * _USUAL_SPREAD, 0, DOUBT_OF_AN_ASSUMPTION)


def _quantile(counted: Sequence[tuple[float, int]], total: int, share: float) -> float:
    passed = 0
    for length, count in counted:
        passed += count
        if passed >= share * total:
            return length
    return counted[-1][0]


def line_of(seen: Iterable[tuple[float, float, int]], doubt: float = 0.0) -> Line | None:
    """From bytes, tokens and how often. Requests that are far off the line the others make are left out, once."""
    points = [(size, tokens, count) for size, tokens, count in seen if size > 0 and tokens > 0 and count > 0]
    if not points:
        return None
    # The middle ratio is not moved by a few absurd counts; a line through everything would be.
    ratios = sorted((tokens / size, count) for size, tokens, count in points)
    middle = _quantile(ratios, sum(count for _, count in ratios), 0.5)
    near = [(size, tokens, count) for size, tokens, count in points if tokens <= _FAR * middle * size]
    line = _fitted(near)
    distances = [(abs(tokens - line.tokens(size)), count) for size, tokens, count in near]
    usual = _quantile(sorted(distances), sum(count for _, count in distances), 0.5)
    allowed = max(_OFF_THE_LINE * usual, 2.0)
    kept = [point for point, (distance, _) in zip(near, distances, strict=True) if distance <= allowed]
    return _fitted(kept or near)._replace(doubt=doubt)


def _fitted(points: Sequence[tuple[float, float, int]]) -> Line:
    """The line of least squares; a ratio, where sizes hardly differ, and where it would fall."""
    total = sum(count for *_, count in points)
    mean_size = sum(size * count for size, _, count in points) / total
    mean_tokens = sum(tokens * count for _, tokens, count in points) / total
    wide = sum((size - mean_size) ** 2 * count for size, _, count in points)
    shared = sum((size - mean_size) * (tokens - mean_tokens) * count for size, tokens, count in points)
    slope = shared / wide if wide > 1e-4 * mean_size**2 * total else mean_tokens / mean_size
    if slope <= 0:
        slope = mean_tokens / mean_size
    start = mean_tokens - slope * mean_size
    left = sum((tokens - start - slope * size) ** 2 * count for size, tokens, count in points)
    return Line(start, slope, total, math.sqrt(left / total))


def by_length(seen: Sequence[tuple[float, float]]) -> ByLength | None:
    """From bytes of requests and tokens of answers; None where answers do not plainly go with their requests."""
    if len(seen) < _ENOUGH_FOR_A_LINE:
        return None
    cap = _FAR * max(_quantile(sorted((length, 1) for _, length in seen), len(seen), 0.9), 1.0)
    points = [(size, min(length, cap), 1) for size, length in seen]
    mean = sum(size for size, *_ in points) / len(points)
    wide = sum((size - mean) ** 2 for size, *_ in points)
    if sum((size - mean) * length for size, length, _ in points) <= 0:
        return None
    line = _fitted(points)
    if line.slope * math.sqrt(wide) < _PLAIN * max(line.spread, 1e-9):
        return None
    return ByLength(line, min(size for size, _ in seen), max(size for size, _ in seen))


def factors(covariance: Sequence[Sequence[float]]) -> list[list[float]]:
    """What some amounts owe to each of as many independent reasons, so that any sum of them has its right deviation."""
    count = len(covariance)
    owed = [[0.0] * count for _ in range(count)]
    for row in range(count):
        left = covariance[row][row] - sum(part**2 for part in owed[row][:row])
        # What is left of an amount that others explain is rounding.
        if left <= 1e-9 * covariance[row][row] or left <= 0:
            continue
        owed[row][row] = math.sqrt(left)
        for other in range(row + 1, count):
            shared = sum(mine * theirs for mine, theirs in zip(owed[row][:row], owed[other][:row], strict=True))
            owed[other][row] = (covariance[other][row] - shared) / owed[row][row]
    return owed


def together(risks: Iterable[Mapping[str, float]]) -> float:
    """The standard deviation of a sum. Of one reason, deviations add up; of different ones, their squares do."""
    reasons: dict[str, float] = {}
    for one in risks:
        for reason, deviation in one.items():
            reasons[reason] = reasons.get(reason, 0.0) + deviation
    return math.sqrt(sum(deviation**2 for deviation in reasons.values()))


def interval(expected: float, deviation: float, ceiling: float | None = None) -> Interval:
    """Of an amount that cannot be below nought, nor above its ceiling: nine of ten times it is between low and high."""
    if expected <= 0 or deviation <= 0:
        return Interval(expected, expected, expected, expected)
    width = math.sqrt(math.log1p((deviation / expected) ** 2))
    middle = math.log(expected) - width**2 / 2
    p90, low, high = (math.exp(middle + _NORMAL.inv_cdf(share) * width) for share in (0.9, 0.05, 0.95))
    most = math.inf if ceiling is None else max(ceiling, expected)
    return Interval(expected, min(max(p90, expected), most), min(low, expected), min(max(high, expected), most))


def mean_of_so_many(lengths: Lengths, requests: int) -> tuple[float, float]:
    """How far the mean of answers to come is from the mean of those seen: by chance, and because few were seen."""
    return (lengths.spread / math.sqrt(requests) if requests else 0.0), lengths.mean_error
