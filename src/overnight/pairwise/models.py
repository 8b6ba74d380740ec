"""Rankings by the names that users of pairwiseLLM know."""

from typing import Any, Literal

import polars as pl

from overnight.analysis import BayesFit, BradleyTerryFit, build_bt_data, fit_bayes_bt
from overnight.analysis import fit_bt_model as fit_model
from overnight.core.arguments import checked
from overnight.core.errors import WrongArgument

Engine = Literal["auto", "sirt", "BradleyTerry2"]


@checked
def fit_bt_model(bt_data: Any, engine: Engine = "auto", verbose: bool = False, **options: Any) -> BradleyTerryFit:
    """Fit abilities to rows `object1, object2, result`, as `overnight.analysis.fit_bt_model` does with its `options`.

    There is one way to fit here. `engine` says what belongs to the model, as the R packages of that name have it:
    "sirt" an advantage of being shown first, "BradleyTerry2" none; "auto" leaves that to `position`. `verbose` prints
    what was fitted.
    """
    if engine != "auto" and "position" in options:
        raise WrongArgument(f"engine: {engine!r} says already whether there is a position effect; leave out `position`")
    given = options if engine == "auto" else {**options, "position": engine == "sirt"}
    fit = fit_model(bt_data, **given)
    if verbose:
        print(f"{len(fit.items)} items, engine {fit.engine}, reliability {fit.reliability:.3f}")  # noqa: T201 - asked for
    return fit


ModelVariant = Literal["btl", "btl_e", "btl_b", "btl_e_b"]


@checked
def build_btl_results_data(results: Any) -> pl.DataFrame:
    """Verdicts in any form that `build_bt_data` knows, as `fit_bayes_btl_mcmc` takes them."""
    return build_bt_data(results)


@checked
def fit_bayes_btl_mcmc(
    results: Any, model_variant: ModelVariant = "btl_e_b", *, chains: int = 4, seed: int = 0, **options: Any
) -> BayesFit:
    """The whole posterior of abilities, as `overnight.analysis.fit_bayes_bt` draws it; nothing has to be compiled.

    `btl_e` has a lapse rate, `btl_b` a position effect, `btl_e_b` both, `btl` neither.
    """
    parts = model_variant.split("_")[1:]
    return fit_bayes_bt(
        build_btl_results_data(results), position="b" in parts, lapse="e" in parts, chains=chains, seed=seed, **options
    )
