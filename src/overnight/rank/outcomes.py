"""What a comparison can end in, and how likely that is.

Every model here says: the outcome depends on `lead`, the log-odds by which the first item is ahead (abilities,
position and covariates added up), and on one tie parameter. Each gives the log-likelihood of counted
comparisons with its first two derivatives; nothing else about a model is known to the rest of the code.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from scipy.special import expit

from overnight.rank.arrays import Floats, inner

Tie = float | Floats  # one tie parameter for all cells, or one for each

_SLOPE_STEP: Final = 1e-5
_SMALLEST_DIRECTION: Final = 1e-12


@dataclass(frozen=True, slots=True)
class Curvature:
    """Minus the second derivatives, by cell: lead with lead, lead with tie, tie with tie."""

    lead: Floats
    cross: Floats
    tie: Floats

    def parts(self) -> tuple[Floats, Floats, Floats]:
        return self.lead, self.cross, self.tie


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A log-likelihood and its derivatives in each cell's lead and in the tie parameter."""

    loglik: float
    lead_score: Floats
    tie_score: Floats
    curvature: Curvature


def joined(parts: Sequence[Evaluation], *, has_tie: bool) -> Evaluation:
    """The evaluation of all cells from those of some at a time."""
    if len(parts) == 1:
        return parts[0]
    lead_score = np.concatenate([part.lead_score for part in parts])
    lead = np.concatenate([part.curvature.lead for part in parts])
    loglik = sum(part.loglik for part in parts)
    if not has_tie:
        zeros = np.zeros(len(lead))
        return Evaluation(loglik, lead_score, zeros, Curvature(lead, zeros, zeros))
    cross = np.concatenate([part.curvature.cross for part in parts])
    tie = np.concatenate([part.curvature.tie for part in parts])
    tie_score = np.concatenate([part.tie_score for part in parts])
    return Evaluation(loglik, lead_score, tie_score, Curvature(lead, cross, tie))


class Outcomes(Protocol):
    name: str
    has_tie: bool

    def start(self, tie_share: float, /) -> float:
        """A tie parameter that gives this share of ties between equals."""

    def probabilities(self, lead: Floats, tie: Tie, /) -> tuple[Floats, Floats, Floats]:
        """The chances of a win of the first, a tie, and a win of the second."""

    def evaluate(self, lead: Floats, tie: Tie, wins: Floats, ties: Floats, losses: Floats, /) -> Evaluation: ...


class WinOrLose:
    """Bradley and Terry: the first wins with probability logistic(lead). Ties count as half a win for each."""

    name = "bradley-terry"
    has_tie = False

    def start(self, _tie_share: float) -> float:
        return 0.0

    def probabilities(self, lead: Floats, _tie: Tie) -> tuple[Floats, Floats, Floats]:
        won = expit(lead)
        return won, np.zeros_like(won), expit(-lead)

    def evaluate(self, lead: Floats, _tie: Tie, wins: Floats, ties: Floats, losses: Floats) -> Evaluation:
        total = wins + ties + losses
        scored = wins + ties / 2
        # one exponential serves the probability, its slope and the logarithm
        odds_against = np.exp(-np.abs(lead))
        favourite = 1 / (1 + odds_against)
        underdog = odds_against * favourite
        won = np.where(lead >= 0, favourite, underdog)
        loglik = inner(scored, lead) - inner(total, np.maximum(lead, 0.0) - np.log(favourite))
        zeros = np.zeros_like(lead)
        return Evaluation(loglik, scored - total * won, zeros, Curvature(total * favourite * underdog, zeros, zeros))


