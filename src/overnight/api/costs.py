"""`costs`: what a run was expected to cost, what is set aside for it, and what it has cost."""

from pathlib import Path

import polars as pl

from overnight.api.places import run_folder
from overnight.core.arguments import checked
from overnight.ledger.ledger import look_at
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.tables.costs import COLUMNS, cost_rows


@checked
def costs(run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> pl.DataFrame:
    """The bill by arm, in US dollars; empty where no price is known."""
    return costs_of(run_folder(run, settings(runs=runs, emulate=emulate)))


def costs_of(folder: RunFolder) -> pl.DataFrame:
    with look_at(folder) as view, view.at_one_moment():
        return pl.DataFrame(list(cost_rows(view)), schema=COLUMNS, orient="row")
