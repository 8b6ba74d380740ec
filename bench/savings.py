"""What choosing pairs in rounds saves, and whether the whole posterior holds however pairs were chosen.

    make savings                                50 studies of each kind, a few minutes of one core
    python bench/savings.py --studies 20 --skip-posterior
    python bench/savings.py --one-by-one        what thin studies come to where every pair waits for the verdict before

Rounds come from the task's own choice. Accuracy is Kendall's tau between the true abilities (100 samples, normal) and
the most probable ones under one prior, the same for pairs chosen in rounds and pairs drawn at random.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import kendalltau

from overnight.rank import ability_intervals, fit_bayes_bt, fit_bt_model
from overnight.tasks._pairs.adapting import Places, Tally, next_pairs
from overnight.tasks._pairs.pairing import PairPlan

Floats = NDArray[np.float64]
_SAMPLES = 100
_PRIOR = 4.0


class Asked(NamedTuple):
    """Who was shown first and second, and whether the first won."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    won: Floats


def judged(truth: Floats, pairs: NDArray[np.int64], draw: np.random.Generator, place: float = 0.0) -> Asked:
    turned = draw.random(len(pairs)) < 0.5
    first, second = np.where(turned, pairs[:, 1], pairs[:, 0]), np.where(turned, pairs[:, 0], pairs[:, 1])
    won = draw.random(len(pairs)) < expit(truth[first] - truth[second] + place)
    return Asked(first, second, won.astype(float))


