"""Verdicts at the edge: whatever table a user brings becomes one polars frame with known columns.

The model's own form is `object1, object2, result`: 1 when the object shown first won, 0 when the second did,
one half for a tie, null when there was no verdict.
"""

from collections.abc import Sequence
from typing import Any, Final

import polars as pl

from overnight.core.errors import StudyError, nearest
from overnight.rank.columns import UNREADABLE, readable, shallow

_PAIR_COLUMNS: Final = (
    ("ID1", "ID2"),
    ("A_id", "B_id"),
    ("first_id", "second_id"),
    ("object1", "object2"),
    ("model_a", "model_b"),
)
_VERDICT_COLUMN: Final = {"object1": "result", "first_id": "verdict", "model_a": "winner"}  # of other pairs: better_id
_RESULT_OF_WORD: Final = {
    "verdict": {"first": 1.0, "second": 0.0, "tie": 0.5},
    "winner": {"model_a": 1.0, "model_b": 0.0, "tie": 0.5, "tie (bothbad)": 0.5, "both_bad": 0.5},
}
_TIE: Final = 0.5
_SHOWN: Final = 60


class BadVerdicts(StudyError, ValueError):
    """A table of verdicts that cannot be read; the message says which column, what was found and what is wanted."""


def as_frame(data: Any) -> pl.DataFrame:
    """A polars frame from polars (eager or lazy), pandas, a dict of columns or a list of rows."""
    if isinstance(data, pl.DataFrame):
        return data
    if isinstance(data, pl.LazyFrame):
        return data.collect()
    if type(data).__module__.split(".")[0] == "pandas":
        return pl.DataFrame(pl.from_pandas(data))
    try:
        return pl.DataFrame(shallow(data), infer_schema_length=None, strict=False)
    except UNREADABLE as error:
        reason = str(error).partition("\n")[0]
        raise BadVerdicts(f"a table was expected, but {type(data).__name__} cannot be read as one: {reason}") from error


def wrong_choice(setting: str, found: object, choices: Sequence[str]) -> str:
    """One line that says what was given, what can be given, and what was probably meant."""
    return f"{setting} must be one of {', '.join(choices)}; found {_short(found)!r}{_hint(str(found), choices)}"


def missing_column(wanted: str, found: Sequence[str]) -> str:
    """One line that says which column is missing, what there is, and the nearest right name."""
    return f"column {_short(wanted)!r} is missing; found: {_names(found)}{_hint(wanted, found)}"


def _short(found: object) -> str:
    text = str(found)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _names(columns: Sequence[str]) -> str:
    return ", ".join(columns) or "no columns"


def _hint(word: str, known: Sequence[str]) -> str:
    differs_in_case = [name for name in known if name.lower() == word.lower()]
    return nearest(word, known) if not differs_in_case else f"; did you mean '{differs_in_case[0]}'?"


@readable
def require_columns(frame: pl.DataFrame, names: Sequence[str]) -> None:
    for name in names:
        if name not in frame.columns:
            raise BadVerdicts(missing_column(name, frame.columns))


def numeric_column(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column as floats; text that is not a number is an error that shows the first offender."""
    require_columns(frame, [name])
    column = frame.get_column(name)
    if column.dtype == pl.Float64:
        return column
    floats = column.cast(pl.Float64, strict=False)
    lost = floats.is_null() & column.is_not_null()
    if lost.any():
        offender = column.filter(lost).item(0)
        raise BadVerdicts(f"column {name!r} must hold numbers; found {offender!r}")
    return floats


@readable
def build_bt_data(results: Any, keep: Sequence[str] = ()) -> pl.DataFrame:
    """Rows `object1, object2, result` from judged pairs; rows without a readable verdict are left out.

    Understood are `ID1, ID2, better_id` and `A_id, B_id, better_id` (the winner's id), `first_id, second_id` with
    `verdict` (first, second, tie, ...) or `winner_id`, and `model_a, model_b, winner` (model_a, model_b, tie, tie
    (bothbad), or the winner's id). `keep` names further columns to carry along, such as the judge or the prompt.
    """
    frame = as_frame(results)
    require_columns(frame, keep)
    pair = _pair_columns(frame)
    first, second = (_as_names(frame.get_column(name)) for name in pair)
    verdict = verdict_column(frame)
    judged = pl.DataFrame({"object1": first, "object2": second, "result": _results(frame, verdict, first, second)})
    return judged.hstack(frame.select(keep)).filter(pl.col("result").is_not_null())


@readable
def build_elo_data(results: Any) -> pl.DataFrame:
    """Rows `winner, loser` from judged pairs, in the order of the rows; ties and unreadable verdicts are left out."""
    decided = build_bt_data(results).filter(pl.col("result") != _TIE)
    won = pl.col("result") == 1.0
    return decided.select(
        pl.when(won).then("object1").otherwise("object2").alias("winner"),
        pl.when(won).then("object2").otherwise("object1").alias("loser"),
    )


@readable
def verdict_column(frame: pl.DataFrame) -> str:
    """The column that says who won; where there is none, the one to ask for goes with the pair's."""
    first, _ = _pair_columns(frame)
    usual = _VERDICT_COLUMN.get(first, "better_id")
    present = (name for name in ("verdict", "better_id", "winner_id", "result") if name in frame.columns)
    column = usual if usual in frame.columns else next(present, usual)
    require_columns(frame, [column])
    return column


def _pair_columns(frame: pl.DataFrame) -> tuple[str, str]:
    for first, second in _PAIR_COLUMNS:
        if first in frame.columns and second in frame.columns:
            return first, second
    found = {name.lower() for name in frame.columns}
    meant = next((pair for pair in _PAIR_COLUMNS if found & {name.lower() for name in pair}), None)
    if meant is None:
        wanted = ", ".join(" and ".join(pair) for pair in _PAIR_COLUMNS)
        raise BadVerdicts(f"no two columns name the pair; wanted: {wanted}; found: {_names(frame.columns)}")
    require_columns(frame, meant)
    raise AssertionError  # one of the two is missing, or the loop above had returned


def _as_names(column: pl.Series) -> pl.Series:
    """Text, or names that are listed in its type as they are: a million of them are small then."""
    return column if isinstance(column.dtype, pl.Enum) else column.cast(pl.String)


def _results(frame: pl.DataFrame, verdict: str, first: pl.Series, second: pl.Series) -> pl.Series:
    """1, 0.5, 0 or null for each row."""
    if verdict == "result":
        return numeric_column(frame, verdict)
    column, words = frame.get_column(verdict), _RESULT_OF_WORD.get(verdict, {})
    if verdict == "verdict" and isinstance(column.dtype, pl.Enum):
        # Each word once, and no text for each row.
        known = [words.get(word) for word in column.dtype.categories]
        return pl.Series(known, dtype=pl.Float64).gather(column.to_physical())
    texts = column.cast(pl.String)
    by_word = texts.replace_strict(words, default=None, return_dtype=pl.Float64) if words else None
    if by_word is not None and verdict == "verdict":
        return by_word
    sides = pl.DataFrame({"winner": texts, "first": first.cast(pl.String), "second": second.cast(pl.String)})
    won, lost = (pl.col("winner") == pl.col(side) for side in ("first", "second"))
    by_id = sides.select(pl.when(won).then(pl.lit(1.0)).when(lost).then(pl.lit(0.0))).to_series()
    return by_id if by_word is None else by_word.fill_null(by_id)


__all__ = [
    "BadVerdicts",
    "as_frame",
    "build_bt_data",
    "build_elo_data",
    "missing_column",
    "numeric_column",
    "require_columns",
    "verdict_column",
    "wrong_choice",
]
