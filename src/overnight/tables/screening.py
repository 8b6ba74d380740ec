"""`screening.parquet`: who moved on to a later phase, who did not, and by which figures."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from overnight.core.screening import After
from overnight.core.stage import StageRules
from overnight.ledger.transaction import View
from overnight.tables.parquet import keep_parquet

SCREENING = "screening"

COLUMNS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "after": pl.String,
    "move_on": pl.String,
    "model": pl.String,
    "item_id": pl.String,
    "measure": pl.String,
    "n": pl.Int64,
    "value": pl.Float64,
    "value_lwr": pl.Float64,
    "value_upr": pl.Float64,
    "rule": pl.String,
    "threshold": pl.Float64,
    "moved_on": pl.Boolean,
    "why": pl.String,
}


class RecordedRules(NamedTuple):
    """A stage on record, and where its items come from."""

    id: int
    name: str
    of: str | None
    after: After | None


def stage_rules(view: View) -> list[RecordedRules]:
    """In the study's order."""
    found = []
    for row in view.stages.everything():
        rules = msgspec.json.decode(row.settings, type=StageRules)
        found.append(RecordedRules(row.id, row.name, rules.of, rules.after))
    return found


def screening_rows(view: View) -> Iterator[tuple[Any, ...]]:
    """One row for each model or item that was decided on."""
    for stage in stage_rules(view):
        after = stage.after
        if after is None or after.rule is None:
            continue
        rule, by_item = after.rule, after.unit == "item"
        for one in view.screening.decisions(stage.id):
            units = (None, one.unit) if by_item else (one.unit, None)
            figures = (one.n, one.value, one.lwr, one.upr)
            decision = (rule.text, rule.threshold, one.moved, one.why)
            yield (stage.name, after.stage, after.move_on, *units, rule.measure, *figures, *decision)


def write_screening(view: View, path: Path) -> None:
    """A run in which no rule has decided anything has no such table."""
    rows = list(screening_rows(view))
    if rows:
        keep_parquet(pl.LazyFrame(rows, schema=COLUMNS, orient="row"), path)
    else:
        path.unlink(missing_ok=True)
