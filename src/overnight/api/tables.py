"""`results` and `rebuild`: a run's rows, now or read again from its raw files."""

import atexit
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import polars as pl
import polars.selectors as cs

from overnight.api.on_record import kinds_on_record
from overnight.api.places import run_folder
from overnight.api.plans.pricing import prices_of_today
from overnight.api.tabling import decoders, keep_tables, tables_now
from overnight.core.arguments import checked
from overnight.core.clock import WallClock
from overnight.core.errors import RunBusy, StudyError, UnknownName, nearest
from overnight.core.wording import quoted
from overnight.engine.session import opened
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.study.task_registry import task_kinds
from overnight.tables.rereading import reread
from overnight.tables.screening import SCREENING

WRITERS = (".parquet", ".csv", ".jsonl")
# How a cell begins that a spreadsheet runs instead of showing.
_FORMULA = r"^[=+\-@\t\r]"


@checked
def results(
    run: str | Path,
    *,
    output: str | Path | None = None,
    failed: bool = False,
    stage: str | None = None,
    table: str = "results",
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> pl.DataFrame:
    """The run's rows as far as they are here; `failed` keeps those without an answer and adds why.

    Rows that have not landed yet are pending: it works beside a process that works on the run. `output` also writes
    them. `table` may be another one that a task of the run makes: for instance `verdicts`, what judges said of pairs.
    """
    with open_tables(run, emulate=emulate, runs=runs) as opened_tables, readable_tables():
        found = opened_tables.scan(table, failed=failed, stage=stage).collect()
    if output is not None:
        write_rows(found.lazy(), Path(output))
    return found


@checked
def scan_results(
    run: str | Path,
    *,
    failed: bool = False,
    stage: str | None = None,
    table: str = "results",
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> pl.LazyFrame:
    """The same rows, not read yet: for those who need a few of a million."""
    tables = ExitStack()
    atexit.register(tables.close)  # nobody knows when they are read
    opened_tables = tables.enter_context(open_tables(run, emulate=emulate, runs=runs))
    return opened_tables.scan(table, failed=failed, stage=stage)


@contextmanager
def open_tables(
    run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None
) -> Iterator["OpenTables"]:
    """A run's tables as it stands now, for as long as the block lasts."""
    folder = run_folder(run, settings(runs=runs, emulate=emulate))
    with tables_now(folder) as found:
        yield OpenTables(folder=folder, path=found.path, note=found.note)


class OpenTables(msgspec.Struct, frozen=True, kw_only=True):
    """Tables that can be read."""

    folder: RunFolder
    path: Path
    # Why these are not all that is on record.
    note: str | None = None

    def scan(self, table: str = "results", *, failed: bool = False, stage: str | None = None) -> pl.LazyFrame:
        if failed and table != "results":
            message = f"--failed goes with the table of results, not with {table}"
            raise StudyError(message)
        self._check(table)
        file = self._file(table)
        with readable_tables():
            frame = pl.scan_parquet(file, glob=False)
            frame.collect_schema()
            if stage is not None:
                frame = frame.filter(pl.col("stage") == stage)
                _check_stage(file, stage)
        return _with_reasons(frame.filter(pl.col("status") == "failed"), self.path) if failed else frame

    def _check(self, table: str) -> None:
        """Whether any task makes such a table; if not, those that the run has are listed."""
        known = ("results", SCREENING, *dict.fromkeys(name for kind in task_kinds().values() for name in kind.tables))
        if table not in known:
            there = ", ".join(name for name in known if (self.path / f"{name}.parquet").is_file())
            raise UnknownName(f"--table: no table {quoted(table)}{nearest(table, known)} (there are: {there})")

    def _file(self, table: str) -> Path:
        file = self.path / f"{table}.parquet"
        if file.is_file():
            return file
        if file.exists():
            raise StudyError(f"{file}: this is no file; take it away, then overnight rebuild {self.folder.name}")
        if table == SCREENING:
            raise StudyError(f"run '{self.folder.name}' has no {table}: no stage of it has begun by a rule of `after`")
        kinds = (*kinds_on_record(self.folder), *task_kinds().values())
        maker = next(kind for kind in kinds if table in kind.tables)
        raise StudyError(f"run '{self.folder.name}' has no {maker.missing_table(table, self.path)}")


@contextmanager
def readable_tables() -> Iterator[None]:
    """A table that is damaged is told as such: it can always be made anew."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).partition("\n")[0][:200]
        raise StudyError(
            f"a table of the run cannot be read ({reason}); `overnight rebuild RUN` makes it anew"
        ) from error


def _check_stage(table: Path, stage: str) -> None:
    known = pl.scan_parquet(table, glob=False).select("stage").unique().collect()["stage"].to_list()
    if stage not in known:
        message = (
            f"--stage: no stage {quoted(stage)}{nearest(stage, known) or '; there is ' + ', '.join(sorted(known))}"
        )
        raise StudyError(message)


def _with_reasons(frame: pl.LazyFrame, tables: Path) -> pl.LazyFrame:
    """The provider's own words about each failed row, from its last try."""
    tries = pl.scan_parquet(tables / "attempts.parquet", glob=False)
    last = (
        tries.filter(pl.col("outcome") == "failed")
        .group_by("request_key", maintain_order=True)
        .agg(pl.col("detail").last(), pl.len().alias("tries"))
    )
    return frame.join(last, on="request_key", how="left", maintain_order="left")


def write_rows(frame: pl.LazyFrame, path: Path, *, for_spreadsheets: bool = False) -> None:
    """By the file's ending: Parquet, CSV (UTF-8, one header, nothing for a missing value) or JSON lines.

    `for_spreadsheets` puts an apostrophe before texts of a CSV that a spreadsheet would take for a formula.
    """
    if for_spreadsheets:
        if path.suffix != ".csv":
            message = (
                f"-o {path}: only a .csv file is read by spreadsheets as formulas; leave --safe-for-spreadsheets out"
            )
            raise StudyError(message)
        text = cs.string()
        frame = frame.with_columns(pl.when(text.str.contains(_FORMULA)).then("'" + text).otherwise(text).name.keep())
    if path.suffix not in WRITERS:
        message = f"-o {path}: cannot write '{path.suffix or path.name}'; wanted {', '.join(WRITERS)}"
        raise StudyError(message)
    try:
        if path.suffix == ".parquet":
            frame.sink_parquet(path)
        elif path.suffix == ".csv":
            frame.sink_csv(path)
        else:
            frame.sink_ndjson(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        if path.is_file():
            path.unlink()
        with readable_tables():
            raise
    except OSError as error:
        message = f"-o {path}: cannot write: {error.strerror or error}"
        raise StudyError(message) from error


def write_table_file(frame: pl.DataFrame, path: Path) -> None:
    """A small table, by the file's ending; .json is one list of rows."""
    if path.suffix != ".json":
        write_rows(frame.lazy(), path)
        return
    try:
        path.write_text(frame.write_json() + "\n")
    except OSError as error:
        raise StudyError(f"-o {path}: cannot write: {error.strerror or error}") from error


def export(run: str | Path, path: Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> bool:
    """Write a run in the form of another program, where the file's name asks for one; False where it does not."""
    forms = {ending: write for kind in task_kinds().values() for ending, write in kind.exports.items()}
    wanted = next((write for ending, write in forms.items() if path.name.endswith(ending)), None)
    if wanted is None:
        return False
    with open_tables(run, emulate=emulate, runs=runs) as opened_tables:
        content = wanted(opened_tables.path)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StudyError(f"-o {path}: cannot write: {error.strerror or error}") from error
    return True


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """What came of reading a run's answers again."""

    run: str
    rows: int
    pending: int
    # False where another process works on the run: it makes the tables itself, when its pass ends.
    kept: bool


@checked
def rebuild(run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> int:
    """Read every raw answer again with today's parsers and prices, and make the tables anew: offline, without a key.

    Returns the number of rows. While another process works on the run, what has landed is read, and nothing is changed.
    """
    return rebuilt(run, emulate=emulate, runs=runs).rows


def rebuilt(run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> Rebuilt:
    """The same, with what came of it."""
    place = settings(runs=runs, emulate=emulate)
    folder = run_folder(run, place)
    try:
        with opened(folder, RunFolder(place.root), WallClock()) as session:
            view = session.ledger.view()
            reader = decoders(list(view.stages.arms().values()))
            reread(session.ledger, folder.files, reader, prices_of_today(view, folder))
            keep_tables(session.ledger, folder)
            kept = True
    except RunBusy:
        kept = False
    with tables_now(folder) as found, readable_tables():
        frame = OpenTables(folder=folder, path=found.path).scan()
        counts = frame.select(pl.len(), pending=(pl.col("status") == "pending").sum())
        rows, pending = counts.collect().row(0)
    return Rebuilt(run=folder.name, rows=rows, pending=pending, kept=kept)
