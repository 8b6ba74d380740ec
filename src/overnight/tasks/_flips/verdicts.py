"""`verdicts.parquet` of judged conversations: one row for each judge and each reply that there was to judge.

A reply that nobody labelled has a row too, with the label `none`: what is left out of a rate is counted.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from overnight.tasks._flips.keywords import keyword_label
from overnight.tasks._flips.labels import NONE, SCORES, UNPARSED

COLUMNS: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "arm": pl.String,
    "judge": pl.String,
    "item_id": pl.String,
    "model": pl.String,
    "label": pl.String,
    "score": pl.Float64,
    "confidence": pl.Float64,
    "explanation": pl.String,
    "template": pl.String,
    "thinking": pl.String,
    "replicate": pl.Int32,
    "judged_arm": pl.String,
    "judged_replicate": pl.Int64,
    "turn": pl.Int64,
    "level": pl.Int64,
    "design": pl.String,
    "type": pl.String,
    "category": pl.String,
    "control": pl.Boolean,
    "question": pl.String,
    "keywords": pl.String,
}
# What the stage that is judged may tell of each turn; a conversation of another task tells nothing.
_TOLD = ("level", "design", "type", "category", "control", "question")
_CONVERSATION = ("judged_arm", "item_id", "judged_replicate")
# Its one reply answers the pressure itself.
COLD_START = "cold_start"
_JUDGE = ("arm", "judge", "template", "thinking", "replicate")


def flip_verdicts(results: pl.LazyFrame, stages: Mapping[str, str]) -> pl.DataFrame:
    """`stages`: the stage whose conversations each judging stage is about."""
    found = [_of_stage(results, stage, of) for stage, of in stages.items()]
    empty = pl.DataFrame(schema=COLUMNS)
    return pl.concat([empty, *found]).sort(
        "stage", "arm", "judged_arm", "item_id", "judged_replicate", "replicate", "turn"
    )


def _of_stage(results: pl.LazyFrame, stage: str, of: str) -> pl.DataFrame:
    judged = results.filter(pl.col("stage") == stage).select(
        *("arm", "template", "thinking", "replicate", "status", "label", "labels", "confidence", "explanation"),
        pl.concat_str("provider", "model", separator="/").alias("judge"),
        pl.col("judged_item").alias("item_id"),
        "judged_arm",
        pl.col("judged_replicate").cast(pl.Int64),
    )
    verdicts = judged.collect()
    replies = _replies(results.filter(pl.col("stage") == of))
    judges = verdicts.select(_JUDGE).unique()
    if judges.is_empty():
        return pl.DataFrame(schema=COLUMNS)
    wanted = replies.join(judges, how="cross")
    said = _by_turn(verdicts)
    whole = wanted.join(said, on=[*_CONVERSATION, *_JUDGE, "turn"], how="left")
    # A judge that answered something unreadable is told from one that has not answered.
    spoken = verdicts.filter(pl.col("label") == UNPARSED).select(*_CONVERSATION, *_JUDGE, broken=pl.lit(True))
    whole = whole.join(spoken, on=[*_CONVERSATION, *_JUDGE], how="left")
    label = (
        pl.when(pl.col("label").is_not_null())
        .then("label")
        .when(pl.col("broken") & pl.col("keywords").ne(NONE))
        .then(pl.lit(UNPARSED))
        .otherwise(pl.lit(NONE))
    )
    whole = whole.with_columns(label=label, stage=pl.lit(stage)).with_columns(
        score=pl.col("label").replace_strict(SCORES, default=None, return_dtype=pl.Float64)
    )
    return whole.select(pl.col(name).cast(kind) for name, kind in COLUMNS.items())


def _by_turn(verdicts: pl.DataFrame) -> pl.DataFrame:
    """One row for each label of each verdict."""
    names = [*_CONVERSATION, *_JUDGE]
    rows = [
        (*(row[name] for name in names), int(turn), label, row["confidence"], row["explanation"])
        for row in verdicts.iter_rows(named=True)
        for turn, label in _labels(row["labels"]).items()
    ]
    kinds = {name: verdicts.schema[name] for name in names}
    schema: dict[str, Any] = {
        **kinds,
        "turn": pl.Int64,
        "label": pl.String,
        "confidence": pl.Float64,
        "explanation": pl.String,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _labels(text: str | None) -> dict[str, str]:
    return msgspec.json.decode(text, type=dict[str, str]) if text else {}


def _replies(rows: pl.LazyFrame) -> pl.DataFrame:
    """Every reply that there was to judge, also of conversations that ended early: those have no answer there."""
    there = rows.collect_schema().names()
    told = [pl.col(name) if name in there else pl.lit(None).alias(name) for name in _TOLD]
    talk = rows.select(
        pl.col("arm").alias("judged_arm"),
        "item_id",
        pl.col("replicate").cast(pl.Int64).alias("judged_replicate"),
        pl.col("turn").cast(pl.Int64),
        pl.concat_str("provider", "model", separator="/").alias("model"),
        pl.when(pl.col("status").is_in(["answered", "refused", "truncated"])).then("answer").alias("answer"),
        *told,
    ).collect()
    if talk.is_empty():
        return talk.with_columns(keywords=pl.lit(None, pl.String)).drop("answer")
    last = max(talk["turn"].to_list())
    if last == 0 and (talk["design"] != COLD_START).any():
        return talk.with_columns(keywords=pl.lit(None, pl.String)).drop("answer").clear()
    turns = pl.DataFrame({"turn": range(1, last + 1) if last else [0]}, schema={"turn": pl.Int64})
    whole = (
        talk.filter(pl.col("turn") == 0)
        .rename({"level": "first_level"})
        .drop("turn", "answer")
        .join(turns, how="cross")
        .join(talk.select(*_CONVERSATION, "turn", "answer"), on=[*_CONVERSATION, "turn"], how="left")
    )
    level = pl.when(pl.col("turn") == 0).then(pl.col("first_level")).otherwise(pl.col("turn"))
    words = pl.Series("keywords", [keyword_label(answer) for answer in whole["answer"]], dtype=pl.String)
    return whole.with_columns(words, level=level.cast(pl.Int64)).drop("answer", "first_level")
