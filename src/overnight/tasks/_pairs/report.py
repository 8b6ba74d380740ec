"""What judged pairs come to, for a run's report: the ranking, who beats whom, and whether the judges can be trusted."""

from collections.abc import Iterator, Mapping, Sequence
from math import exp, isfinite
from pathlib import Path
from typing import Any

import polars as pl

from overnight.core.names import short_models
from overnight.core.wording import number_of
from overnight.reporting import Figure, Interval, Intervals, Matrix, Part, Section, Sentence, Source, Table
from overnight.reporting.wording import known, listed, number_text, percent_text, span_text
from overnight.tasks._pairs.judge_report import judge_sections
from overnight.tasks._pairs.rankings import EVERYTHING, READABLE
from overnight.tasks._pairs.round_report import round_sections
from overnight.tasks._pairs.tables import PAIR_TABLES
from overnight.tasks._pairs.to_read import TextsOf, pairs_to_read
from overnight.tasks._pairs.verdicts import read_verdicts

# More than these are put together by tenths of the ranking: a square of a hundred names is no picture.
MOST_IN_MATRIX = 20
_TENTHS = 10
_SURE = 1.959964
# What a specification's statements are parted by; other scopes are of the judging.
_PARTS = ("section", "authority", "type")


def pair_report(source: Source, texts_of: TextsOf | None = None, those: str = "items") -> Iterator[Section]:
    """For each stage; a stage without a verdict has none, and without texts there are no pairs to read.

    `those` is what is ranked, in one word.
    """
    # Not the verdicts as they were written down, with all their texts: they are many.
    tables = {name: _read(source.tables, name) for name in (*PAIR_TABLES, "precision") if name != "verdicts"}
    for stage in source.stages if (source.tables / "verdicts.parquet").is_file() else ():
        own = {name: _of_stage(table, stage.name) for name, table in tables.items()}
        verdicts = read_verdicts(source.tables / "results.parquet", stage.name)
        if verdicts.is_empty():
            continue
        named = f": {stage.name}" if len(source.stages) > 1 else ""
        ranking = own["rankings"]
        if ranking is not None and ranking.height:
            together = ranking.filter(pl.col("scope") == EVERYTHING)
            yield Section(title=f"Ranking{named}", parts=list(_ranking(together, ranking, stage.name, those)))
            yield from _who_beats_whom(verdicts, together, named, stage.name)
        else:
            yield Section(title=f"Ranking{named}", parts=[Sentence(_no_ranking(verdicts), "finding")])
        yield from round_sections(own["precision"], named, stage.name)
        yield from judge_sections(stage, own, named)
        if texts_of is not None:
            yield from pairs_to_read(verdicts, source.tables / "verdicts.parquet", stage, texts_of, named)


def _read(tables: Path, name: str) -> pl.DataFrame | None:
    path = tables / f"{name}.parquet"
    return pl.read_parquet(path, glob=False) if path.is_file() else None


def _of_stage(table: pl.DataFrame | None, stage: str) -> pl.DataFrame | None:
    return None if table is None else table.filter(pl.col("stage") == stage)


def _no_ranking(verdicts: pl.DataFrame) -> str:
    read = verdicts.filter(pl.col("verdict").is_in(READABLE)).height
    if not read:
        return f"Nothing can be ranked: none of {number_of(verdicts.height, 'verdict')} could be read."
    return f"{number_of(read, 'verdict')} could be read; there are too many items for a ranking in the report."


# --- the ranking


