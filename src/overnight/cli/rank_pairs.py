"""`rank-pairs`: a ranking from verdicts on pairs, wherever they were made."""

from io import BytesIO
from pathlib import Path
from typing import Annotated, Any

import polars as pl
from rich.table import Table

from overnight.cli.ending import complain_line
from overnight.cli.output import Output
from overnight.core.errors import StudyError
from overnight.core.exit_codes import WRONG_USE
from overnight.rank import (
    PENALTIES,
    BradleyTerryFit,
    build_bt_data,
    fit_bt_model,
    fit_judge_model,
    require_columns,
    summarize_bt_fit,
    verdict_column,
)
from overnight.terminal.parameters import Parameter
from overnight.terminal.rank_pictures import headed, item_table, number, short

_FIRST_ITEMS = 200
_MOST_WORDS = 5
_ROW = "number of the row"

_File = Annotated[Path, Parameter(help="Verdicts as .csv, .tsv, .jsonl or .parquet.")]
_Output = Annotated[
    Path | None, Parameter(alias="-o", help="Write the table to .parquet, .csv, .tsv or .jsonl.", metavar="FILE")
]
_Position = Annotated[bool, Parameter(help="Fit the advantage of being shown first.")]
_Ties = Annotated[str, Parameter(help="davidson, rao-kupper, half or drop; default: davidson.", metavar="HOW")]
_Penalty = Annotated[str, Parameter(help="A number, firth, or eb to learn it; default: 0.", metavar="P")]
_Cluster = Annotated[
    str | None, Parameter(help="Column whose rows depend on each other, such as the prompt.", metavar="COLUMN")
]
_Judge = Annotated[str | None, Parameter(help="Column of judges: weigh each by how well it tells.", metavar="COLUMN")]
_Covariate = Annotated[
    tuple[str, ...], Parameter(help="Column of differences to allow for; repeatable.", metavar="COLUMN")
]
_First = Annotated[str | None, Parameter(help="Column of what was shown first.", metavar="COLUMN")]
_Second = Annotated[str | None, Parameter(help="Column of what was shown second.", metavar="COLUMN")]
_Result = Annotated[str | None, Parameter(help="Column of 1, 0 and 0.5, as seen from the first.", metavar="COLUMN")]
_Winner = Annotated[str | None, Parameter(help="Column of the winner's id instead.", metavar="COLUMN")]
_Json = Annotated[bool, Parameter(help="Print one JSON document instead of text.")]
_Verbose = Annotated[bool, Parameter(alias="-v", help="Say more about the fit.")]
_Quiet = Annotated[bool, Parameter(alias="-q", help="Print the last line only.")]


def rank_pairs(
    file: _File,
    /,
    *,
    output: _Output = None,
    position: _Position = False,
    ties: _Ties = "davidson",
    penalty: _Penalty = "0",
    cluster: _Cluster = None,
    judge: _Judge = None,
    covariate: _Covariate = (),
    first: _First = None,
    second: _Second = None,
    result: _Result = None,
    winner: _Winner = None,
    json: _Json = False,
    verbose: _Verbose = False,
    quiet: _Quiet = False,
) -> int:
    """Rank things from verdicts on pairs of them, made anywhere.

    Columns are found by their names: object1, object2, result; or ID1, ID2, better_id; or first_id, second_id with
    verdict or winner_id; or model_a, model_b, winner. The exit code is 2 when the file or a setting is wrong.

    Examples:
      overnight rank-pairs verdicts.csv
      overnight rank-pairs verdicts.parquet --position --cluster prompt -o ranking.csv
    """
    file = Path(file)
    names = {"first": first, "second": second, "result": result, "winner": winner}
    try:
        bt_data, left_out = read_verdicts(file, names, [name for name in (cluster, judge, *covariate) if name])
        fit, judges = _fit(bt_data, position, ties, penalty, cluster, judge, covariate)
        table = summarize_bt_fit(fit)
        if output is not None:
            _write(table, Path(output))
    except (StudyError, ValueError, OSError, pl.exceptions.PolarsError) as error:
        text = str(error).partition("\n")[0]
        complain_line(text if str(file) in text or str(output) in text else f"{file}: {text}")
        return WRONG_USE
    problems = [*left_out, *fit.problems, *fit.coin_problems]
    if json:
        Output().document(_document(fit, table, judges, problems, file))
        return 0
    shown = Output()
    if not quiet:
        shown.print(*_pictures(fit, table, judges, problems, verbose=verbose))
    shown.print(_last_line(fit, problems, file, output, quiet=quiet))
    return 0


