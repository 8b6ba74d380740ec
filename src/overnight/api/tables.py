"""`results` and `rebuild`: a run's rows, now or read again from its raw files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import polars.selectors as cs

from overnight.api.on_record import kinds_on_record
from overnight.api.places import run_folder
from overnight.api.pricing import prices_of_today
from overnight.api.tabling import decoders, write_tables
from overnight.core.arguments import checked
from overnight.core.clock import WallClock
from overnight.core.errors import StudyError, UnknownName, nearest
from overnight.core.wording import quoted
from overnight.engine.session import opened
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.study.task_registry import task_kinds
from overnight.tables.rereading import reread

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
    """The run's rows; `failed` keeps those without an answer and adds why. `output` also writes them.

    `table` may be another one that a task of the run makes: for instance `verdicts`, what judges said of pairs.
    """
    frame = scan_results(run, failed=failed, stage=stage, table=table, emulate=emulate, runs=runs)
    with readable_tables():
        found = frame.collect()
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
    folder = run_folder(run, settings(runs=runs, emulate=emulate))
    if failed and table != "results":
        message = f"--failed goes with the table of results, not with {table}"
        raise StudyError(message)
    _check_table(table)
    file = _table_file(folder, table)
    with readable_tables():
        frame = pl.scan_parquet(file, glob=False)
        frame.collect_schema()
        if stage is not None:
            frame = frame.filter(pl.col("stage") == stage)
            _check_stage(file, stage)
    return _with_reasons(frame.filter(pl.col("status") == "failed"), folder) if failed else frame


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


def _check_table(table: str) -> None:
    known = ("results", *dict.fromkeys(name for kind in task_kinds().values() for name in kind.tables))
    if table not in known:
        raise UnknownName(f"--table: no table {quoted(table)}{nearest(table, known)} (there are: {', '.join(known)})")


def _table_file(folder: RunFolder, table: str) -> Path:
    file = folder.tables / f"{table}.parquet"
    if file.is_file():
        return file
    if file.exists():
        raise StudyError(f"{file}: this is no file; take it away, then overnight rebuild {folder.name}")
    on_record = kinds_on_record(folder)
    unmade = [kind for kind in on_record if not any((folder.tables / f"{own}.parquet").exists() for own in kind.tables)]
    if not (folder.tables / "results.parquet").exists():
        message = f"run '{folder.name}' has no tables yet: overnight rebuild {folder.name}"
    elif any(table in kind.tables for kind in unmade):
        message = f"run '{folder.name}' has no {table} yet: overnight rebuild {folder.name}"
    else:
        kinds = (*on_record, *task_kinds().values())
        maker = next(kind for kind in kinds if table in kind.tables)
        message = f"run '{folder.name}' has no {maker.missing_table(table, folder.tables)}"
    raise StudyError(message)


def _check_stage(table: Path, stage: str) -> None:
    known = pl.scan_parquet(table, glob=False).select("stage").unique().collect()["stage"].to_list()
    if stage not in known:
        message = f"--stage: no stage '{stage}'{nearest(stage, known) or '; there is ' + ', '.join(sorted(known))}"
        raise StudyError(message)


def _with_reasons(frame: pl.LazyFrame, folder: RunFolder) -> pl.LazyFrame:
    """The provider's own words about each failed row, from its last try."""
    tries = pl.scan_parquet(folder.tables / "attempts.parquet", glob=False)
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
    except OSError as error:
        message = f"-o {path}: cannot write: {error.strerror or error}"
        raise StudyError(message) from error


def export(run: str | Path, path: Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> bool:
    """Write a run in the form of another program, where the file's name asks for one; False where it does not."""
    forms = {ending: write for kind in task_kinds().values() for ending, write in kind.exports.items()}
    wanted = next((write for ending, write in forms.items() if path.name.endswith(ending)), None)
    if wanted is None:
        return False
    folder = run_folder(run, settings(runs=runs, emulate=emulate))
    _table_file(folder, "results")
    content = wanted(folder.tables)
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StudyError(f"-o {path}: cannot write: {error.strerror or error}") from error
    return True


@checked
def rebuild(run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> int:
    """Read every raw answer again with today's parsers and prices, and make the tables anew: offline, without a key."""
    place = settings(runs=runs, emulate=emulate)
    folder = run_folder(run, place)
    with opened(folder, RunFolder(place.root), WallClock()) as session:
        view = session.ledger.view()
        reread(session.ledger, folder.files, decoders(list(view.stages.arms().values())), prices_of_today(view, folder))
        return write_tables(view, folder)
