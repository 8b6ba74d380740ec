"""What a reader must be told about a fit, in plain sentences: never a silent number."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from overnight.rank.arrays import Flags
from overnight.rank.comparison_graph import ComparisonGraph
from overnight.rank.tally import Cells

_NAMES_SHOWN: Final = 5
_POORLY_IDENTIFIED: Final = 0.5
_FEW_CLUSTERS: Final = 20
_ROUNDING: Final = 1e-6


def left_out_problems(left_out: dict[str, int]) -> list[str]:
    return [
        f"{count} row{'s' * (count > 1)} {why} and {'was' if count == 1 else 'were'} left out."
        for why, count in left_out.items()
    ]


def graph_problems(graph: ComparisonGraph, names: Sequence[str], *, penalised: bool, bridged: bool) -> list[str]:
    """Plain sentences about what the comparisons cannot tell, and what would help."""
    problems = []
    if not graph.is_connected:
        problems.append(_disconnected(graph, names, bridged=bridged))
    if graph.is_separated:
        problems.append(_separated(graph, names, penalised=penalised))
    return problems


def _disconnected(graph: ComparisonGraph, names: Sequence[str], *, bridged: bool) -> str:
    sizes = np.bincount(graph.component)
    parts = "; ".join(_listed(names, graph.component == label) for label in range(min(len(sizes), _NAMES_SHOWN)))
    more = f"; and {len(sizes) - _NAMES_SHOWN} more" if len(sizes) > _NAMES_SHOWN else ""
    fate = (
        "how these parts stand to one another rests on the penalty alone"
        if bridged
        else "each part is ranked apart, with abilities that sum to zero within it"
    )
    return (
        f"The comparisons are disconnected: they fall into {len(sizes)} components that were never compared with one "
        f"another ({parts}{more}); {fate}. Comparisons across the parts would join them."
    )


def _separated(graph: ComparisonGraph, names: Sequence[str], *, penalised: bool) -> str:
    sorts = [
        (np.isposinf(graph.placement), "is unbeaten", "are unbeaten by all others"),
        (np.isneginf(graph.placement), "is winless", "are winless against all others"),
        (np.isnan(graph.placement), "is joined to the others by no cycle of wins", "are joined by no cycle of wins"),
    ]
    who = "; ".join(
        f"{_listed(names, where)} {one if where.sum() == 1 else several}"
        for where, one, several in sorts
        if where.any()
    )
    if penalised:
        return (
            f"Without the penalty there would be no finite estimate: {who}. "
            "What is said of their abilities rests on the penalty."
        )
    return (
        f"There is no finite maximum-likelihood estimate: {who}. Such abilities are given as infinite (or NaN). "
        'A penalty gives finite ones: penalty="firth" (least shrinkage), penalty="eb", or a number such as 0.1; '
        "or compare these items more often."
    )


def unidentified_problems(names: Sequence[str], kept: Flags) -> list[str]:
    """For the position effect and covariates that the design cannot tell from the abilities."""
    problems = []
    for name, identified in zip(names, kept, strict=True):
        if identified:
            continue
        if name == "position":
            problems.append(
                "The position effect cannot be identified by this design: what being shown first does could as well "
                "be a difference in ability (no item was seen often enough in both positions). It is given as NaN "
                "and left out of the model; show pairs in both orders, or in random order."
            )
        else:
            problems.append(
                f"The covariate {name!r} cannot be identified: it is constant, or a difference in ability could "
                "stand for it. Its coefficient is given as NaN and left out of the model."
            )
    return problems


def poor_position_problems(retained: float, cells: Cells) -> list[str]:
    if retained >= _POORLY_IDENTIFIED:
        return []
    low, high = np.minimum(cells.first, cells.second), np.maximum(cells.first, cells.second)
    both = len(np.unique(np.column_stack([low, high]), axis=0)) < len(
        np.unique(np.column_stack([cells.first, cells.second]), axis=0)
    )
    shown = "few pairs were shown" if both else "no pair was shown"
    sentence = (
        f"The position effect is largely confounded with ability: the design leaves only {retained:.0%} of what the "
        f"comparisons tell about it ({shown} in both orders). Show pairs in both orders, or in random order."
    )
    return [sentence]


def convergence_problems(*, converged: bool, steps: int, runaway: Sequence[str]) -> list[str]:
    if converged:
        return []
    if runaway:
        sentence = (
            f"There is no finite maximum-likelihood estimate: {_shown(runaway)} would go on to infinity (given as "
            'infinite; what then cannot be told is NaN). penalty="firth" gives finite ones; so may fewer terms in '
            "the model, or more comparisons."
        )
        return [sentence]
    sentence = (
        f"The fit did not converge in {steps} steps: its numbers are where it stopped, not estimates, and their "
        'errors are given as NaN. A penalty (penalty="firth" or "eb") often helps.'
    )
    return [sentence]


def half_tie_problems(n_ties: float) -> list[str]:
    sentence = (
        f"{n_ties:g} ties were counted as half a win for each side: the errors treat them as if they were decided, "
        'and the share of ties is not modelled (ties="davidson" does both).'
    )
    return [sentence]


def too_large_problems(n_items: int, limit: int) -> list[str]:
    if n_items <= limit:
        return []
    return [f"There are {n_items} items; exact errors are computed for up to {limit}, so they are given as NaN."]


def singular_problems() -> list[str]:
    return ["Some combination of the parameters is not determined, so that no errors can be given; they are NaN."]


def cluster_problems(n_clusters: int) -> list[str]:
    if n_clusters >= _FEW_CLUSTERS:
        return []
    if n_clusters < 2:
        return ["All comparisons are of one cluster: it has nothing to vary from, so that errors are given as NaN."]
    return [f"There are only {n_clusters} clusters: errors from so few are uncertain, and tend to be too small."]


def learnt_ridge_problems(ridge: float, *, weakest: float, strongest: float) -> list[str]:
    if ridge >= strongest * (1 - _ROUNDING):
        sentence = (
            "No differences in ability can be told from chance: the penalty that explains the comparisons best shrinks "
            "every ability to zero."
        )
        return [sentence]
    if ridge <= weakest * (1 + _ROUNDING):
        return [
            f"The comparisons set no limit to how far apart the items are; the penalty is at its weakest, {weakest:g}."
        ]
    return []


def all_ties_problems(*, separated: bool) -> list[str]:
    which = "Every comparison among the items that could be placed" if separated else "Every comparison"
    sentence = (
        f"{which} was a tie: the abilities cannot be told apart, nor can their errors be given; both are NaN, "
        "and the tie parameter is infinite."
    )
    return [sentence]


def _listed(names: Sequence[str], where: Flags) -> str:
    return _shown([names[member] for member in np.flatnonzero(where).tolist()])


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN])
    return shown + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")