def read_verdicts(file: Path, names: dict[str, str | None], keep: list[str]) -> tuple[pl.DataFrame, list[str]]:
    """Rows `object1, object2, result` of a file, with the columns to keep; and a sentence about rows left out."""
    frame = _renamed(_read(file), names)
    require_columns(frame, keep)
    column = verdict_column(frame)
    frame = frame.with_row_index(_ROW)
    weights = [name for name in ("count", "weight") if name in frame.columns]
    bt_data = build_bt_data(frame, keep=list(dict.fromkeys([_ROW, *keep, *weights])))
    if bt_data.height == frame.height:
        return bt_data.drop(_ROW), []
    unread = frame.join(bt_data.select(_ROW), on=_ROW, how="anti").get_column(column).cast(pl.String)
    words = _counted(unread.fill_null("missing"))
    if bt_data.is_empty():
        raise StudyError(f"no row has a readable verdict; column {column!r} holds {words}")
    sentence = f"{len(unread):,} of {frame.height:,} rows had no readable verdict ({words}) and were left out."
    return bt_data.drop(_ROW), [sentence]


def _counted(words: pl.Series) -> str:
    """The most frequent words, each with how often it occurs."""
    counts = words.value_counts().sort(["count", words.name], descending=[True, False]).rows()
    shown = ", ".join(f"{word} {count:,}" for word, count in counts[:_MOST_WORDS])
    return shown + (f" and {len(counts) - _MOST_WORDS:,} others" if len(counts) > _MOST_WORDS else "")


def _read(file: Path) -> pl.DataFrame:
    if not file.is_file():
        raise StudyError(f"{file}: there is no such file")
    readers: dict[str, Any] = {
        ".csv": lambda: pl.read_csv(file, glob=False, infer_schema_length=None, null_values=["", "NA"]),
        ".tsv": lambda: pl.read_csv(file, glob=False, infer_schema_length=None, null_values=["", "NA"], separator="\t"),
        ".jsonl": lambda: pl.read_ndjson(BytesIO(file.read_bytes()), infer_schema_length=None),
        ".parquet": lambda: pl.read_parquet(file, glob=False),
    }
    read = readers.get(file.suffix.lower())
    if read is None:
        raise StudyError(f"{file}: the name must end in {', '.join(readers)}; found {file.suffix or 'no ending'!r}")
    try:
        frame: pl.DataFrame = read()
    except OSError as error:
        raise StudyError(f"{file}: cannot be read: {error.strerror or error}") from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).partition("\n")[0][:200]
        raise StudyError(f"{file}: cannot be read as {file.suffix[1:]}: {reason}") from error
    return frame


def _renamed(frame: pl.DataFrame, names: dict[str, str | None]) -> pl.DataFrame:
    """Columns that the user named, under the names that are understood."""
    if names["result"] and names["winner"]:
        raise StudyError("--result and --winner both say who won; give one of them")
    if names["first"] and names["first"] == names["second"]:
        raise StudyError(f"--first and --second are both {names['first']!r}; a pair has two columns")
    by_winner = names["winner"] is not None or (names["result"] is None and "result" not in frame.columns)
    known = {"first": "ID1", "second": "ID2", "winner": "better_id"}
    if not by_winner:
        known = {"first": "object1", "second": "object2", "result": "result"}
    given = {name: known[role] for role, name in names.items() if name}
    require_columns(frame, list(given))
    in_the_way = [name for name in given.values() if name in frame.columns and name not in given]
    return frame.drop(in_the_way).rename(given)


