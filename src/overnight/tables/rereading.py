"""Raw answers read again with today's parsers: what they say replaces what was noted when they came."""

import sqlite3
from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from overnight.core.errors import FileDamaged
from overnight.ledger.answers import Correction, correct_results, paths, raw_results
from overnight.ledger.database import Database
from overnight.ledger.identity import arms
from overnight.ledger.money import processing_of, replace_price, set_spent
from overnight.ledger.raw import RawFiles
from overnight.prices import Price
from overnight.prices.charges import cost
from overnight.store.run_folder import RunFolder
from overnight.tables.results import Decode

_CHUNK = 5_000


def reread(
    db: Database, folder: RunFolder, decoders: Mapping[str, Decode], prices: Mapping[tuple[int, str], Price]
) -> int:
    """Decode and price every raw line on record; returns how many results now say something else.

    All of it or nothing: where a line is not what it was, the ledger stays as it is.
    """
    reader = db.reader()

    def fact(con: sqlite3.Connection) -> int:
        changed = 0
        for corrections in _corrections(reader, folder, decoders, prices):
            correct_results(con, corrections)
            changed += len(corrections)
        _reprice(con, prices)
        return changed

    return db.write("reread", fact).result()


def _corrections(
    reader: sqlite3.Connection,
    folder: RunFolder,
    decoders: Mapping[str, Decode],
    prices: Mapping[tuple[int, str], Price],
) -> Iterator[list[Correction]]:
    known = arms(reader)
    with RawFiles(folder, paths(reader)) as raw:
        rows = raw_results(reader)
        while chunk := list(islice(rows, _CHUNK)):
            corrections: list[Correction] = []
            for row in chunk:
                decode = decoders[known[row.arm].model.provider]
                try:
                    result = decode(raw.read(row.file, row.offset, row.length, row.digest).strip()).result
                except FileDamaged:
                    if row.used:
                        raise
                    continue  # asked again since: what was noted of it stays
                if result is None:
                    continue
                today = prices.get((row.arm, processing_of(live=row.live)))
                # Answers taken over from another run were paid there.
                price = cost(today, result.usage) if today is not None and row.cost != 0 else row.cost
                if (result.outcome, result.cause, price) != (row.outcome, row.cause, row.cost):
                    corrections.append(Correction(row.attempt, row.line, result, price))
            yield corrections


def _reprice(db: sqlite3.Connection, prices: Mapping[tuple[int, str], Price]) -> None:
    """Keep today's prices, and count the bill again from the rows."""
    for (arm, processing), price in prices.items():
        replace_price(db, arm, processing, msgspec.json.encode(price).decode())
    set_spent(db)
