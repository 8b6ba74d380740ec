"""Which table of rows is shown of a run: its own, or one that was made while somebody works on it.

A run's tables are written when a pass ends. Until then the records are ahead of them: the last tables are shown, with
a word that says so, and where there are none yet, `overnight results` makes some beside the run, in a process of its
own. These are made anew while the run goes on, though never for more than a small part of the time.
"""

import tempfile
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from overnight.api.tables import readable_tables
from overnight.api.tabling import RESULTS
from overnight.ledger.ledger import look_at
from overnight.serving.arm_comparison import ArmRows, rows_of_arm
from overnight.serving.commands import Commands
from overnight.serving.known_runs import KnownRun, Mark, Stamp, mark_of
from overnight.serving.row_index import RowIndex, index_of
from overnight.serving.row_search import RowSearch

# Tables of a run under way are made again after at least this many seconds, and so many times what making them took.
_SOONEST, _SHARE = 3.0, 10.0
# Indexes of so many tables, and searches in each, are kept.
_MOST_TABLES, _MOST_SEARCHES = 3, 12
_KIND = "rows"


@dataclass(kw_only=True)
class RunTable:
    """A table of rows, and what was found out about it."""

    path: Path
    # Which file it is: another one may have taken its name since.
    mark: Mark
    count: int
    # Why it does not show all that is on record.
    note: str | None = None
    _index: RowIndex | None = None
    _searches: "OrderedDict[str, RowSearch]" = field(default_factory=OrderedDict)
    _arms: dict[tuple[str, str], ArmRows] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def index(self) -> RowIndex:
        with self._lock:
            if self._index is None:
                with readable_tables():
                    self._index = index_of(self.path)
            return self._index

    def arm(self, stage: str, arm: str) -> ArmRows:
        """The rows of an arm; what is found out about them is kept with the table."""
        return self._arms.setdefault((stage, arm), rows_of_arm(self.path, self.index, stage, arm))

    def is_there(self) -> bool:
        """Whether what was read so far was of this table: a new one may be put in its place at any time."""
        return mark_of(self.path) == self.mark

    def search(self, words: str) -> RowSearch:
        with self._lock:
            known = self._searches.pop(words, None) or RowSearch(self.path, words, self.count, self.is_there)
            self._searches[words] = known
            if len(self._searches) > _MOST_SEARCHES:
                self._searches.popitem(last=False)
            return known


@dataclass
class _Partial:
    """Rows of a run under way: the file, what the records were when it was begun, and how long it took."""

    path: Path
    stamp: Stamp
    begun: float
    took: float | None = None


class RunTables:
    """The tables of runs that are looked at."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._kept: OrderedDict[tuple[str, Mark], RunTable] = OrderedDict()
        self._partial: dict[str, _Partial] = {}
        self._lock = threading.Lock()
        self._scratch = tempfile.TemporaryDirectory(prefix="overnight-", ignore_cleanup_errors=True)

    def close(self) -> None:
        self._scratch.cleanup()

    def of(self, run: KnownRun) -> RunTable | None:
        """None while there is none yet."""
        own = run.folder.tables_to_read() / RESULTS
        with look_at(run.folder) as view:
            current = view.facts.tables_made()
        if current and own.is_file():
            return self._opened(own, None)
        with self._lock:
            made = self._made_beside(run)
        if made is not None:
            return self._opened(made, None)
        if own.is_file():
            return self._opened(own, "These are the rows of an earlier pass; newer ones are being read.")
        return None

    def _made_beside(self, run: KnownRun) -> Path | None:
        """Rows as far as they are here, from a file that is made anew when it is old and the run has moved."""
        now = time.monotonic()
        partial = self._partial.get(run.name)
        path = Path(self._scratch.name) / f"{len(self._partial)}-rows.parquet"
        if partial is not None:
            path = partial.path
            command = self._commands.latest(run.name, _KIND)
            ended = command is not None and command.exit_code is not None
            if partial.took is None and ended:
                partial.took = now - partial.begun
                if _next(path).is_file():
                    _next(path).replace(path)
        if partial is None or _is_old(partial, run.stamp, now):
            self._partial[run.name] = _Partial(path, run.stamp, now)
            self._commands.start(run.name, _KIND, "results", "-o", _next(path), "-q")
        return path if path.is_file() else None

    def _opened(self, path: Path, note: str | None) -> RunTable:
        mark = mark_of(path)
        key = (str(path), mark)
        with self._lock:
            table = self._kept.pop(key, None)
            if table is None:
                with readable_tables():
                    count = int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
                table = RunTable(path=path, mark=mark, count=count)
            self._kept[key] = table
            if len(self._kept) > _MOST_TABLES:
                self._kept.popitem(last=False)
        table.note = note
        return table


def _next(path: Path) -> Path:
    return path.with_name(f"next-{path.name}")


def _is_old(partial: _Partial, stamp: Stamp, now: float) -> bool:
    if partial.took is None or partial.stamp == stamp:
        return False
    return now - partial.begun > max(_SOONEST, _SHARE * partial.took)
