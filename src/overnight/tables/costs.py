"""`costs.parquet`: the bill by arm. Dollars here, nano-dollars in the ledger; unknown is empty, never zero."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.money import DOLLAR, Balance
from overnight.core.screening import phase_numbers
from overnight.core.wording import number_of
from overnight.ledger.counts import Count
from overnight.ledger.transaction import View
from overnight.prices import dollars
from overnight.tables.bills import BillLine, bill_lines, kept_prices
from overnight.tables.parquet import keep_parquet
from overnight.tables.screening import stage_rules

# What the ledger keeps sums of: the same work for a thousand rows as for a million.
KEPT_COLUMNS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "arm": pl.String,
    "provider": pl.String,
    "model": pl.String,
    "rows": pl.Int64,
    "input_tokens": pl.Int64,
    "cached_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "estimated": pl.Float64,
    "reserved": pl.Float64,
    "settled": pl.Float64,
    "presumed": pl.Float64,
    "price_note": pl.String,
    "price_source": pl.String,
    "phase": pl.Int64,
}
COLUMNS: dict[str, type[pl.DataType]] = {
    **KEPT_COLUMNS,
    "answers": pl.Int64,
    "reasoning_tokens": pl.Int64,
    "saved": pl.Float64,
    "per_answer": pl.Float64,
}


def cost_rows(view: View) -> Iterator[tuple[Any, ...]]:
    """One row for each arm, with what only a look at all of its rows can tell."""
    lines = _by_arm(view)
    for row in kept_cost_rows(view):
        stage, arm, *_ = row
        yield *row, *_beside(lines.get((stage, arm), []))


def kept_cost_rows(view: View) -> Iterator[tuple[Any, ...]]:
    """One row for each arm: what it might have cost, what is still set aside, what it cost, and what it may have."""
    kept = kept_prices(view)
    asked = view.spending.processings()
    balances = view.spending.by_arm()
    ceilings = view.spending.ceilings()
    further = view.spending.unbounded()
    counts = view.counts.by_arm()
    phases = phase_numbers(stage_rules(view))
    for number, arm in sorted(view.stages.arms().items(), key=lambda pair: (pair[1].stage, pair[1].name)):
        told = counts.get(number, Count())
        known = [kept.get((number, processing)) for processing in asked.get(number, ["batch"])]
        used = [price for price in known if price is not None]
        balance = balances.get(number, Balance())
        # Rows that were run without a bill, and of which nobody can say the most that they can have cost.
        unbilled = further.get(number, 0) + (0 if balance.presumed else told.unbilled)
        unbounded = unbilled if len(used) == len(known) else 0
        presumed = None if unbounded else balance.presumed
        money = (
            (None, None, None, None)
            if len(used) < len(known)
            else tuple(map(_dollars, (ceilings.get(number), balance.reserved, balance.settled, presumed)))
        )
        notes = [price.note for price in used] if len(used) == len(known) else ["unknown: no price"]
        if balance.presumed:
            notes.append(f"and {dollars(balance.presumed)} presumed spent")
        if unbounded:
            rows_text = number_of(unbounded, "row")
            notes.append(f"and {rows_text} presumed spent, at a cost that nobody can say without max_tokens")
        note = "; ".join(dict.fromkeys(filter(None, notes)))
        source = "; ".join(dict.fromkeys(price.source for price in used if price.source))
        yield (
            arm.stage, arm.name, arm.model.provider, arm.model.name,
            told.tries, told.input, told.cached, told.output, *money, note, source, phases[arm.stage],
        )  # fmt: skip


def _by_arm(view: View) -> dict[tuple[str, str], list[BillLine]]:
    found: dict[tuple[str, str], list[BillLine]] = {}
    for line in bill_lines(view):
        found.setdefault((line.stage, line.arm), []).append(line)
    return found


def _beside(lines: Sequence[BillLine]) -> tuple[int, int, float | None, float | None]:
    """Answers, tokens of reasoning, what batches saved beside live calls, and what an answer cost."""
    answers, reasoning = sum(line.answers for line in lines), sum(line.reasoning_tokens for line in lines)
    known = [(line.live_cost, line.settled) for line in lines]
    saved = None
    if known and all(live is not None and settled is not None for live, settled in known):
        saved = sum((live or 0) - (settled or 0) for live, settled in known)
    settled = None if any(line.settled is None for line in lines) else sum(line.settled or 0 for line in lines)
    per_answer = None if settled is None or not answers else settled / answers / DOLLAR
    return answers, reasoning, _dollars(saved), per_answer


def _dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / DOLLAR


def write_costs(view: View, path: Path) -> None:
    keep_parquet(pl.LazyFrame(list(cost_rows(view)), schema=COLUMNS, orient="row"), path)
