"""How well candidates keep to a specification, in short: each one's score with its interval, and what was left out."""

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
from rich.console import RenderableType
from rich.table import Table

from overnight.tasks._judging.form import COMPLIANT, NOT_COMPLIANT
from overnight.tasks._judging.tables import EVERYBODY, EVERYTHING
from overnight.tasks._unjudged_answers import not_judged
from overnight.terminal.columns import columns
from overnight.terminal.rank_pictures import short

FIRST = 20


def pictures(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator[RenderableType]:
    """Of a run's tables. `typed` makes a command as the user would type it here."""

    def more(table: str) -> str:
        return typed(f"overnight results {run} --table {table}")

    scores, agreement = (_read(tables, name) for name in ("scores", "judge_agreement"))
    if scores is not None:
        for (stage,), part in scores.filter(pl.col("scope") == EVERYTHING).group_by("stage", maintain_order=True):
            yield f"\n{stage}:"
            yield _scores(part.filter(pl.col("judge") == EVERYBODY), shares=_are_shares(tables, str(stage)))
        yield f"errors count rows of one statement as dependent; by section, type, statement, judge: {more('scores')}"
    if agreement is not None:
        yield from _agreement(agreement, more("judge_agreement"))
    yield from not_judged(tables, more("unjudged"))


def _read(tables: Path, name: str) -> pl.DataFrame | None:
    path = tables / f"{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.exists() else None


def _are_shares(tables: Path, stage: str) -> bool:
    """Whether a stage says yes or no, or gives grades."""
    verdicts = pl.scan_parquet(tables / "verdicts.parquet", glob=False).filter(pl.col("stage") == stage)
    return bool(verdicts.select(pl.col("label").is_in([COMPLIANT, NOT_COMPLIANT]).any()).collect().item())


def _scores(found: pl.DataFrame, *, shares: bool) -> Table:
    beside = [word for word in ("unparsed", "missing") if found[word].sum()]
    table = columns("model", "score", "95%", "verdicts", *beside, numbers=("score", "verdicts", *beside))
    for row in found.sort("score", descending=True, nulls_last=True).head(FIRST).iter_rows(named=True):
        score = "" if row["score"] is None else f"{row['score']:.1%}" if shares else f"{row['score']:.2f}"
        ends = (row["score_lwr"], row["score_upr"])
        span = "" if None in ends else " to ".join(f"{end:.1%}" if shares else f"{end:.2f}" for end in ends)
        table.add_row(short(row["model"]), score, span, f"{row['n']:,}", *(f"{row[word]:,}" for word in beside))
    return table


def _agreement(found: pl.DataFrame, more: str) -> Iterator[str]:
    for row in found.filter(pl.col("judge_a") == EVERYBODY).iter_rows(named=True):
        if row["alpha"] is None:
            continue
        span = "" if row["alpha_lwr"] is None else f" ({row['alpha_lwr']:.2f} to {row['alpha_upr']:.2f})"
        told = f"judges agree on {row['n_items']:,} questions with alpha {row['alpha']:.2f}{span}"
        yield f"{row['stage']}: {told}; by two: {more}"