class Davidson:
    """Davidson 1970: the odds win : tie : loss are exp(lead / 2) : exp(tie) : exp(-lead / 2)."""

    name = "davidson"
    has_tie = True

    def start(self, tie_share: float) -> float:
        return float(np.log(2 * tie_share / (1 - tie_share)))

    def probabilities(self, lead: Floats, tie: Tie) -> tuple[Floats, Floats, Floats]:
        half = np.abs(lead) / 2
        underdog_odds, tie_odds = np.exp(-2 * half), np.exp(tie - half)
        favourite = 1 / (1 + underdog_odds + tie_odds)
        underdog = underdog_odds * favourite
        ahead = lead >= 0
        return np.where(ahead, favourite, underdog), tie_odds * favourite, np.where(ahead, underdog, favourite)

    def evaluate(self, lead: Floats, tie: Tie, wins: Floats, ties: Floats, losses: Floats) -> Evaluation:
        total = wins + ties + losses
        won, tied, lost = self.probabilities(lead, tie)
        ahead, decided = won - lost, won + lost
        curvature = Curvature(
            lead=total * (decided - ahead**2) / 4,
            cross=-total * ahead * tied / 2,
            tie=total * tied * decided,
        )
        # the scale by which the three odds were divided, relative to the favourite's
        scale = np.abs(lead) / 2 - np.log(np.maximum(won, lost))
        loglik = inner(wins - losses, lead) / 2 + float((tie * ties).sum()) - inner(total, scale)
        return Evaluation(loglik, (wins - losses - total * ahead) / 2, ties - total * tied, curvature)


class RaoKupper:
    """Rao and Kupper 1967: a lead within plus or minus `tie` of zero, on the logistic scale, is called a tie."""

    name = "rao-kupper"
    has_tie = True

    def start(self, tie_share: float) -> float:
        return float(2 * np.arctanh(tie_share))

    def probabilities(self, lead: Floats, tie: Tie) -> tuple[Floats, Floats, Floats]:
        won, lost = expit(lead - tie), expit(-lead - tie)
        return won, np.expm1(2 * tie) * won * lost, lost

    def evaluate(self, lead: Floats, tie: Tie, wins: Floats, ties: Floats, losses: Floats) -> Evaluation:
        if np.any(np.asarray(tie) <= 0):  # outside the model: a search that steps here turns back
            return Evaluation(-np.inf, lead, lead, Curvature(lead, lead, lead))
        not_won, not_lost = expit(tie - lead), expit(tie + lead)
        # a tie is as if each side had failed to win: both thresholds are seen
        above, below = wins + ties, losses + ties
        above_curve, below_curve = above * not_won * (1 - not_won), below * not_lost * (1 - not_lost)
        opening = -np.expm1(-2 * tie)
        curvature = Curvature(
            lead=above_curve + below_curve,
            cross=below_curve - above_curve,
            tie=above_curve + below_curve + ties * 4 * np.exp(-2 * tie) / opening**2,
        )
        tie_score = ties * 2 / opening - above * not_won - below * not_lost
        return Evaluation(
            self._loglik(lead, tie, above, below, ties), above * not_won - below * not_lost, tie_score, curvature
        )

    @staticmethod
    def _loglik(lead: Floats, tie: Tie, above: Floats, below: Floats, ties: Floats) -> float:
        decided = inner(above, np.logaddexp(0.0, tie - lead)) + inner(below, np.logaddexp(0.0, tie + lead))
        return float((ties * np.log(np.expm1(2 * tie))).sum() - decided)


def expected_curvature(outcomes: Outcomes, lead: Floats, tie: float, total: Floats) -> Curvature:
    """The Fisher information of each cell: the curvature when counts are what the model expects."""
    won, tied, lost = outcomes.probabilities(lead, tie)
    return outcomes.evaluate(lead, tie, total * won, total * tied, total * lost).curvature


def curvature_slope(
    curve: Callable[[Floats, float], Curvature], lead: Floats, tie: float, along: tuple[Floats, float]
) -> Curvature:
    """How a curvature changes along a direction (of the leads, of the tie parameter), by central differences."""
    size = max(float(np.abs(along[0]).max()), abs(along[1]), _SMALLEST_DIRECTION)
    step = _SLOPE_STEP / size
    after = curve(lead + step * along[0], tie + step * along[1])
    before = curve(lead - step * along[0], tie - step * along[1])
    return Curvature(*((b - a) / (2 * step) for a, b in zip(before.parts(), after.parts(), strict=True)))


__all__ = [
    "Curvature",
    "Davidson",
    "Evaluation",
    "Outcomes",
    "RaoKupper",
    "Tie",
    "WinOrLose",
    "curvature_slope",
    "expected_curvature",
    "joined",
]
