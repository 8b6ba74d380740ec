"""`team`: the budget over all runs of a database, and what each of them has taken of it."""

from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.core.money import DOLLAR
from overnight.ledger.team import TeamBudget, set_team_budget, team_budget
from overnight.settings import settings

_MOST = 10**9


class Team(NamedTuple):
    """In US dollars. `committed` is what runs have cost and may still cost, by run and in all."""

    budget: float | None
    committed: float
    runs: dict[str, float]


@checked
def team(*, budget: float | None = None, no_budget: bool = False, runs: str | Path | None = None) -> Team:
    """The team's budget; set to so many dollars, or taken away, where that is said."""
    place = settings(runs=runs, emulate=False)
    if place.database is None:
        raise StudyError(
            f"--runs: {place.where} is a folder; a team's budget is kept with its runs in postgresql://HOST/DATABASE"
        )
    if budget is not None and no_budget:
        raise StudyError("--budget and --no-budget: wanted one of them")
    if budget is not None and not 0 <= budget <= _MOST:
        raise StudyError(f"--budget: {budget:g} is not a number of US dollars from 0 to {_MOST:,}")
    if budget is None and not no_budget:
        return _dollars(team_budget(place.database))
    amount = None if budget is None else int(Decimal(str(budget)) * DOLLAR)
    return _dollars(set_team_budget(place.database, amount))


def _dollars(found: TeamBudget) -> Team:
    return Team(
        None if found.budget is None else found.budget / DOLLAR,
        found.committed / DOLLAR,
        {one.run: one.committed / DOLLAR for one in found.runs},
    )
