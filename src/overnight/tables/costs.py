"""`costs.parquet`: the bill by arm. Dollars here, nano-dollars in the ledger; unknown is empty, never zero."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.core.money import DOLLAR, Balance
from overnight.ledger.answers import arm_usage
from overnight.ledger.identity import arms
from overnight.ledger.money import arm_balances, first_ceilings, prices
from overnight.prices import Price
from overnight.tables.parquet import write_parquet

COLUMNS: dict[str, type[pl.DataType]] = {
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
    "price_note": pl.String,
}


def cost_rows(db: sqlite3.Connection) -> Iterator[tuple[Any, ...]]:
    """One row for each arm: what it might have cost, what is still set aside, what it cost."""
    kept = {arm: msgspec.json.decode(text, type=Price) for arm, text in prices(db).items()}
    balances = arm_balances(db)
    ceilings = first_ceilings(db)
    usage = arm_usage(db)
    for number, arm in sorted(arms(db).items(), key=lambda pair: (pair[1].stage, pair[1].name)):
        rows, tokens_in, cached, tokens_out = usage.get(number, (0, 0, 0, 0))
        price = kept.get(number)
        balance = balances.get(number, Balance())
        money = (
            (None, None, None)
            if price is None
            else (_dollars(ceilings.get(number)), _dollars(balance.reserved), _dollars(balance.settled))
        )
        note = "unknown: no price" if price is None else price.note
        if balance.presumed:
            note = "; ".join(filter(None, (note, f"and {balance.presumed / DOLLAR:.4f} presumed spent")))
        yield (
            arm.stage, arm.name, arm.model.provider, arm.model.name, rows, tokens_in, cached, tokens_out, *money, note,
        )  # fmt: skip


def _dollars(nano: int | None) -> float | None:
    return None if nano is None else nano / DOLLAR


def write_costs(db: sqlite3.Connection, path: Path) -> int:
    return write_parquet(path, COLUMNS, lambda: cost_rows(db))
