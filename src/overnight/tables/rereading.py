"""Raw answers read again with today's parsers: what they say replaces what was noted when they came."""

from collections.abc import Iterator, Mapping
from itertools import islice

import msgspec

from overnight.core.errors import FileDamaged
from overnight.ledger.ledger import Ledger
from overnight.ledger.raw import RawFiles
from overnight.ledger.rows import Correction
from overnight.ledger.spending import processing_of
from overnight.ledger.transaction import Transaction, View
from overnight.prices import Price
from overnight.prices.charges import cost
from overnight.store.contract import Store
from overnight.tables.results import Decode

_CHUNK = 5_000


def reread(
    ledger: Ledger, files: Store, decoders: Mapping[str, Decode], prices: Mapping[tuple[int, str], Price]
) -> int:
    """Decode and price every raw line on record; returns how many results now say something else.

    All of it or nothing: where a line is not what it was, the ledger stays as it is.
    """
    view = ledger.view()

    def fact(tx: Transaction) -> int:
        changed = 0
        for corrections in _corrections(view, files, decoders, prices):
            tx.rows.correct(corrections)
            changed += len(corrections)
        _reprice(tx, prices)
        return changed

    return ledger.write("reread", fact).result()


def _corrections(
    view: View,
    files: Store,
    decoders: Mapping[str, Decode],
    prices: Mapping[tuple[int, str], Price],
) -> Iterator[list[Correction]]:
    known = view.stages.arms()
    with RawFiles(files, view.files.paths()) as raw:
        rows = view.rows.raw_results()
        while chunk := list(islice(rows, _CHUNK)):
            corrections: list[Correction] = []
            for row in chunk:
                decode = decoders[known[row.arm].model.provider]
                try:
                    result = decode(raw.read(row.file, row.offset, row.length, row.digest)).result
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


def _reprice(tx: Transaction, prices: Mapping[tuple[int, str], Price]) -> None:
    """Keep today's prices, and count the bill again from the rows."""
    for (arm, processing), price in prices.items():
        tx.spending.replace_price(arm, processing, msgspec.json.encode(price).decode())
    tx.spending.recount()
    tx.counts.recount()
