"""Judged pairs as notebooks know them: who was shown where, what came back, who won, and what failed and why."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from overnight.core.errors import FileDamaged
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import RawFiles
from overnight.pairwise._judge import Judge
from overnight.store.run_folder import RunFolder
from overnight.tasks._pairs.answer_form import AnswerForm

RAW: dict[str, type[pl.DataType]] = {
    "custom_id": pl.String,
    "ID1": pl.String,
    "ID2": pl.String,
    "model": pl.String,
    "object_type": pl.String,
    "status_code": pl.Int64,
    "result_type": pl.String,
    "error_message": pl.String,
    "thoughts": pl.String,
    "content": pl.String,
    "better_sample": pl.String,
    "better_id": pl.String,
    "prompt_tokens": pl.Int64,
    "prompt_cached_tokens": pl.Int64,
    "completion_tokens": pl.Int64,
    "reasoning_tokens": pl.Int64,
    "total_tokens": pl.Int64,
}
_KEYS: dict[str, type[pl.DataType]] = {
    "A_id": pl.String,
    "B_id": pl.String,
    "unordered_key": pl.String,
    "ordered_key": pl.String,
    "unordered_occurrence_index": pl.Int64,
    "ordered_occurrence_index": pl.Int64,
    "pair_uid": pl.String,
    "pair_uid_provided": pl.Boolean,
}
_PLACE: dict[str, type[pl.DataType]] = {
    "backend": pl.String,
    "winner_pos": pl.Int64,
    "received_at": pl.String,
    "phase": pl.String,
    "iter": pl.Int64,
}
RESULTS = {"ID1": pl.String, "ID2": pl.String} | _KEYS | RAW | _PLACE
FAILED: dict[str, type[pl.DataType]] = {
    **{name: kind for name, kind in _KEYS.items() if not name.endswith("_index")},
    "backend": pl.String,
    "model": pl.String,
    "status_code": pl.Int64,
    "error_message": pl.String,
    "prompt_tokens": pl.Int64,
    "completion_tokens": pl.Int64,
    "total_tokens": pl.Int64,
    "cost": pl.Float64,
    "error_code": pl.String,
    "error_detail": pl.String,
    "attempted_at": pl.String,
    "phase": pl.String,
    "iter": pl.Int64,
}
_ERROR_CODES = {
    "timeout": "timeout",
    "expired": "timeout",
    "missing": "backend_missing_fields",
    "gone": "backend_missing_fields",
    "unreadable": "backend_missing_fields",
    "content_filter": "backend_missing_fields",
    "max_tokens": "parse_error",
    "invalid_winner": "invalid_winner",
}
SEATS = {"first": ("SAMPLE_1", 1), "second": ("SAMPLE_2", 2)}


class BatchFailure(NamedTuple):
    """How a batch failed as a whole: its status, why, and when."""

    status: str
    detail: str | None
    failed_at: str | None


class Envelope(msgspec.Struct, frozen=True):
    """What a provider's raw line says around the answer."""

    object_type: str | None = None
    status_code: int | None = None
    result_type: str | None = None


def envelope_of(line: bytes) -> Envelope:
    """Of any provider's line; what it does not say is empty."""
    try:
        document = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return Envelope()
    response, result = _inner(document, "response"), _inner(document, "result")
    body = _inner(response, "body") or response
    return Envelope(
        _text(body.get("object") or _inner(result, "message").get("type")),
        response.get("status_code") if isinstance(response.get("status_code"), int) else None,
        _text(result.get("type")),
    )