def _fit(
    bt_data: pl.DataFrame,
    position: bool,
    ties: str,
    penalty: str,
    cluster: str | None,
    judge: str | None,
    covariates: tuple[str, ...],
) -> tuple[BradleyTerryFit, pl.DataFrame | None]:
    strength: float | str = penalty
    if penalty not in PENALTIES:
        try:
            strength = float(penalty)
        except ValueError:
            raise StudyError(f"--penalty must be a number, firth or eb; found {penalty!r}") from None
    if judge is None:
        fit = fit_bt_model(bt_data, position, ties, strength, cluster, covariates=covariates)
        return fit, None
    if covariates or isinstance(strength, str):
        raise StudyError("--judge goes with neither --covariate nor --penalty firth or eb")
    found = fit_judge_model(bt_data, judge, position, ties, strength, cluster)
    return found.fit, found.judges


def _write(table: pl.DataFrame, output: Path) -> None:
    writers: dict[str, Any] = {
        ".parquet": table.write_parquet,
        ".csv": table.write_csv,
        ".tsv": lambda path: table.write_csv(path, separator="\t"),
        ".jsonl": table.write_ndjson,
    }
    write = writers.get(output.suffix.lower())
    if write is None:
        raise StudyError(f"{output}: the name must end in {', '.join(writers)}; found {output.suffix or 'no ending'!r}")
    write(output)


def _document(
    fit: BradleyTerryFit, table: pl.DataFrame, judges: pl.DataFrame | None, problems: list[str], file: Path
) -> dict[str, Any]:
    document = {
        "file": str(file),
        "engine": fit.engine,
        "n_items": len(fit.items),
        "n_comparisons": fit.n_comparisons,
        "n_clusters": fit.n_clusters,
        "converged": fit.converged,
        "loglik": fit.loglik,
        "deviance": fit.deviance,
        "df_residual": fit.df_residual,
        "penalty": fit.penalty,
        "terms": fit.coefficients.to_dicts(),
        "reliability": fit.reliability,
        "problems": problems,
        "items": table.drop("engine", "reliability").to_dicts(),
    }
    return document if judges is None else document | {"judges": judges.to_dicts()}


def _pictures(
    fit: BradleyTerryFit, table: pl.DataFrame, judges: pl.DataFrame | None, problems: list[str], *, verbose: bool
) -> list[Table | str]:
    shown: list[Table | str] = [item_table(table.head(_FIRST_ITEMS))]
    if table.height > _FIRST_ITEMS:
        shown.append(f"... and {table.height - _FIRST_ITEMS:,} more; -o FILE writes all")
    if judges is not None:
        shown += ["", _judge_table(judges)]
    lines = [*_term_lines(fit), *(_fit_lines(fit) if verbose else []), *(f"! {sentence}" for sentence in problems)]
    return [*shown, "", *lines]


def _last_line(fit: BradleyTerryFit, problems: list[str], file: Path, output: Path | None, *, quiet: bool) -> str:
    counts = f"{file.name}: {len(fit.items):,} items from {fit.n_comparisons:,.10g} comparisons"
    reliability = "" if fit.reliability != fit.reliability else f", reliability {fit.reliability:.2f}"
    said = f"; {len(problems)} things to know" if quiet and problems else ""
    return counts + reliability + said + (f"; wrote {output}" if output else "")


def _judge_table(judges: pl.DataFrame) -> Table:
    names = ("n_verdicts", "tie_share", "position", "discrimination", "discrimination_se", "reliability", "agreement")
    columns = headed(("judge", "left"), *((name.replace("_", " "), "right") for name in names))
    for row in judges.to_dicts():
        numbers = (f"{row['n_verdicts']:,.10g}", *(number(row[name]) for name in names[1:]))
        columns.add_row(short(str(row["judge"])), *numbers)
    return columns


def _term_lines(fit: BradleyTerryFit) -> list[str]:
    meanings = {"position": " (log-odds of being shown first)", "tie": f" ({fit.model.outcomes.name})"}
    return [
        f"{term} {number(estimate)}, se {number(error)}{meanings.get(term, '')}"
        for term, estimate, error in fit.coefficients.rows()
    ]


def _fit_lines(fit: BradleyTerryFit) -> list[str]:
    lines = [
        f"model {fit.engine}; {fit.steps} steps; log-likelihood {fit.loglik:.4f}",
        f"deviance {fit.deviance:.2f} on {fit.df_residual:,} degrees of freedom",
    ]
    return lines if fit.n_clusters is None else [*lines, f"errors allow for {fit.n_clusters:,} clusters"]