def _ranking(together: pl.DataFrame, every: pl.DataFrame, stage: str, those: str) -> Iterator[Part]:
    rows = together.to_dicts()
    yield Sentence(ranking_finding(rows, those), "finding")
    yield Sentence(position_text(rows[0]))
    columns = ("ID", "rank", "rank_lwr", "rank_upr", "theta", "se", "theta_lwr", "theta_upr")
    yield Figure(
        name=f"ranking-{stage}",
        title="Which are better?",
        caption="Ability in log-odds with its 95% interval; 0.4 more means six wins of ten. Ranks at the end of a line "
        f"hold for all {those} at once: compare two of them by these, and not by whether their intervals overlap.",
        drawing=Intervals(
            rows=[Interval(row["ID"], row["theta"], row["theta_lwr"], row["theta_upr"], _ranks(row)) for row in rows],
            axis="ability, log-odds (95% interval)",
            reference=0.0,
        ),
        numbers=Table.of(together.select(columns)),
    )
    yield Sentence(_rests_on(rows[0]), "note")
    if rows[0]["note"]:
        yield Sentence(f"Note: {rows[0]['note']}", "note")
    of_part = pl.col("scope").str.extract(r"^([^=]*)=").is_in(_PARTS)
    scopes = every.filter((pl.col("scope") != EVERYTHING) & ~of_part)
    if scopes.height:
        yield Table.of(_by_scope(together, scopes), title="Ranks by part of the judging")
    for part in _PARTS:
        own = every.filter(pl.col("scope").str.starts_with(f"{part}="))
        if own.height:
            yield _part_figure(own, part, stage)


def _part_figure(ranking: pl.DataFrame, part: str, stage: str) -> Figure:
    """The order on each section, type or level of authority by itself."""
    short = short_models(ranking["ID"])
    values = ranking["scope"].str.strip_prefix(f"{part}=")
    rows = ranking.with_columns(values.alias("part")).sort("part", "rank", "ID", maintain_order=True)
    columns = ("part", "ID", "rank", "rank_lwr", "rank_upr", "theta", "se", "theta_lwr", "theta_upr")
    return Figure(
        name=f"ranking-by-{part}-{stage}",
        title=f"Which are better, by {part}?",
        caption=f"Ability in log-odds on the statements of one {part} alone, with its 95% interval. The ranks at the "
        f"end of a line hold for all candidates of that {part} at once, but not for every {part} at once.",
        drawing=Intervals(
            rows=[
                Interval(
                    f"{row['part']}: {short[row['ID']]}", row["theta"], row["theta_lwr"], row["theta_upr"], _ranks(row)
                )
                for row in rows.iter_rows(named=True)
            ],
            axis="ability, log-odds (95% interval)",
            reference=0.0,
        ),
        numbers=Table.of(rows.select(columns)),
    )


def ranking_finding(rows: Sequence[Mapping[str, Any]], those: str = "items") -> str:
    """Who could be the best. Ranks come from the intervals of all differences, so that words on them hold together."""
    n = len(rows)
    ranked = [row for row in rows if row["rank_lwr"] is not None]
    if len(ranked) < 2:
        return f"{number_of(n, those[:-1], those)} were compared; how sure their order is cannot be told."
    best = [row["ID"] for row in ranked if row["rank_lwr"] == 1]
    if len(best) == 1:
        return f"{best[0]} is the best of {n:,}: no other could be first (95% confidence for all ranks at once)."
    if len(best) == len(ranked):
        return f"No difference can be told between the {n:,} {those} (95% confidence for all at once)."
    return (
        f"{len(best):,} of {n:,} could be the best, and no difference can be told between these: {listed(best)} "
        "(95% confidence for all ranks at once)."
    )


def position_text(row: Mapping[str, Any]) -> str:
    """What being shown first does to two equals, from the ranking's own estimate."""
    effect, error = row["position"], row["position_se"]
    if not (known(effect) and known(error)):
        return "Whether the place decides cannot be told: no pair tells being shown first from being better."
    low, high = effect - _SURE * error, effect + _SURE * error
    span = span_text(_share(low), _share(high), percent=True)
    share = f"{percent_text(_share(effect))} of verdicts on two equals ({span})"
    if low <= 0 <= high:
        return f"No effect of the place can be told: the one shown first wins {share}."
    place = "first" if effect > 0 else "second"
    return (
        f"The place matters: the one shown first wins {share}, so being shown {place} helps. The ranking allows for it."
    )


def _share(log_odds: float) -> float:
    return 1 / (1 + exp(-log_odds))


def _ranks(row: Mapping[str, Any]) -> str:
    if row["rank_lwr"] is None:
        return "rank ?"
    low, high = row["rank_lwr"], row["rank_upr"]
    return f"rank {low}" if low == high else f"rank {low}\u2013{high}"


