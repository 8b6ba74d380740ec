"""`unjudged.parquet`: answers that no judge was asked about, by candidate and by why."""

from collections import Counter
from collections.abc import Iterator

import polars as pl

from overnight.core.stage import Stage
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.candidates import NO_PARTNER
from overnight.tasks._judging.judging import StatementJudging
from overnight.tasks._judging.written_prompts import NO_PROMPT

UNJUDGED: dict[str, type[pl.DataType]] = {
    "stage": pl.String,
    "model": pl.String,
    "why": pl.String,
    "answers": pl.Int64,
}
_BLANK = pl.col("answer").fill_null("").str.strip_chars() == ""
_NAMED = ("arm", "provider", "model", "template", "thinking")


def unjudged(results: pl.LazyFrame, stage: Stage, task: StatementJudging) -> pl.DataFrame:
    """What folders held that is no answer; of an earlier stage, what was not answered, or is empty or alone.

    And, where each statement is to have a judge prompt of its own, the answers on statements that have none.
    """
    counts = {(model, why): count for model, reasons in task.left_out.items() for why, count in reasons.items()}
    if stage.of is not None:
        prompts = _statements_with_prompt(results, stage, task)
        counts |= Counter(_of_stage(results.filter(pl.col("stage") == stage.of), stage, prompts))
    rows = [(stage.name, model, why, count) for (model, why), count in sorted(counts.items())]
    return pl.DataFrame(rows, schema=UNJUDGED, orient="row")


def _statements_with_prompt(results: pl.LazyFrame, stage: Stage, task: StatementJudging) -> list[str] | None:
    """None where nobody needs one."""
    if stage.beside is None:
        return list(task.prompt_files) if task.by_prompt else None
    usable = (pl.col("status") == "answered") & ~_BLANK
    last = pl.col("turn") == pl.col("turn").max().over("item_id")
    known = results.filter(pl.col("stage") == stage.beside.stage).filter(last & usable).select(_plain("item_id"))
    return known.collect()["item_id"].to_list()


def _plain(column: str) -> pl.Expr:
    """As names of statements are compared: however their letters are put together."""
    return pl.col(column).str.normalize("NFC")


def _of_stage(rows: pl.LazyFrame, stage: Stage, prompts: list[str] | None) -> Iterator[tuple[str, str]]:
    # An input's id is its statement's, an underscore and a number.
    statement = _plain("item_id").str.replace(r"_\d+$", "")
    without = (
        pl.lit(value=False) if prompts is None else ~statement.is_in(pl.Series(prompts, dtype=pl.String).implode())
    )
    why = (
        pl.when(~pl.col("status").is_in(list(stage.take)))
        .then("status")
        .when(_BLANK)
        .then(pl.lit("empty"))
        .when(without)
        .then(pl.lit(NO_PROMPT))
        .alias("why")
    )
    # Without the answers: only whether there is one counts, and all of them would fill the memory.
    # Rows that are still to come are not left out, and do not say yet how they were asked.
    settled = rows.filter(pl.col("status") != "pending")
    told = settled.select(*_NAMED, "item_id", "replicate", "turn", why).collect(engine="streaming")
    told = told.filter(pl.col("turn") == pl.col("turn").max().over("arm", "item_id", "replicate"))
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
