"""The pace of live calls: never over a limit that is told, close to it, and never all at once."""

from __future__ import annotations

import heapq
import math
import random

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings

from overnight.engine.live.pace import PAUSE_LONGEST, TINY, Bucket, Cooldown, Pace, Pacing, Ticket, pause
from overnight.engine.live.window import MOST
from overnight.providers import Rates


class Server:
    """A provider with buckets that fill evenly, latency, and calls that run side by side."""

    def __init__(self, requests: float, tokens: float, *, tells: bool = True, at_once: int = 10**9) -> None:
        self.limits = {"requests": requests, "tokens": tokens}
        self.levels = dict(self.limits)
        self.tells = tells
        self.at_once = at_once
        self.running = 0
        self.at = 0.0
        self.refused = 0
        self.served = 0
        self.most_at_once = 0

    def arrive(self, tokens: int, now: float) -> bool:
        for name, limit in self.limits.items():
            self.levels[name] = min(limit, self.levels[name] + (now - self.at) * limit / 60)
        self.at = now
        if self.levels["requests"] < 1 or self.levels["tokens"] < tokens or self.running >= self.at_once:
            self.refused += 1
            return False
        self.levels["requests"] -= 1
        self.levels["tokens"] -= tokens
        self.served += 1
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        return True

    def rates(self) -> Rates:
        if not self.tells:
            return Rates()
        return Rates(
            requests_limit=int(self.limits["requests"]),
            requests_remaining=int(self.levels["requests"]),
            tokens_limit=int(self.limits["tokens"]),
            tokens_remaining=max(0, int(self.levels["tokens"])),
        )


class Road:
    """How long calls take to arrive and to be answered. Where times differ, calls overtake one another."""

    def __init__(self, latency: float, *, way: float = 0.0, spread: float = 1.0, seed: int = 0) -> None:
        self._latency = latency
        self._way = way
        self._spread = spread
        self._chance = random.Random(seed)

    def out(self) -> float:
        return self._chance.expovariate(1 / self._way) if self._way else 0.0

    def back(self) -> float:
        return self._latency * float(self._spread ** self._chance.gauss(0, 1))


def drive(pace: Pace, server: Server, road: Road, calls: int, tokens: int = 10) -> float:
    """Call as the model_queue does: everything that may begin begins. Returns when the last answer came."""
    now, waiting, number = 0.0, calls, 0
    ingest: list[tuple[float, int, Ticket]] = []
    landings: list[tuple[float, int, Ticket, bool, Rates]] = []
    while waiting or ingest or landings:
        wait = pace.wait(tokens, now) if waiting else math.inf
        if wait <= 0:
            waiting, number = waiting - 1, number + 1
            heapq.heappush(ingest, (now + road.out(), number, pace.launch(tokens, now)))
            continue
        now = min(now + wait, *(queue[0][0] for queue in (ingest, landings) if queue), math.inf)
        assert now < math.inf, "nothing is under way, and nothing may begin"
        if ingest and ingest[0][0] <= now:
            _, which, ticket = heapq.heappop(ingest)
            ran = server.arrive(tokens, now)
            heapq.heappush(landings, (now + (road.back() if ran else 0.01), which, ticket, ran, server.rates()))
        elif landings and landings[0][0] <= now:
            _, _, ticket, ran, rates = heapq.heappop(landings)
            if ran:
                server.running -= 1
                pace.landed(ticket, tokens, rates, now)
            else:
                waiting += 1
                pace.turned_away(ticket, rates, now, None, busy=False)
    return now


def test_reaches_what_the_limit_allows_and_is_hardly_ever_refused() -> None:
    server = Server(requests=600, tokens=100_000)
    seconds = drive(Pace(Pacing(), Cooldown()), server, Road(1.0), 2_000, tokens=40)
    allowed = 600 + 600 / 60 * seconds
    assert server.served == 2_000
    assert 0.95 * allowed <= 2_000
    assert server.refused == 0


