"""`unjudged.parquet`: answers that no judge was asked about, by candidate and by why."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from overnight.core.stage import Stage
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.candidates import NO_PARTNER
from overnight.tasks._judging.judging import LeftOut

UNJUDGED: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "model": pl.String,
    "why": pl.String,
    "answers": pl.Int64,
}
_NAMED = ("arm", "provider", "model", "template", "thinking")


def unjudged(results: pl.LazyFrame, stage: Stage, left_out: LeftOut) -> pl.DataFrame:
    """What folders held that is no answer; of an earlier stage, what was not answered, or is empty or alone."""
    counts = {(model, why): count for model, reasons in left_out.items() for why, count in reasons.items()}
    if stage.of is not None:
        counts |= Counter(_of_stage(results.filter(pl.col("stage") == stage.of), stage))
    rows = [(stage.name, model, why, count) for (model, why), count in sorted(counts.items())]
    return pl.DataFrame(rows, schema=UNJUDGED, orient="row")


def _of_stage(rows: pl.LazyFrame, stage: Stage) -> Iterator[tuple[str, str]]:
    blank = pl.col("answer").fill_null("").str.strip_chars() == ""
    why = (
        pl.when(~pl.col("status").is_in(list(stage.take))).then("status").when(blank).then(pl.lit("empty")).alias("why")
    )
    last = rows.filter(pl.col("turn") == pl.col("turn").max().over("arm", "item_id", "replicate"))
    told = last.select(*_NAMED, "item_id", "replicate", why).collect()
    names = {
        tuple(row): candidate_name(dict(zip(_NAMED, row, strict=True))) for row in told.select(_NAMED).unique().rows()
    }
    usable = pl.col("why").is_null().sum().over("item_id", "replicate")
    alone = (
        told.with_columns(usable=usable).filter(pl.col("why").is_null() & (pl.col("usable") == 1))
        if stage.group
        else told.clear()
    )
    for row in told.drop_nulls("why").iter_rows(named=True):
        yield names[tuple(row[name] for name in _NAMED)], row["why"]
    for row in alone.iter_rows(named=True):
        yield names[tuple(row[name] for name in _NAMED)], NO_PARTNER
