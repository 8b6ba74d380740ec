"""Words looked for in every answer of a table, in the order of its rows.

A million answers take a third of a second or more. Whoever asks is shown what was found by then, and is told how far
the search has come; the first page of rows is often there long before the end.
"""

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from overnight.serving.row_index import CHUNK, Numbers

_COLUMNS = ("item_id", "answer", "thoughts")
# Several searches take turns: reading uses every core as it is, and each reading takes its memory.
_READING = threading.Lock()


class Finds(NamedTuple):
    """What a search has found at one moment, and how far it had come then: later it may be further."""

    rows: Numbers
    looked: int
    over: bool
    trouble: str | None


class RowSearch:
    """One search, in a thread of its own. What it has found only grows."""

    def __init__(self, table: Path, words: str, count: int, is_there: Callable[[], bool]) -> None:
        self._table = table
        self._is_there = is_there
        self._pattern = "(?i)" + re.escape(words)
        self._found: list[Numbers] = []
        self._moved = threading.Condition()
        self._count = count
        self._looked = 0
        self._trouble: str | None = None
        threading.Thread(target=self._search, name="row-search", daemon=True).start()

    @property
    def _over(self) -> bool:
        return self._looked >= self._count or self._trouble is not None

    def found(self, wanted: int, patience: float) -> "Finds":
        """What is found so far, once there is as much as is wanted, or it is over, or patience is."""
        with self._moved:
            self._moved.wait_for(lambda: self._over or sum(map(len, self._found)) >= wanted, patience)
            rows = np.concatenate(self._found) if self._found else np.zeros(0, np.int64)
            return Finds(rows, self._looked, self._over, self._trouble)

    def _search(self) -> None:
        scan = pl.scan_parquet(self._table, glob=False)
        fits = pl.any_horizontal(pl.col(name).str.contains(self._pattern) for name in _COLUMNS).fill_null(value=False)
        for begin in range(0, self._count, CHUNK):
            trouble = None
            try:
                with _READING:
                    rows = scan.slice(begin, CHUNK).select(fits.arg_true()).collect().to_series().to_numpy()
            except (pl.exceptions.PolarsError, OSError) as error:
                rows, trouble = np.zeros(0, np.int64), f"the table cannot be read: {error}"[:200]
            if not self._is_there():
                rows, trouble = np.zeros(0, np.int64), "the table was made anew meanwhile"
            with self._moved:
                self._found.append(rows.astype(np.int64) + begin)
                self._looked, self._trouble = min(begin + CHUNK, self._count), trouble
                self._moved.notify_all()
            if trouble is not None:
                return
