"""The price book: the user's own prices first, the published ones after them."""

from datetime import UTC, date, datetime
from fractions import Fraction
from pathlib import Path

import msgspec

from overnight.core.arguments import checked
from overnight.core.ask import Model
from overnight.prices.catalogue import listed
from overnight.prices.price_file import Entry, find_entry, read_price_file
from overnight.prices.rates import UPPER_BOUND, YOURS, Price, Processing, Rate


class PriceBook:
    """Finds prices as they are on one day: today, unless it is told another."""

    @checked
    def __init__(self, user_file: Path | None = None, today: date | None = None) -> None:
        self._today = today or datetime.now(UTC).date()
        self._file_name = "" if user_file is None else user_file.name
        self._entries = () if user_file is None else read_price_file(user_file)

    @checked
    def price(self, model: Model, processing: Processing) -> Price | None:
        """None: the price is not known."""
        entry = find_entry(self._entries, model)
        if entry is None:
            return listed(model, processing, self._today)
        if processing == "batch" and isinstance(entry.batch, Rate):
            return self._own(entry, model, processing, entry.batch)
        if entry.standard is None:
            return self._adjusted(entry, model, processing)
        if processing == "live" or entry.standard.is_free():
            return self._own(entry, model, processing, entry.standard)
        if isinstance(entry.batch, Fraction):
            return self._own(entry, model, processing, entry.standard.times(entry.batch))
        return self._own(entry, model, processing, entry.standard, UPPER_BOUND)

    def _own(self, entry: Entry, model: Model, processing: Processing, rate: Rate, *notes: str) -> Price:
        return Price(
            provider=model.provider,
            model=model.name,
            processing=processing,
            rate=rate,
            note="; ".join((YOURS, *notes)),
            source=self._file_name,
            entry=entry.pattern,
        )

    def _adjusted(self, entry: Entry, model: Model, processing: Processing) -> Price | None:
        """The published price; the user only knows what part of it a batch costs."""
        standard = listed(model, "live", self._today)
        if standard is None or processing == "live" or not isinstance(entry.batch, Fraction):
            return standard
        return msgspec.structs.replace(
            standard,
            processing="batch",
            rate=standard.rate.times(entry.batch),
            note="; ".join(note for note in (YOURS, standard.note) if note),
            source=f"{standard.source}, {self._file_name}",
            entry=f"{standard.entry}, {entry.pattern}",
        )
