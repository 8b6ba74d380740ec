"""The whole posterior of abilities, their spread, the position and the lapse rate, drawn by Hamiltonian Monte Carlo.

    P(first wins) = (1 - lapse) logistic(theta_1 - theta_2 + position) + lapse / 2

theta = spread * z, z ~ N(0, 1), spread ~ half-N(0, 2), position ~ N(0, 1), lapse ~ Beta(2, 20). A posterior does not
hang on why a pair was chosen, as long as that was by earlier verdicts: so it stays valid under adaptive choice.
Several chains run side by side as columns of the same arrays; R-hat and effective sample sizes say whether they found
the same. The same verdicts and seed give the same draws.
"""

import warnings
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
# Chains that do not agree are gone on with so often, each time twice as long.
_DOUBLINGS: Final = 4
# For each parameter so many draws show which way it leans with others.
_DRAWS_FOR_A_LEAN: Final = 5
# Of more parameters each step would take too long.
_MOST_LEANING: Final = 300
# Beyond these nothing is learned that is worth the memory.
MOST_CHAINS: Final = 100
MOST_DRAWS: Final = 100_000


class ChainsApartWarning(UserWarning):
    """Draws that cannot be believed yet."""


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
    def problem(self) -> str | None:
        """In words, what is wrong with the chains; None where they can be believed."""
        if self.converged:
            return None
        table = self.diagnostics
        rhat, ess = max(table["rhat"].to_list()), min(table["ess"].to_list())
        wanted = f"wanted at most {GOOD_RHAT:g} and at least {GOOD_SIZE}"
        told = f"the chains do not agree yet after {self.theta.shape[1]:,} draws each: R-hat is {rhat:.3f}, and the"
        return f"{told} effective number of draws {ess:.0f} ({wanted}); give more `draws` and `warmup`"

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
    """`verdicts` have `object1, object2, result` (1, 0, or 0.5 for a tie, which counts as half of each).

    `draws` are the fewest: chains that do not agree yet go on, up to some ten times as long. Where they do not agree
    then either, that is a warning, and `problem` says it.
    """
    if min(chains - 1, draws - 99, warmup - 99) < 1:
        raise WrongArgument("wanted at least 2 chains, and 100 draws and 100 of warmup in each")
    if chains > MOST_CHAINS or max(draws, warmup) > MOST_DRAWS:
        most = f"{MOST_CHAINS} chains, and {MOST_DRAWS:,} draws and as many of warmup in each"
        raise WrongArgument(f"wanted at most {most}")
    model = _model(verdicts, position=position, lapse=lapse)
    together = _Chains(model, chains, seeded(seed))
    together.warm_up(warmup)
    found, accepted = together.draw(draws)
    fit = _fit_of(model, found, accepted)
    for _ in range(_DOUBLINGS):
        if fit.converged or 2 * found.shape[1] > MOST_DRAWS:
            break
        # What was drawn teaches how to draw, and is no part of what is drawn then.
        together.learn(found[:, found.shape[1] // 2 :])
        together.warm_up(warmup)
        found, accepted = together.draw(2 * found.shape[1])
        fit = _fit_of(model, found, accepted)
    if fit.problem is not None:
        warnings.warn(fit.problem, ChainsApartWarning, stacklevel=2)
    return fit


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


def _fit_of(model: _Model, found: Floats, accepted: float) -> BayesFit:
    n, tail = len(model.items), found[:, :, len(model.items) :]
    spread = np.exp(tail[:, :, 0])
    theta = found[:, :, :n] * spread[:, :, None]
    theta -= theta.mean(axis=2, keepdims=True)
    return BayesFit(
        model.items,
        theta,
        spread,
        tail[:, :, 1] if model.position else None,
        expit(tail[:, :, 2]) if model.lapse else None,
        accepted,
    )


class _Chains:
    """All chains side by side, which can be gone on with."""

    def __init__(self, model: _Model, chains: int, rng: np.random.Generator) -> None:
        self._model = model
        self._rng = rng
        self._point = rng.normal(0, 0.1, (len(model.items) + 3, chains))
        self._point[-1] = -2.5
        self._value, self._slope = model.value(self._point)
        self._step = 0.1
        # A column where parameters do not lean on each other, else a triangle.
        self._shape: Floats = np.ones((len(self._point), 1))

    def warm_up(self, turns: int) -> None:
        """Half of the turns find out what the posterior looks like; the other half go by that."""
        late = self._tune(turns // 2)
        self.learn(late)
        self._tune(turns - turns // 2)

    def learn(self, drawn: Floats) -> None:
        """How wide the posterior is, and which way it leans, from draws by chain, draw and parameter.

        Where abilities are known well, what is known of their spread hangs on them: steps then go along the valley.
        """
        points = drawn.reshape(-1, drawn.shape[2])
        count, size = points.shape
        wide = points.var(axis=0) + 1e-12
        if count < _DRAWS_FOR_A_LEAN * size or size > _MOST_LEANING:
            self._shape = np.sqrt(wide)[:, None]
            return
        # Held to no lean at all, by as much as some more draws would say.
        together = (count * np.cov(points.T) + _DRAWS_FOR_A_LEAN * np.diag(wide)) / (count + _DRAWS_FOR_A_LEAN)
        self._shape = np.linalg.cholesky(together)

    def _tune(self, turns: int) -> Floats:
        """The step for all chains together, by Nesterov's dual averaging as NUTS does; the later half of the draws."""
        average, drift = 0.0, 0.0
        seen: list[Floats] = []
        for at in range(1, turns + 1):
            drift += _TARGET - self._turn()
            log_step = np.log(0.5) - drift * np.sqrt(at) / (0.05 * (at + 10))
            average = (1 - at**-0.75) * average + at**-0.75 * log_step
            self._step = float(np.exp(log_step if at < turns else average))
            seen.append(self._point.T)
        return np.array(seen[turns // 2 :]).transpose(1, 0, 2)

    def draw(self, draws: int) -> tuple[Floats, float]:
        """By chain, draw and parameter; and the share of proposals that were accepted."""
        kept = np.empty((self._point.shape[1], draws, len(self._point)))
        met = []
        for turn in range(draws):
            met.append(self._turn())
            kept[:, turn] = self._point.T
        return kept, float(np.mean(met))

    def _turn(self) -> float:
        """One proposal for each chain; how probable it was on average that it is taken."""
        point, speed = self._point, self._rng.standard_normal(self._point.shape)
        leaps = int(self._rng.integers(*_LEAPS))
        shape = self._step * self._shape
        new, new_value, new_slope, new_speed = _leapt(self._model, point, self._slope, speed, shape, leaps)
        gain = new_value - self._value - (new_speed**2 - speed**2).sum(axis=0) / 2
        chance = np.exp(np.minimum(np.nan_to_num(gain, nan=-np.inf), 0.0))
        yes = self._rng.random(point.shape[1]) < chance
        self._point, self._slope = np.where(yes, new, point), np.where(yes, new_slope, self._slope)
        self._value = np.where(yes, new_value, self._value)
        return float(chance.mean())


def _leapt(
    model: _Model, point: Floats, slope: Floats, speed: Floats, shape: Floats, leaps: int
) -> tuple[Floats, Floats, Floats, Floats]:
    value = np.zeros(point.shape[1])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        for _ in range(leaps):
            speed = speed + _along(shape.T, slope) / 2
            point = point + _along(shape, speed)
            value, slope = model.value(point)
            speed = speed + _along(shape.T, slope) / 2
    return point, value, slope, speed


def _along(shape: Floats, way: Floats) -> Floats:
    """A column, lying or standing, stretches each parameter by itself."""
    return shape.reshape(-1, 1) * way if 1 in shape.shape else shape @ way


def _diagnosed(term: str, drawn: list[Floats]) -> dict[str, Any]:
    return {
        "term": term,
        "mean": float(np.mean([one.mean() for one in drawn])),
        "sd": float(np.mean([one.std() for one in drawn])),
        "rhat": max(split_rhat(one) for one in drawn),
        "ess": min(effective_size(one) for one in drawn),
    }


__all__ = ["BayesFit", "ChainsApartWarning", "fit_bayes_bt"]
