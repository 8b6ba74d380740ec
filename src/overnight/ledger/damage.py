"""Answers that cannot be read back: which questions they settled."""

import sqlite3

from overnight.core.errors import FileDamaged
from overnight.ledger.answers import paths
from overnight.ledger.raw import RawFiles
from overnight.store.run_folder import RunFolder


def damaged_asks(db: sqlite3.Connection, folder: RunFolder) -> list[int]:
    """Settled questions whose raw lines are not those on record."""
    rows = db.execute(
        "SELECT settled.ask, result.file, result.offset, result.length, result.digest FROM settled "
        "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
        "WHERE result.file IS NOT NULL ORDER BY result.file, result.offset"
    )
    found = []
    with RawFiles(folder, paths(db)) as raw:
        for ask, *place in rows:
            try:
                raw.read(*place)
            except FileDamaged:
                found.append(int(ask))
    return found


def handed_on_asks(db: sqlite3.Connection, asks: list[int]) -> int:
    """How many of these questions' answers have been given to later turns or stages."""
    query = (
        "SELECT 1 FROM passed_on JOIN slot ON slot.id=passed_on.slot WHERE slot.ask=? AND passed_on.asks > 0 LIMIT 1"
    )
    return sum(db.execute(query, (ask,)).fetchone() is not None for ask in asks)
