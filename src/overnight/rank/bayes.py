"""The whole posterior of abilities, their spread, the position and the lapse rate, drawn by Hamiltonian Monte Carlo.

    P(first wins) = (1 - lapse) logistic(theta_1 - theta_2 + position) + lapse / 2

theta = spread * z, z ~ N(0, 1), spread ~ half-N(0, 2), position ~ N(0, 1), lapse ~ Beta(2, 20). A posterior does not
hang on why a pair was chosen, as long as that was by earlier verdicts: so it stays valid under adaptive choice.
Several chains run side by side as columns of the same arrays; R-hat and effective sample sizes say whether they found
the same. The same verdicts and seed give the same draws.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array
from scipy.special import expit, log_expit

from overnight.core.arguments import checked
from overnight.core.errors import WrongArgument
from overnight.rank.arrays import Floats, seeded
from overnight.rank.columns import readable
from overnight.rank.diagnostics import effective_size, split_rhat
from overnight.rank.rank_draws import RankProbabilities, ranks_of, summarize_ranks
from overnight.rank.verdicts import as_frame, numeric_column, require_columns

_SPREAD_SCALE: Final = 2.0
_LAPSE: Final = (2.0, 20.0)
_TARGET: Final = 0.8
_LEAPS: Final = (8, 24)
_QUANTILES: Final = (0.025, 0.05, 0.5, 0.95, 0.975)
# Chains are believed from here on.
GOOD_RHAT: Final = 1.01
GOOD_SIZE: Final = 400
# Beyond these nothing is learned that is worth the memory.
MOST_CHAINS: Final = 100
MOST_DRAWS: Final = 100_000


@dataclass(frozen=True)
class BayesFit:
    """Draws by chain, draw and item (`theta`), and by chain and draw (`spread`, `position`, `lapse`)."""

    items: list[Any]
    theta: Floats
    spread: Floats
    position: Floats | None
    lapse: Floats | None
    accepted: float

    @property
    def draws(self) -> Floats:
        """Of the abilities, all chains together: a row for each draw."""
        return self.theta.reshape(-1, self.theta.shape[-1])

    @cached_property
    def diagnostics(self) -> pl.DataFrame:
        """`term, mean, sd, rhat, ess`: of the abilities the worst, and of each other term itself."""
        abilities = [self.theta[:, :, at] for at in range(self.theta.shape[2])]
        rows = [_diagnosed("theta (worst)", abilities)]
        for name in ("spread", "position", "lapse"):
            drawn = getattr(self, name)
            if drawn is not None:
                rows.append(_diagnosed(name, [drawn]))
        return pl.DataFrame(rows)

    @property
    def converged(self) -> bool:
        """Whether all chains found the same, and went round it often enough."""
        table = self.diagnostics
        return bool((table["rhat"] <= GOOD_RHAT).all() and (table["ess"] >= GOOD_SIZE).all())

    @property
    def reliability(self) -> float:
        """Expected a posteriori: the variance of the means over that and the mean variance."""
        means, within = self.draws.mean(axis=0), self.draws.var(axis=0)
        between = float(means.var())
        return between / (between + float(within.mean()))

    def summary(self) -> pl.DataFrame:
        """A row for each item, best first: mean, deviation and quantiles of its ability and of its rank."""
        draws = self.draws
        ranks = ranks_of(draws)
        named: dict[str, Any] = {"ID": self.items, "theta_mean": draws.mean(axis=0)}
        for what, values in (("theta", draws), ("rank", ranks)):
            for at, row in zip(_QUANTILES, np.quantile(values, _QUANTILES, axis=0), strict=True):
                named[f"{what}_p{100 * at:g}"] = row
            named[f"{what}_sd"] = values.std(axis=0)
        named["rank_mean"] = ranks.mean(axis=0)
        return pl.DataFrame(named).sort("theta_mean", descending=True, maintain_order=True)

    def rank_probabilities(self, top: int = 1) -> RankProbabilities:
        return summarize_ranks(self.items, self.draws.mean(axis=0), ranks_of(self.draws), top)


@readable
@checked
def fit_bayes_bt(
    verdicts: Any,
    *,
    position: bool = True,
    lapse: bool = True,
    chains: int = 4,
    draws: int = 1_000,
    warmup: int = 500,
    seed: int = 0,
) -> BayesFit:
    """`verdicts` have `object1, object2, result` (1, 0, or 0.5 for a tie, which counts as half of each)."""
    if min(chains - 1, draws - 99, warmup - 99) < 1:
        raise WrongArgument("wanted at least 2 chains, and 100 draws and 100 of warmup in each")
    if chains > MOST_CHAINS or max(draws, warmup) > MOST_DRAWS:
        most = f"{MOST_CHAINS} chains, and {MOST_DRAWS:,} draws and as many of warmup in each"
        raise WrongArgument(f"wanted at most {most}")
    model = _model(verdicts, position=position, lapse=lapse)
    found, accepted = _sampled(model, chains, draws, warmup, seeded(seed))
    n, tail = len(model.items), found[:, :, len(model.items) :]
    spread = np.exp(tail[:, :, 0])
    theta = found[:, :, :n] * spread[:, :, None]
    theta -= theta.mean(axis=2, keepdims=True)
    return BayesFit(
        model.items,
        theta,
        spread,
        tail[:, :, 1] if position else None,
        expit(tail[:, :, 2]) if lapse else None,
        accepted,
    )


class _Model(NamedTuple):
    """Cells of equal pairs in equal order: who met, how often, and how many wins of the first."""

    items: list[Any]
    design: csr_array
    wins: Floats
    votes: Floats
    position: bool
    lapse: bool

    def value(self, point: Floats) -> tuple[Floats, Floats]:
        """The log-posterior of each column, and its gradient. Rows: z, log spread, position, logit of the lapse."""
        n = len(self.items)
        z, spread = point[:n], np.exp(point[n])
        place = point[n + 1] if self.position else np.zeros_like(spread)
        slip = expit(point[n + 2]) if self.lapse else np.zeros_like(spread)
        ahead = self.design @ z
        chance = expit(ahead * spread + place)
        won = (1 - slip) * chance + slip / 2
        lost = 1 - won
        wins, losses = self.wins[:, None], (self.votes - self.wins)[:, None]
        value = (wins * np.log(won) + losses * np.log(lost)).sum(axis=0)
        pull = wins / won - losses / lost
        lean = pull * (1 - slip) * chance * (1 - chance)
        slope = np.zeros_like(point)
        slope[:n] = (self.design.T @ lean) * spread - z
        value = value - (z * z).sum(axis=0) / 2
        # log spread carries the half-normal prior of the spread itself, and the change of variable
        slope[n] = (lean * ahead).sum(axis=0) * spread - spread**2 / _SPREAD_SCALE**2 + 1
        value += point[n] - spread**2 / (2 * _SPREAD_SCALE**2)
        slope[n + 1] = lean.sum(axis=0) * self.position - point[n + 1]
        value -= point[n + 1] ** 2 / 2
        one, other = _LAPSE
        value += one * log_expit(point[n + 2]) + other * log_expit(-point[n + 2])
        share = expit(point[n + 2])
        slope[n + 2] = one * (1 - share) - other * share
        slope[n + 2] += (pull * (0.5 - chance)).sum(axis=0) * slip * (1 - slip)
        return value, slope


def _model(verdicts: Any, *, position: bool, lapse: bool) -> _Model:
    table = as_frame(verdicts)
    require_columns(table, ("object1", "object2", "result"))
    weight = next((name for name in ("count", "weight") if name in table.columns), None)
    table = table.with_columns(
        result=numeric_column(table, "result"), times=pl.lit(1.0) if weight is None else numeric_column(table, weight)
    )
    if not table["result"].drop_nulls().is_between(0, 1).all():
        raise WrongArgument("result: wanted 1 where the first won, 0 where the second did, 0.5 for a tie")
    table = table.drop_nulls(["object1", "object2", "result"]).filter(pl.col("object1") != pl.col("object2"))
    cells = (
        table.group_by("object1", "object2")
        .agg(wins=(pl.col("result") * pl.col("times")).sum(), count=pl.col("times").sum())
        .sort("object1", "object2")
    )
    if cells.is_empty():
        raise WrongArgument("there is no readable verdict to fit")
    items = pl.concat([cells["object1"], cells["object2"]]).unique().sort().to_list()
    places = {item: at for at, item in enumerate(items)}
    first, second = (np.array([places[one] for one in cells[name]]) for name in ("object1", "object2"))
    rows = np.arange(cells.height)
    signs = np.concatenate([np.ones(cells.height), -np.ones(cells.height)])
    where = (np.concatenate([rows, rows]), np.concatenate([first, second]))
    design = csr_array((signs, where), shape=(cells.height, len(items)))
    return _Model(items, design, cells["wins"].to_numpy(), cells["count"].to_numpy(), position, lapse)


def _sampled(model: _Model, chains: int, draws: int, warmup: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """By chain, draw and parameter. The step is tuned while warming up, for all chains together."""
    size = len(model.items) + 3
    point = rng.normal(0, 0.1, (size, chains))
    point[-1] = -2.5
    value, slope = model.value(point)
    step, average, drift, met = 0.1, 0.0, 0.0, []
    kept = np.empty((chains, draws, size))
    scale = np.ones((size, 1))
    seen: list[Floats] = []
    for turn in range(warmup + draws):
        speed = rng.standard_normal(point.shape)
        leaps = int(rng.integers(*_LEAPS))
        new, new_value, new_slope, new_speed = _leapt(model, point, slope, speed, step * scale, leaps)
        gain = new_value - value - (new_speed**2 - speed**2).sum(axis=0) / 2
        chance = np.exp(np.minimum(np.nan_to_num(gain, nan=-np.inf), 0.0))
        yes = rng.random(chains) < chance
        point, slope = np.where(yes, new, point), np.where(yes, new_slope, slope)
        value = np.where(yes, new_value, value)
        if turn < warmup:
            # Nesterov's dual averaging, as NUTS tunes its step
            drift += _TARGET - float(chance.mean())
            at = turn + 1
            log_step = np.log(0.5) - drift * np.sqrt(at) / (0.05 * (at + 10))
            average = (1 - at**-0.75) * average + at**-0.75 * log_step
            step = float(np.exp(log_step if at < warmup else average))
            seen.append(point)
            if at == warmup // 2:
                scale = np.array(seen[len(seen) // 2 :]).transpose(1, 0, 2).reshape(size, -1).std(axis=1)[:, None]
                drift, average = 0.0, 0.0
        else:
            kept[:, turn - warmup] = point.T
            met.append(float(chance.mean()))
    return kept, float(np.mean(met))


def _leapt(
    model: _Model, point: Floats, slope: Floats, speed: Floats, step: Floats, leaps: int
) -> tuple[Floats, Floats, Floats, Floats]:
    value = np.zeros(point.shape[1])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for _ in range(leaps):
            speed = speed + step * slope / 2
            point = point + step * speed
            value, slope = model.value(point)
            speed = speed + step * slope / 2
    return point, value, slope, speed


def _diagnosed(term: str, drawn: list[Floats]) -> dict[str, Any]:
    return {
        "term": term,
        "mean": float(np.mean([one.mean() for one in drawn])),
        "sd": float(np.mean([one.std() for one in drawn])),
        "rhat": max(split_rhat(one) for one in drawn),
        "ess": min(effective_size(one) for one in drawn),
    }


__all__ = ["BayesFit", "fit_bayes_bt"]
