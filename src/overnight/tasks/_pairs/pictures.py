"""What judges said, and the ranking it comes to, in short."""

from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.analysis.verdict_agreement import EVERYBODY
from overnight.core.wording import number_of
from overnight.tasks._pairs.rankings import EVERYTHING
from overnight.tasks._pairs.verdicts import SUBJECT, WORDS
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line
from overnight.terminal.rank_pictures import item_table, short

FIRST_RANKS = 20
# More judges than fit on a screen are left to the tables.
FIRST_JUDGES = 20
_WHY_LEFT_OUT = {"unparsed": "could not be read", "none": "no answer, or a judge that cannot tell"}


def pictures(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator[RenderableType]:
    """Of a run's tables. `typed` makes a command as the user would type it here."""

    def more(table: str) -> str:
        return typed(f"overnight results {run} --table {table}")

    judges, agreement, rankings = (_read(tables, name) for name in ("bias", "agreement", "rankings"))
    if judges is not None:
        # Among scores of other stages, it has to be said which stage this is.
        alone = judges["stage"].n_unique() == 1 and (tables / "scores.parquet").exists()
        yield f"\n{judges['stage'][0]}:" if alone else ""
        yield _judges(judges.head(FIRST_JUDGES))
        if judges.height > FIRST_JUDGES:
            yield f"... and {judges.height - FIRST_JUDGES:,} more: {more('bias')}"
    if agreement is not None:
        yield from _agreement(agreement, more("agreement"))
    if rankings is not None and judges is not None:
        yield from _rankings(tables, rankings, judges, more("rankings"))
    elif judges is not None:
        yield Text("no ranking: " + (_left_out(judges) or f"too many samples; see {more('rankings')}"), style="yellow")


def _read(tables: Path, name: str) -> pl.DataFrame | None:
    path = tables / f"{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.exists() else None


def _with_subjects(tables: Path) -> set[str]:
    """Stages that compare the same two on several things: there, verdicts on one of these depend on each other."""
    verdicts = pl.scan_parquet(tables / "verdicts.parquet", glob=False)
    if SUBJECT not in verdicts.collect_schema():
        return set()
    return set(verdicts.filter(pl.col(SUBJECT).is_not_null()).select("stage").unique().collect()["stage"])


def _judges(found: pl.DataFrame) -> Table:
    counts = [word for word in WORDS if word in {"first", "second"} or found[word].sum()]
    named = [name for name in ("stage", "template", "thinking") if found[name].n_unique() > 1]
    who = "judge" if not found.select("stage", "judge", "template", "thinking").is_duplicated().any() else "arm"
    both = ("consistent", "sign test") if found["n_pairs"].is_not_null().any() else ()
    table = columns(*named, who, *counts, *both, numbers=(*counts, *both))
    for row in found.iter_rows(named=True):
        told = _told(row) if both else ()
        names = (short(row[name]) for name in (*named, who))
        table.add_row(*names, *(f"{row[word]:,}" for word in counts), *told)
    return table


def _told(row: dict[str, Any]) -> tuple[str, str]:
    if row["n_pairs"] is None:
        return "", ""
    chance = "" if row["p_inconsistent"] is None else f"p={row['p_inconsistent']:.3g}"
    return f"{row['prop_consistent']:.1%} of {row['n_pairs']:,}", chance


def _agreement(found: pl.DataFrame, more: str) -> Iterator[str]:
    for row in found.filter(pl.col("arm_a") == EVERYBODY).iter_rows(named=True):
        if row["kappa"] is None:
            continue
        where = f"{row['stage']}: " if found["stage"].n_unique() > 1 else ""
        span = "" if row["se"] is None else f" ({row['kappa_lwr']:.2f} to {row['kappa_upr']:.2f})"
        told = f"{row['observed']:.1%} of votes on one pair, {row['kappa']:.2f} beyond chance{span}"
        yield f"{where}{row['n_judges']} judges agree in {told}; by two: {more}"


def _stopped(tables: Path, stage: str) -> Iterator[Text]:
    """Of pairs that were chosen in rounds: why no more were."""
    found = _read(tables, "precision")
    rows = None if found is None else found.filter((pl.col("stage") == stage) & pl.col("stopped").is_not_null())
    if rows is not None and rows.height:
        last = rows.row(-1, named=True)
        told = f"{number_of(last['pairs'], 'pair')}, {number_of(last['round'], 'round')}"
        yield Text(f"stopped after {told}: {last['stopped']}")


def _rankings(tables: Path, rankings: pl.DataFrame, judges: pl.DataFrame, more: str) -> Iterator[RenderableType]:
    with_subjects = _with_subjects(tables)
    together = rankings.filter(pl.col("scope") == EVERYTHING)
    for (stage,), ranking in together.group_by("stage", maintain_order=True):
        if together["stage"].n_unique() > 1:
            yield f"\n{stage}:"
        yield ""
        yield item_table(ranking.head(FIRST_RANKS))
        if ranking.height > FIRST_RANKS:
            yield f"... and {ranking.height - FIRST_RANKS:,} more: {more}"
        yield Text(_under(ranking.row(0, named=True), "input" if stage in with_subjects else "pair"))
        left_out = _left_out(judges.filter(pl.col("stage") == stage))
        if left_out:
            yield Text(f"left out: {left_out}")
        yield from _stopped(tables, str(stage))
        if ranking["note"][0]:
            yield Text(f"note: {one_line(ranking['note'][0])}", style="yellow")


def _left_out(judges: pl.DataFrame) -> str:
    """How many verdicts are no part of a ranking, and why."""
    counts = {word: int(judges[word].sum()) for word in _WHY_LEFT_OUT}
    return ", ".join(f"{counts[word]:,} {word} ({why})" for word, why in _WHY_LEFT_OUT.items() if counts[word])


def _position(advantage: float | None, error: float | None) -> str:
    if advantage is None:
        return "the order of pairs does not tell what being shown first does"
    if not isfinite(advantage):
        return "being shown first, or second, decided too often for a number"
    sure = "how sure is not known" if error is None else f"se {error:.2f}"
    # Plus zero: no negative zero.
    return f"advantage of being shown first {round(advantage, 2) + 0.0:+.2f} ({sure})"


def _under(row: dict[str, Any], together: str) -> str:
    """What the ranking rests on. `together`: votes on one of these depend on each other."""
    parts = [f"{number_of(row['comparisons'], 'comparison')} of {number_of(row['pairs'], 'pair')}"]
    if row["reliability"] is not None and isfinite(row["reliability"]):
        parts.append(f"reliability {row['reliability']:.2f}")
    parts.append(_position(row["position"], row["position_se"]))
    if row["comparisons"] > row["pairs"]:
        parts.append(f"errors count votes on one {together} as dependent")
    if "+eb" in row["engine"]:
        parts.append("abilities shrunk by a prior learnt from the verdicts")
    return "; ".join(parts)
