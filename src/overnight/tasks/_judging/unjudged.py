"""`unjudged.parquet`: answers that no judge was asked about, by candidate and by why."""

from collections import Counter

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
        counts |= _of_stage(results.filter(pl.col("stage") == stage.of), stage, prompts)
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


def _of_stage(rows: pl.LazyFrame, stage: Stage, prompts: list[str] | None) -> Counter[tuple[str, str]]:
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
    # Rows that are still to come are not left out, and do not say yet how they were asked.
    settled = rows.filter(pl.col("status") != "pending")
    arms = settled.select(_NAMED).unique().collect(engine="streaming").sort("arm")
    names = [candidate_name(row) for row in arms.to_dicts()]
    # Counted as rows go by, with a number for each arm: texts of all rows would fill the memory.
    number = pl.col("arm").cast(pl.Enum(arms["arm"])).to_physical().alias("arm")
    told = _last_turns(settled).select(number, "item_id", "replicate", why)
    counts: Counter[tuple[str, str]] = Counter()
    for arm, reason, times in told.drop_nulls("why").group_by("arm", "why").len().collect(engine="streaming").rows():
        counts[names[arm], reason] += times
    if stage.group:
        usable = told.filter(pl.col("why").is_null()).group_by("item_id", "replicate")
        alone = usable.agg(pl.col("arm").max(), usable=pl.len()).filter(pl.col("usable") == 1)
        for arm, times in alone.group_by("arm").len().collect(engine="streaming").rows():
            counts[names[arm], NO_PARTNER] += times
    return counts


def _last_turns(settled: pl.LazyFrame) -> pl.LazyFrame:
    """Of each conversation, its last row; where there is one turn only, all rows are."""
    first, last = settled.select(pl.col("turn").min(), pl.col("turn").max().alias("last")).collect().row(0)
    if first == last:
        return settled
    return settled.filter(pl.col("turn") == pl.col("turn").max().over("arm", "item_id", "replicate"))