def _inner(document: Any, name: str) -> Mapping[str, Any]:
    inner = document.get(name) if isinstance(document, Mapping) else None
    return inner if isinstance(inner, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def with_keys(pairs: pl.DataFrame) -> pl.DataFrame:
    """The pairs' ids and keys, and which time a pair comes; a `pair_uid` of one's own is kept."""
    first, second = pl.col("ID1"), pl.col("ID2")
    ordered = pairs.with_columns(
        first.alias("A_id"),
        second.alias("B_id"),
        pl.concat_str(pl.min_horizontal(first, second), pl.max_horizontal(first, second), separator=":").alias(
            "unordered_key"
        ),
        pl.concat_str(first, second, separator=":").alias("ordered_key"),
    )
    # Keys are for reading; pairs are told apart by their ids, whatever characters these have.
    both = (pl.min_horizontal(first, second), pl.max_horizontal(first, second))
    counted = ordered.with_columns(
        pl.int_range(1, pl.len() + 1).over(*both).alias("unordered_occurrence_index"),
        pl.int_range(1, pl.len() + 1).over("ID1", "ID2").alias("ordered_occurrence_index"),
    )
    made = pl.concat_str("unordered_key", "unordered_occurrence_index", separator="#")
    given = pl.col("pair_uid").cast(pl.String) if "pair_uid" in pairs.columns else pl.lit(None, pl.String)
    return counted.with_columns(given.fill_null(made).alias("pair_uid"), given.is_not_null().alias("pair_uid_provided"))


def judged_rows(answers: pl.DataFrame, lines: Iterator[bytes | None], judge: Judge, form: AnswerForm) -> pl.DataFrame:
    """One row for each answer: `answers` have the pairs' keys and the columns of a run's tables beside its raw line."""
    rows = [
        _row(answer, b"" if line is None else line, judge, form)
        for answer, line in zip(answers.iter_rows(named=True), lines, strict=True)
    ]
    extra = {"raw_response": pl.String} if judge.include_raw else {}
    return pl.DataFrame(rows, schema=RESULTS | extra | {"cost": pl.Float64, "cause": pl.String}, orient="row")


def _row(answer: Mapping[str, Any], line: bytes, judge: Judge, form: AnswerForm) -> dict[str, Any]:
    told = envelope_of(line) if line else Envelope()
    verdict = form.read(answer["answer"], structured=False).verdict if answer["status"] == "answered" else "none"
    seat, position = SEATS.get(verdict, (None, None))
    counts = (answer["input_tokens"], answer["output_tokens"])
    return {
        **{name: answer[name] for name in (*_KEYS, "ID1", "ID2", "custom_id", "received_at", "cost", "cause")},
        "model": answer["model"],
        **msgspec.structs.asdict(told),
        "error_message": answer["detail"] if answer["status"] == "failed" else None,
        "thoughts": answer["thoughts"] if judge.include_thoughts else None,
        "content": answer["answer"],
        "better_sample": seat,
        "better_id": None if position is None else answer[f"ID{position}"],
        "prompt_tokens": counts[0],
        "prompt_cached_tokens": answer["cached_tokens"],
        "completion_tokens": counts[1],
        "reasoning_tokens": answer["reasoning_tokens"],
        "total_tokens": None if None in counts else sum(counts),
        "backend": judge.backend,
        "winner_pos": position,
        "raw_response": line.decode(errors="replace").strip() or None if judge.include_raw else None,
    }


def failed_rows(judged: pl.DataFrame) -> pl.DataFrame:
    """Those without a winner, each with a code for the kind of failure and the words that came with it."""
    lost = judged.filter(pl.col("better_id").is_null())
    told = lost.with_columns(
        pl.when(pl.col("content").is_not_null() & pl.col("cause").is_null())
        .then(pl.lit("parse_error"))
        .otherwise(pl.col("cause").replace_strict(_ERROR_CODES, default="http_error"))
        .alias("error_code"),
        pl.coalesce("error_message", "cause", pl.lit("the answer names no sample, or more than one")).alias(
            "error_detail"
        ),
        pl.col("received_at").alias("attempted_at"),
    )
    return told.select(pl.col(name).cast(kind) for name, kind in FAILED.items())


def raw_lines(frame: pl.DataFrame, run: Path) -> Iterator[bytes | None]:
    """The provider's own line of each row, where one came."""
    folder = RunFolder(run)
    with look_at(folder) as view:
        places, names = view.files.line_places(), view.files.paths()
    with RawFiles(folder.files, names) as raw:
        for name, offset in frame.select("raw_file", "raw_offset").iter_rows():
            if name is None or offset is None:
                yield None
                continue
            if (name, offset) not in places:
                message = f"{folder.tables}: a row is said to be in {name}, where none is on record; rebuild the tables"
                raise FileDamaged(message)
            yield raw.read(*places[name, offset])
