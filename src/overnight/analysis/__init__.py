"""The statistics of evaluations: rankings, rates, agreement, bias, calibration, and how many are enough."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from overnight.analysis.agreement import Agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, ratings_table
from overnight.analysis.calibration import Calibration, calibration
from overnight.analysis.consistency import (
    PositionalBias,
    ReverseConsistency,
    check_positional_bias,
    compute_reverse_consistency,
)
from overnight.analysis.judge_bias import JudgeBias, judge_bias
from overnight.analysis.paired import (
    McNemar,
    PairedDifference,
    compare_models,
    holm,
    mcnemar,
    mcnemar_counts,
    paired_difference,
)
from overnight.analysis.prediction_powered import (
    PredictionPowered,
    RoganGladen,
    prediction_powered_mean,
    rogan_gladen,
)
from overnight.analysis.rates import Rate, rate, rate_table, wilson_interval
from overnight.analysis.verdict_agreement import verdict_agreement

if TYPE_CHECKING:
    from overnight.analysis.power import (
        design_effect,
        interval_for_pairs,
        items_for_difference,
        pairs_for_interval,
        pairs_to_detect,
        rows_for_rate,
    )
    from overnight.rank import (
        BadVerdicts,
        BayesFit,
        BradleyTerryFit,
        ChainsApartWarning,
        EloFit,
        JudgeFit,
        RankProbabilities,
        build_bt_data,
        build_elo_data,
        fit_bayes_bt,
        fit_bt_model,
        fit_elo_model,
        fit_judge_model,
        rank_probabilities,
        rate_elo,
        summarize_bt_fit,
    )

__all__ = [
    "Agreement",
    "BadVerdicts",
    "BayesFit",
    "BradleyTerryFit",
    "Calibration",
    "ChainsApartWarning",
    "EloFit",
    "JudgeBias",
    "JudgeFit",
    "McNemar",
    "PairedDifference",
    "PositionalBias",
    "PredictionPowered",
    "RankProbabilities",
    "Rate",
    "ReverseConsistency",
    "RoganGladen",
    "build_bt_data",
    "build_elo_data",
    "calibration",
    "check_positional_bias",
    "cohen_kappa",
    "compare_models",
    "compute_reverse_consistency",
    "design_effect",
    "fit_bayes_bt",
    "fit_bt_model",
    "fit_elo_model",
    "fit_judge_model",
    "fleiss_kappa",
    "holm",
    "interval_for_pairs",
    "items_for_difference",
    "judge_bias",
    "krippendorff_alpha",
    "mcnemar",
    "mcnemar_counts",
    "paired_difference",
    "pairs_for_interval",
    "pairs_to_detect",
    "prediction_powered_mean",
    "rank_probabilities",
    "rate",
    "rate_elo",
    "rate_table",
    "ratings_table",
    "rogan_gladen",
    "rows_for_rate",
    "summarize_bt_fit",
    "verdict_agreement",
    "wilson_interval",
]

_POWER = (
    "design_effect",
    "interval_for_pairs",
    "items_for_difference",
    "pairs_for_interval",
    "pairs_to_detect",
    "rows_for_rate",
)


def __getattr__(name: str) -> Any:
    """What is made of solvers is fetched when it is first used: they take a second and 50 MB to load."""
    if name not in __all__:
        message = f"module 'overnight.analysis' has no attribute '{name}'"
        raise AttributeError(message)
    return getattr(import_module("overnight.analysis.power" if name in _POWER else "overnight.rank"), name)


def __dir__() -> list[str]:
    return __all__
