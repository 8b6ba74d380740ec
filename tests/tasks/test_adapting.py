"""Adaptive pairs: each once, all samples tied together, the same for the same verdicts, and better than chance."""

from __future__ import annotations

import random
from math import exp
from statistics import fmean

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from overnight.core.errors import StudyError
from overnight.tasks._pairs.adapting import Places, Tally, believed, next_pairs
from overnight.tasks._pairs.pairing import PairPlan, pair_count

Tallies = dict[Places, Tally]


def judged(pairs: list[Places], qualities: list[float], chance: random.Random) -> Tallies:
    return {
        (one, other): Tally(float(chance.random() < 1 / (1 + exp(qualities[other] - qualities[one]))), 1)
        for one, other in pairs
    }


def in_rounds(qualities: list[float], plan: PairPlan, seed: int) -> list[Tallies]:
    chance, rounds, known = random.Random(seed), [], {}
    while pairs := list(next_pairs(len(qualities), known, plan, seed + len(rounds))):
        rounds.append(judged(pairs, qualities, chance))
        assert not rounds[-1].keys() & known.keys()
        assert len(rounds[-1]) == len(pairs)
        known |= rounds[-1]
    return rounds


def misplaced(qualities: list[float], tallies: Tallies) -> float:
    """How far a sample is from its true rank, on average."""
    abilities = [belief.ability for belief in believed(len(qualities), tallies)]
    places = range(len(qualities))
    truth, found = (sorted(places, key=values.__getitem__) for values in (qualities, abilities))
    return fmean(abs(truth.index(place) - found.index(place)) for place in places)


@given(samples=st.integers(2, 25), n=st.integers(1, 400), rounds=st.integers(2, 8), seed=st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_as_many_pairs_as_asked_for_each_once(samples: int, n: int, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    qualities = [chance.gauss(0, 2) for _ in range(samples)]
    plan = PairPlan(select="adaptive", n=n, rounds=rounds)
    asked = in_rounds(qualities, plan, seed)
    assert sum(map(len, asked)) == min(n, pair_count(samples))
    assert all(0 <= one < other < samples for tallies in asked for one, other in tallies)
    # Rounds are whole matchings: at most half a round more or less than asked for.
    assert len(asked) <= -(-3 * rounds // 2)
    assert [list(tallies) for tallies in asked] == [list(tallies) for tallies in in_rounds(qualities, plan, seed)]


@given(samples=st.integers(2, 40), n=st.integers(1, 800), seed=st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_all_samples_are_tied_together_in_the_end(samples: int, n: int, seed: int) -> None:
    chance = random.Random(seed)
    qualities = [chance.gauss(0, 3) for _ in range(samples)]
    plan = PairPlan(select="adaptive", n=max(n, samples - 1))
    pairs = [pair for tallies in in_rounds(qualities, plan, seed) for pair in tallies]
    reached, new = {0}, {0}
    while new:
        new = {place for pair in pairs if new & set(pair) for place in pair} - reached
        reached |= new
    assert reached == set(range(samples))


def test_a_round_is_spread_over_the_samples() -> None:
    qualities = [random.Random(3).gauss(0, 2) for _ in range(40)]
    for tallies in in_rounds(qualities, PairPlan(select="adaptive", n=400), 3):
        times = [sum(place in pair for pair in tallies) for place in range(40)]
        assert max(times) <= 2 * len(tallies) / 40 + 2
    first = next(iter(in_rounds(qualities, PairPlan(select="adaptive", n=120), 3)))
    assert sorted(place for pair in first for place in pair) == list(range(40))


def test_samples_in_the_crowd_are_asked_about_more_often_than_those_at_the_ends() -> None:
    """Where many stand close together, a small error of an ability is one of many ranks."""
    crowd, ends = [], []
    for seed in range(6):
        chance = random.Random(seed)
        qualities = sorted(chance.gauss(0, 3) for _ in range(40))
        rounds = in_rounds(qualities, PairPlan(select="adaptive", n=120), seed)
        times = [sum(place in pair for tallies in rounds for pair in tallies) for place in range(40)]
        crowd.append(fmean(times[10:30]))
        ends.append(fmean(times[:5] + times[35:]))
    assert fmean(crowd) > 1.15 * fmean(ends)


def test_what_is_taken_leaves_less_to_learn_about_its_samples() -> None:
    """Verdicts on one pair come in together with all others of the round: none may take the round for itself."""
    known = {pair: Tally(0.5, 30) for pair in next_pairs(30, {}, PairPlan(select="adaptive", n=400), 1)}
    round_of_all = list(next_pairs(32, known, PairPlan(select="adaptive", n=400), 2))
    times = [sum(place in pair for pair in round_of_all) for place in range(32)]
    # Two came later, and are all that is not known; even so they are not met by everybody.
    assert min(times[30:]) >= 2
    assert max(times) <= 2 * len(round_of_all) / 32 + 2


def test_the_same_number_of_pairs_ranks_better_than_a_random_sample() -> None:
    chosen, drawn = [], []
    for seed in range(12):
        chance = random.Random(seed)
        qualities = [chance.gauss(0, 2.5) for _ in range(40)]
        rounds = in_rounds(qualities, PairPlan(select="adaptive", n=240), seed)
        chosen.append(misplaced(qualities, {pair: tally for tallies in rounds for pair, tally in tallies.items()}))
        everyone = [(one, other) for other in range(40) for one in range(other)]
        drawn.append(misplaced(qualities, judged(chance.sample(everyone, 240), qualities, chance)))
    assert fmean(chosen) < 0.87 * fmean(drawn)


def test_beliefs_follow_the_verdicts_and_stay_finite() -> None:
    best, middle, worst = believed(3, {(0, 1): Tally(5, 5), (1, 2): Tally(5, 5), (0, 2): Tally(5, 5)})
    assert best.ability > middle.ability > worst.ability
    assert best.ability == pytest.approx(-worst.ability, abs=0.01)
    assert max(best.variance, middle.variance, worst.variance) < 4
    assert believed(2, {(0, 1): Tally(0.5, 1)})[0].ability == pytest.approx(0, abs=0.01)


def test_a_sample_that_came_later_is_met_first() -> None:
    known = {pair: Tally(0.5, 4) for pair in next_pairs(6, {}, PairPlan(select="adaptive", n=9), 1)}
    pairs = list(next_pairs(7, known, PairPlan(select="adaptive", n=12), 2))
    assert any(6 in pair for pair in pairs)


def test_one_sample_makes_no_pair() -> None:
    with pytest.raises(StudyError, match="1 sample makes no pair"):
        list(next_pairs(1, {}, PairPlan(select="adaptive", n=3), 0))
