"""`costs`: what runs could have cost, what is set aside for them, and what they have cost; by arm or otherwise."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from overnight.api.places import all_runs, run_folder
from overnight.api.plans.pricing import prices_of_today
from overnight.core.arguments import checked
from overnight.core.errors import OvernightError, StudyError
from overnight.core.money import DOLLAR
from overnight.ledger.ledger import look_at
from overnight.settings import Settings, settings
from overnight.store.run_folder import RunFolder
from overnight.tables.bills import BillLine, bill_lines
from overnight.tables.costs import COLUMNS, cost_rows

By = Literal["run", "provider", "model", "arm", "stage", "day", "processing"]
WAYS: tuple[str, ...] = get_args(By)
_COUNTS = ("rows", "answers", "input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
_MONEY = ("estimated", "reserved", "settled", "presumed")


@checked
def costs(
    run: str | Path | Sequence[str | Path] | None = None,
    *,
    by: By | Sequence[By] = (),
    reprice: bool = False,
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> pl.DataFrame:
    """The bill in US dollars; empty where no price is known. One run by arm; several, or all of them, by run.

    `by` sums it otherwise. `reprice` tells beside it what the same tokens cost at the prices of today; what was settled
    stays as it is. Of several runs, one that cannot be read is a row of its own with its `trouble`.
    """
    place = settings(runs=runs, emulate=emulate)
    ways: tuple[By, ...] = (by,) if isinstance(by, str) else tuple(by)
    if isinstance(run, str | Path):
        folder = run_folder(run, place)
        if not ways and not reprice:
            return costs_of(folder)
        return bill_frame({folder.name: _lines(folder, reprice=reprice)}, {}, ways or ("stage", "arm"), reprice=reprice)
    lines, troubles = _of_each(run, place, reprice=reprice)
    return bill_frame(lines, troubles, ways or ("run",), reprice=reprice)


def costs_of(folder: RunFolder) -> pl.DataFrame:
    """The bill of one run by arm, as its table has it."""
    with look_at(folder) as view, view.at_one_moment():
        return pl.DataFrame(list(cost_rows(view)), schema=COLUMNS, orient="row")


def _of_each(
    named: Sequence[str | Path] | None, place: Settings, *, reprice: bool
) -> tuple[dict[str, list[BillLine]], dict[str, str]]:
    """By run; and why some of them cannot be told. One that is damaged keeps nobody from the others."""
    folders = [run_folder(one, place) for one in named] if named else all_runs(place)
    if not folders:
        raise StudyError(f"no runs in {place.where} yet; `overnight run STUDY` makes one")
    lines: dict[str, list[BillLine]] = {}
    troubles: dict[str, str] = {}
    for folder in folders:
        try:
            lines[folder.name] = _lines(folder, reprice=reprice)
        except OvernightError as error:
            troubles[folder.name] = str(error)
    return lines, troubles


def _lines(folder: RunFolder, *, reprice: bool) -> list[BillLine]:
    with look_at(folder) as view, view.at_one_moment():
        return list(bill_lines(view, prices_of_today(view, folder) if reprice else None))


def bill_frame(
    lines: Mapping[str, Sequence[BillLine]], troubles: Mapping[str, str], ways: Sequence[str], *, reprice: bool
) -> pl.DataFrame:
    """Summed by what `ways` name, in exact nano-dollars, and then told in dollars."""
    groups: dict[tuple[str, ...], list[BillLine]] = {}
    for run, own in lines.items():
        if not own and ways == ("run",):
            groups[(run,)] = []
        for line in own:
            groups.setdefault(tuple(_field(run, line, way) for way in ways), []).append(line)
    rows = [dict(zip(ways, key, strict=True)) | _sums(own, reprice=reprice) for key, own in sorted(groups.items())]
    schema = _schema(ways, reprice=reprice, troubled=bool(troubles))
    for run, trouble in troubles.items():
        rows.append(({"run": run} if "run" in ways else {}) | {"trouble": f"{run}: {trouble}"})
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=schema, orient="row")


def _field(run: str, line: BillLine, way: str) -> str:
    return run if way == "run" else str(getattr(line, way))


def _schema(ways: Sequence[str], *, reprice: bool, troubled: bool) -> dict[str, type[pl.DataType]]:
    money = (*_MONEY, "saved", "per_answer", *(("repriced",) if reprice else ()))
    return {
        **dict.fromkeys(ways, pl.String),
        **dict.fromkeys(_COUNTS, pl.Int64),
        **dict.fromkeys(money, pl.Float64),
        "unpriced": pl.Int64,
        **({"trouble": pl.String} if troubled else {}),
    }


def _sums(lines: Sequence[BillLine], *, reprice: bool) -> dict[str, Any]:
    """Of what has a price; `unpriced` are the rows that have none."""
    priced = [line for line in lines if line.settled is not None]
    counts: dict[str, Any] = {name: sum(getattr(line, name) for line in lines) for name in _COUNTS}
    money = {name: _sum(getattr(line, name) for line in priced) for name in _MONEY}
    money["saved"] = _sum(
        None if line.live_cost is None or line.settled is None else line.live_cost - line.settled for line in priced
    )
    answers = sum(line.answers for line in priced)
    per_answer = None if not answers or money["settled"] is None else money["settled"] / answers
    if reprice:
        money["repriced"] = _sum(line.repriced for line in lines)
    told = {name: None if amount is None else amount / DOLLAR for name, amount in money.items()}
    told["per_answer"] = None if per_answer is None else per_answer / DOLLAR
    return counts | told | {"unpriced": sum(line.rows for line in lines if line.settled is None)}


def _sum(amounts: Iterable[int | None]) -> int | None:
    """None as soon as one is unknown, and where there is nothing to add."""
    known = list(amounts)
    return None if not known or None in known else sum(amount or 0 for amount in known)
