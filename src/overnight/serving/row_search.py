"""Words looked for in every answer of a table, in the order of its rows.

A million answers take a third of a second or more. Whoever asks is shown what was found by then, and is told how far
the search has come; the first page of rows is often there long before the end.
"""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from overnight.serving.row_index import CHUNK, Numbers

_COLUMNS = ("item_id", "answer", "thoughts")
# Several searches take turns: reading uses every core as it is, and each reading takes its memory.
_READING = threading.Lock()


class RowSearch:
    """One search, in a thread of its own. What it has found only grows."""

    def __init__(self, table: Path, words: str, count: int, is_there: Callable[[], bool]) -> None:
        self._table = table
        self._is_there = is_there
        self._pattern = "(?i)" + re.escape(words)
        self._found: list[Numbers] = []
        self._moved = threading.Condition()
        self.count = count
        self.looked = 0
        self.trouble: str | None = None
        threading.Thread(target=self._search, name="row-search", daemon=True).start()

    @property
    def over(self) -> bool:
        return self.looked >= self.count or self.trouble is not None

    def found(self, wanted: int, patience: float) -> Numbers:
        """The rows so far, once there are as many as are wanted, or it is over, or patience is."""
        with self._moved:
            self._moved.wait_for(lambda: self.over or sum(map(len, self._found)) >= wanted, patience)
            return np.concatenate(self._found) if self._found else np.zeros(0, np.int64)

    def _search(self) -> None:
        scan = pl.scan_parquet(self._table, glob=False)
        fits = pl.any_horizontal(pl.col(name).str.contains(self._pattern) for name in _COLUMNS).fill_null(value=False)
        for begin in range(0, self.count, CHUNK):
            try:
                with _READING:
                    rows = scan.slice(begin, CHUNK).select(fits.arg_true()).collect().to_series().to_numpy()
            except (pl.exceptions.PolarsError, OSError) as error:
                rows, self.trouble = np.zeros(0, np.int64), f"the table cannot be read: {error}"[:200]
            if not self._is_there():
                rows, self.trouble = np.zeros(0, np.int64), "the table was made anew meanwhile"
            with self._moved:
                self._found.append(rows.astype(np.int64) + begin)
                self.looked = min(begin + CHUNK, self.count)
                self._moved.notify_all()
            if self.trouble is not None:
                return