@given(way=st.floats(0.001, 2.0), spread=st.floats(1.0, 3.0), seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
@example(way=0.02, spread=1.5, seed=0)
def test_calls_that_overtake_one_another_are_not_refused(way: float, spread: float, seed: int) -> None:
    """What a reply says was true when its call arrived, which may be before or after calls that began earlier."""
    server = Server(requests=600, tokens=100_000)
    drive(Pace(Pacing(), Cooldown()), server, Road(1.0, way=way, spread=spread, seed=seed), 1_500, tokens=40)
    assert server.served == 1_500
    assert server.refused == 0


@given(
    requests=st.integers(20, 3_000),
    tokens_each=st.integers(1, 400),
    latency=st.floats(0.05, 20.0),
    token_limit=st.integers(1_000, 200_000),
)
@settings(max_examples=60, deadline=None)
@example(requests=60, tokens_each=400, latency=5.0, token_limit=1_000)
def test_stays_within_limits_that_are_told(requests: int, tokens_each: int, latency: float, token_limit: int) -> None:
    server = Server(requests=requests, tokens=token_limit)
    calls = 300
    drive(Pace(Pacing(), Cooldown()), server, Road(latency), calls, tokens=tokens_each)
    assert server.served == calls
    assert server.refused <= calls * 0.01


@given(latency=st.floats(0.1, 10.0), limit=st.integers(30, 600))
@settings(max_examples=30, deadline=None)
def test_learns_a_limit_that_nobody_tells_of(latency: float, limit: int) -> None:
    server = Server(requests=limit, tokens=1e9, tells=False)
    seconds = drive(Pace(Pacing(), Cooldown()), server, Road(latency), limit * 4)
    assert server.served == limit * 4
    assert server.refused < server.served * 0.15 + MOST  # the first crowd cannot know
    assert seconds < 60 * 12


class Moody(Server):
    """Without limits and without a word about any: it turns calls away by their number, as if by chance."""

    def __init__(self, refuses: set[int]) -> None:
        super().__init__(requests=1e9, tokens=1e9, tells=False)
        self._refuses = refuses
        self._met = 0

    def arrive(self, tokens: int, now: float) -> bool:
        self._met += 1
        if self._met in self._refuses:
            self.refused += 1
            return False
        return super().arrive(tokens, now)


@given(refuses=st.sets(st.integers(1, 40), max_size=6), latency=st.floats(0.2, 10.0))
@settings(max_examples=10, deadline=None)
@example(refuses={1}, latency=1.0)
@example(refuses={1, 2, 3}, latency=5.0)
@example(refuses={2}, latency=10.0)
@example(refuses={2, 3, 5, 9, 17, 33}, latency=10.0)
@example(refuses={5, 13, 14, 16, 18, 38}, latency=1.85)
def test_a_few_refusals_at_the_start_are_soon_forgotten(refuses: set[int], latency: float) -> None:
    """One of them made it one call a minute, for a thousand rows."""
    undisturbed = drive(Pace(Pacing(), Cooldown()), Moody(set()), Road(latency), 1_000)
    server = Moody(refuses)
    seconds = drive(Pace(Pacing(), Cooldown()), server, Road(latency), 1_000)
    assert server.served == 1_000
    assert seconds < 6 * undisturbed + 240


def test_the_first_reply_is_waited_for() -> None:
    pace = Pace(Pacing(concurrency=50), Cooldown())
    ticket = pace.launch(1, 0.0)
    assert pace.wait(1, 0.0) == math.inf
    pace.landed(ticket, 1, Rates(), 1.0)
    for _ in range(50):
        assert pace.wait(1, 1.0) == 0.0
        pace.launch(1, 1.0)
    assert pace.wait(1, 1.0) == math.inf


def test_a_tiny_limit_is_one_call_after_another() -> None:
    pace = Pace(Pacing(), Cooldown())
    first = pace.launch(1, 0.0)
    pace.landed(first, 1, Rates(requests_limit=int(TINY), requests_remaining=int(TINY) - 1), 1.0)
    assert pace.wait(1, 1.0) == 0.0
    second = pace.launch(1, 1.0)
    assert pace.wait(1, 1.0) == math.inf
    pace.landed(second, 1, Rates(), 2.0)
    assert pace.wait(1, 2.0) == 0.0


def test_one_refusal_pauses_every_call_of_the_account() -> None:
    cooldown = Cooldown()
    one, other = Pace(Pacing(), cooldown), Pace(Pacing(), cooldown)
    ticket = one.launch(1, 0.0)
    one.turned_away(ticket, Rates(), 1.0, 20.0, busy=False)
    assert other.wait(1, 1.0) == 20.0
    assert other.wait(1, 21.0) == 0.0


def test_a_crowd_of_refusals_is_one_refusal() -> None:
    cooldown = Cooldown()
    for _ in range(50):
        cooldown.begin(launched_at=0.0, now=1.0)
    assert cooldown.times == 1
    cooldown.begin(launched_at=2.0, now=3.0)
    assert cooldown.times == 2
    cooldown.over()
    assert cooldown.times == 0


def test_trouble_halves_the_window_once_for_calls_of_one_moment() -> None:
    pace = Pace(Pacing(concurrency=64), Cooldown())
    pace.landed(pace.launch(1, 0.0), 1, Rates(), 0.5)
    tickets = [pace.launch(1, 1.0) for _ in range(64)]
    for ticket in tickets:
        pace.turned_away(ticket, Rates(), 2.0, busy=True)
    assert pace.window.size == 32
    assert pace.in_flight == 0


@given(times=st.integers(0, 200))
def test_pauses_grow_and_end(times: int) -> None:
    assert 0 < pause(times) <= pause(times + 1) <= PAUSE_LONGEST


def test_tokens_that_were_not_used_are_given_back() -> None:
    pace = Pace(Pacing(tokens_per_minute=6_000), Cooldown())
    pace.landed(pace.launch(100, 0.0), 100, Rates(), 1.0)
    ticket = pace.launch(100, 10.0)
    blocked = pace.tokens.wait(100, 10.0)
    assert blocked > 0
    pace.landed(ticket, 10, Rates(), 10.0)
    assert pace.tokens.wait(100, 10.0) == pytest.approx(blocked * 0.1)


@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["take", "told", "wait"]), st.floats(0, 100), st.floats(0, 5)), max_size=40
    )
)
def test_a_bucket_never_has_more_than_it_holds_nor_than_it_was_told(steps: list[tuple[str, float, float]]) -> None:
    bucket, now = Bucket(), 0.0
    bucket.told(60, 60, 0, now, now)
    for what, amount, later in steps:
        now += later
        if what == "take":
            bucket.take(amount, now)
        elif what == "told":
            bucket.told(60, amount, 0, now, now)
            assert amount >= 59 or bucket.wait(amount + 1, now) > 0
        else:
            wait = bucket.wait(amount, now)
            assert wait >= 0
            assert bucket.wait(amount, now + wait + 1e-6) == pytest.approx(0.0, abs=1e-6)


def test_what_the_user_sets_is_spread_evenly() -> None:
    server = Server(requests=1e9, tokens=1e9, tells=False)
    seconds = drive(Pace(Pacing(requests_per_minute=120), Cooldown()), server, Road(0.2), 121)
    assert seconds == pytest.approx(60, rel=0.06)
