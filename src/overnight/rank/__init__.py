"""Rankings from paired comparisons, with errors that can be trusted and words where numbers cannot."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from overnight.rank.bayes import BayesFit, ChainsApartWarning, fit_bayes_bt
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
    "ChainsApartWarning",
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

# What each module has to give, by its name.
_HOMES = {
    "overnight.rank.bayes": ("BayesFit", "ChainsApartWarning", "fit_bayes_bt"),
    "overnight.rank.bradley_terry": ("PENALTIES", "TIES", "fit_bt_model"),
    "overnight.rank.elo": ("EloFit", "fit_elo_model", "rate_elo"),
    "overnight.rank.fit": ("BradleyTerryFit",),
    "overnight.rank.judges": ("JudgeFit", "fit_judge_model"),
    "overnight.rank.rank_draws": ("RankProbabilities", "rank_probabilities"),
    "overnight.rank.rank_intervals": ("ability_intervals", "summarize_bt_fit"),
    "overnight.rank.verdicts": ("BadVerdicts", "build_bt_data", "build_elo_data", "require_columns", "verdict_column"),
}


def __getattr__(name: str) -> Any:
    """Names are fetched when they are first used: who wants a mean need not wait for what fits a ranking."""
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        message = f"module 'overnight.rank' has no attribute '{name}'"
        raise AttributeError(message)
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return __all__