def _rests_on(row: Mapping[str, Any]) -> str:
    parts = [f"It rests on {number_of(row['comparisons'], 'readable verdict')} on {number_of(row['pairs'], 'pair')}"]
    if row["comparisons"] > row["pairs"]:
        parts.append("votes on one pair are counted as dependent")
    if known(row["reliability"]):
        parts.append(f"reliability {number_text(row['reliability'])}")
    if "+eb" in row["engine"]:
        parts.append("abilities are shrunk by a prior learnt from the verdicts")
    return "; ".join(parts) + "."


def _by_scope(together: pl.DataFrame, scopes: pl.DataFrame) -> pl.DataFrame:
    ranks = pl.format("{} ({}\u2013{})", pl.col("rank"), pl.col("rank_lwr"), pl.col("rank_upr"))
    wide = scopes.with_columns(place=pl.coalesce(ranks, pl.col("rank").cast(pl.String))).pivot(
        on="scope", index="ID", values="place", maintain_order=True
    )
    return together.select("ID", together=pl.coalesce(ranks, pl.col("rank").cast(pl.String))).join(
        wide, on="ID", how="left", maintain_order="left"
    )


# --- who beats whom


def _who_beats_whom(verdicts: pl.DataFrame, ranking: pl.DataFrame, named: str, stage: str) -> Iterator[Section]:
    ordered = [row["ID"] for row in ranking.to_dicts() if row["theta"] is not None and isfinite(row["theta"])]
    if len(ordered) < 2:
        return
    if len(ordered) <= MOST_IN_MATRIX:
        labels, places = ordered, {name: place for place, name in enumerate(ordered)}
        caption = "Of 100 readable verdicts, how many the row wins against the column, by its number; ties count half."
    else:
        groups = min(_TENTHS, len(ordered))
        places = {name: at * groups // len(ordered) for at, name in enumerate(ordered)}
        sizes = [sum(place == group for place in places.values()) for group in range(groups)]
        labels = [f"tenth {group + 1} ({size} items)" for group, size in enumerate(sizes)]
        caption = (
            "Items by tenths of the ranking, the best first: of 100 readable verdicts, how many those of the row win "
            "against those of the column. The same verdicts made the ranking, so that it looks tidier than it is."
        )
    wins, votes = _wins(verdicts, places, len(labels))
    shares = [
        [wins[row][column] / votes[row][column] if votes[row][column] else None for column in range(len(labels))]
        for row in range(len(labels))
    ]
    for place in range(len(labels)):
        shares[place][place] = None
    pairs = [(row, column) for row in range(len(labels)) for column in range(len(labels)) if row != column]
    numbers = Table(
        columns={
            "row": [labels[row] for row, _ in pairs],
            "column": [labels[column] for _, column in pairs],
            "share": [shares[row][column] for row, column in pairs],
            "verdicts": [votes[row][column] for row, column in pairs],
        },
        forms={"share": "percent"},
    )
    drawing = Matrix(labels=labels, shares=shares)
    figure = Figure(name=f"wins-{stage}", title="Who beats whom?", caption=caption, drawing=drawing, numbers=numbers)
    yield Section(title=f"Who beats whom{named}", parts=[figure])


def _wins(verdicts: pl.DataFrame, places: Mapping[str, int], size: int) -> tuple[list[list[float]], list[list[int]]]:
    read = verdicts.filter(pl.col("verdict").is_in(READABLE))
    read = read.filter(pl.col("first_id").is_in(list(places)) & pl.col("second_id").is_in(list(places)))
    found = read.select(
        pl.col("first_id").replace_strict(places, return_dtype=pl.Int64).alias("first"),
        pl.col("second_id").replace_strict(places, return_dtype=pl.Int64).alias("second"),
        "verdict",
    )
    wins = [[0.0] * size for _ in range(size)]
    votes = [[0] * size for _ in range(size)]
    for first, second, verdict, count in found.group_by("first", "second", "verdict").len().sort(pl.all()).iter_rows():
        share = {"first": 1.0, "second": 0.0, "tie": 0.5}[verdict]
        wins[first][second] += share * count
        wins[second][first] += (1 - share) * count
        votes[first][second] += count
        votes[second][first] += count
    return wins, votes
