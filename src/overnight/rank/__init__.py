"""Rankings from paired comparisons, with errors that can be trusted and words where numbers cannot."""

from overnight.rank.bayes import BayesFit, fit_bayes_bt
from overnight.rank.bradley_terry import PENALTIES, TIES, fit_bt_model
from overnight.rank.elo import EloFit, fit_elo_model, rate_elo
from overnight.rank.fit import BradleyTerryFit
from overnight.rank.judges import JudgeFit, fit_judge_model
from overnight.rank.rank_draws import RankProbabilities, rank_probabilities
from overnight.rank.rank_intervals import ability_intervals, summarize_bt_fit
from overnight.rank.verdicts import BadVerdicts, build_bt_data, build_elo_data, require_columns, verdict_column

__all__ = [
    "PENALTIES",
    "TIES",
    "BadVerdicts",
    "BayesFit",
    "BradleyTerryFit",
    "EloFit",
    "JudgeFit",
    "RankProbabilities",
    "ability_intervals",
    "build_bt_data",
    "build_elo_data",
    "fit_bayes_bt",
    "fit_bt_model",
    "fit_elo_model",
    "fit_judge_model",
    "rank_probabilities",
    "rate_elo",
    "require_columns",
    "summarize_bt_fit",
    "verdict_column",
]