def in_rounds(truth: Floats, pairs: int, seed: int, place: float = 0.0, begun: Asked | None = None) -> Asked:
    """`begun`: pairs that were asked before, by whatever rule."""
    draw = np.random.default_rng([seed, 1])
    parts = [] if begun is None else [begun]
    tallies: dict[Places, Tally] = {} if begun is None else dict(_tallied(begun))
    plan = PairPlan(select="adaptive", n=pairs)
    while chosen := list(next_pairs(len(truth), tallies, plan, seed * 100 + len(parts))):
        parts.append(judged(truth, np.array(chosen), draw, place))
        tallies |= dict(_tallied(parts[-1]))
    return Asked(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _tallied(asked: Asked) -> Iterator[tuple[Places, Tally]]:
    for first, second, won in zip(*(column.tolist() for column in asked), strict=True):
        low, high = min(first, second), max(first, second)
        yield (low, high), Tally(won if first == low else 1 - won, 1)


def at_random(truth: Floats, pairs: int, seed: int, place: float = 0.0) -> Asked:
    draw = np.random.default_rng([seed, 2])
    every = np.stack(np.triu_indices(len(truth), 1), axis=1)
    return judged(truth, every[draw.permutation(len(every))[:pairs]], draw, place)


def accuracy(truth: Floats, asked: Asked) -> float:
    """Newton's steps to the most probable abilities, then Kendall's tau."""
    n, (first, second, won) = len(truth), asked
    design = np.zeros((len(won), n))
    design[np.arange(len(won)), first], design[np.arange(len(won)), second] = 1.0, -1.0
    theta = np.zeros(n)
    for _ in range(30):
        chance = expit(design @ theta)
        slope = design.T @ (won - chance) - theta / _PRIOR
        curve = design.T @ (design * (chance * (1 - chance))[:, None]) + np.eye(n) / _PRIOR
        step = np.linalg.solve(curve, slope)
        theta += step
        if np.abs(step).max() < 1e-6:
            break
    return float(kendalltau(theta, truth)[0])


def abilities(seed: int, spread: float, samples: int = _SAMPLES) -> Floats:
    drawn = np.random.default_rng([seed, 0]).normal(0, spread, samples) if spread else np.zeros(samples)
    return drawn - drawn.mean()


def savings(studies: int) -> None:
    print("judge     per sample  pairs in rounds  tau in rounds  tau at random  difference (se)")
    for spread, share in ((3.0, 0.6), (3.0, 0.65), (1.0, 1.0)):
        for each in (10, 20, 40):
            pairs = each * _SAMPLES // 2
            both = [
                (
                    accuracy(truth, in_rounds(truth, int(share * pairs), seed)),
                    accuracy(truth, at_random(truth, pairs, seed)),
                )
                for seed in range(studies)
                for truth in [abilities(seed, spread)]
            ]
            chosen, drawn = np.array(both).T
            ahead, error = (chosen - drawn).mean(), (chosen - drawn).std(ddof=1) / len(both) ** 0.5
            name = "decisive" if spread > 2 else "noisy"
            print(
                f"{name:8s}  {each:10d}  {int(share * pairs):6d} ({share:.0%})  {chosen.mean():13.3f}  "
                f"{drawn.mean():13.3f}  {ahead:+.3f} ({error:.3f})",
                flush=True,
            )


def one_by_one(studies: int) -> None:
    """As far as choosing can go: no round, each pair by all verdicts before it. Decisive, 6 pairs of each sample."""
    pairs, plan = 3 * _SAMPLES, PairPlan(select="adaptive", n=3 * _SAMPLES)
    found = []
    for seed in range(studies):
        truth, draw = abilities(seed, 3.0), np.random.default_rng([seed, 1])
        parts = [judged(truth, np.array(list(next_pairs(_SAMPLES, {}, plan, seed))), draw)]
        tallies = dict(_tallied(parts[0]))
        while len(tallies) < pairs:
            best = next(next_pairs(_SAMPLES, tallies, plan, seed + len(tallies)))
            parts.append(judged(truth, np.array([best]), draw))
            tallies |= dict(_tallied(parts[-1]))
        whole = Asked(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        found.append((accuracy(truth, whole), accuracy(truth, at_random(truth, 5 * _SAMPLES, seed))))
    chosen, drawn = np.array(found).T
    error = (chosen - drawn).std(ddof=1) / len(found) ** 0.5
    print(
        f"decisive, {pairs} pairs one by one: tau {chosen.mean():.3f}; {5 * _SAMPLES} at random: {drawn.mean():.3f} "
        f"(difference {(chosen - drawn).mean():+.3f}, se {error:.3f})",
        flush=True,
    )


def frame(asked: Asked) -> pl.DataFrame:
    return pl.DataFrame({"object1": asked.first, "object2": asked.second, "result": asked.won})


def coins(studies: int) -> None:
    most = [
        fit_bt_model(frame(in_rounds(abilities(seed, 0), 1_000, seed)), position=True, penalty="eb").reliability
        for seed in range(studies)
    ]
    above = sum(one > 0.3 for one in most)
    print(
        f"a coin, {studies} studies of {_SAMPLES} samples: reliability at most {max(most):.2f}, {above} above .3",
        flush=True,
    )


def large_round() -> None:
    truth = abilities(0, 2.0, 10_000)
    asked = at_random_pairs(10_000, 60_000)
    tallies = dict(_tallied(judged(truth, asked, np.random.default_rng(0))))
    begun = time.process_time()
    chosen = sum(1 for _ in next_pairs(10_000, tallies, PairPlan(select="adaptive", n=200_000), 1))
    print(f"a round of {chosen:,} pairs for 10,000 samples: {time.process_time() - begun:.1f} s", flush=True)


def at_random_pairs(samples: int, pairs: int) -> NDArray[np.int64]:
    drawn = np.random.default_rng(1).integers(0, samples, (2 * pairs, 2))
    apart = np.sort(drawn[drawn[:, 0] != drawn[:, 1]], axis=1)
    return np.unique(apart, axis=0)[:pairs]


def posterior(studies: int) -> None:
    """20 samples, 12 comparisons of each, a position effect of .5: how often 95% intervals hold the truth."""
    print("pairs      abilities held: whole posterior  empirical Bayes  position held  lapse  R-hat above 1.01")
    for name in ("random", "adaptive", "mixed"):
        held, by_prior, places, slips, apart = [], [], [], [], 0
        for seed in range(studies):
            truth = abilities(seed, 1.5, 20)
            asked = at_random(truth, 120 if name == "random" else 60, seed, 0.5)
            if name != "random":
                asked = in_rounds(truth, 120, seed, 0.5, None if name == "adaptive" else asked)
            fit = fit_bayes_bt(frame(asked), seed=seed, draws=500, warmup=300)
            low, high = np.quantile(fit.draws, [0.025, 0.975], axis=0)
            held.append(((low <= truth) & (truth <= high)).mean())
            learnt = fit_bt_model(frame(asked), position=True, penalty="eb")
            low, high = ability_intervals(learnt)
            by_prior.append(((low <= truth) & (truth <= high)).mean())
            assert fit.position is not None
            assert fit.lapse is not None
            low, high = np.quantile(fit.position, [0.025, 0.975])
            places.append(low <= 0.5 <= high)
            slips.append(fit.lapse.mean())
            apart += bool((fit.diagnostics["rhat"] > 1.01).any())
        print(
            f"{name:9s}  {np.mean(held):31.3f}  {np.mean(by_prior):15.3f}  {np.mean(places):13.3f}  "
            f"{np.mean(slips):.3f}  {apart} of {studies}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="What choosing pairs in rounds saves.")
    parser.add_argument("--studies", type=int, default=50, help="how many of each kind")
    parser.add_argument("--skip-posterior", action="store_true")
    parser.add_argument("--one-by-one", action="store_true", help="only that: some minutes")
    given = parser.parse_args()
    if given.one_by_one:
        one_by_one(given.studies)
        return
    savings(given.studies)
    coins(given.studies)
    large_round()
    if not given.skip_posterior:
        posterior(given.studies)


if __name__ == "__main__":
    main()
