"""Verdicts and rankings from a table of results."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from overnight.api import judgements
from overnight.tables import rankings, verdicts
from overnight.tables.rankings import write_rankings
from overnight.tables.verdicts import write_verdicts

ORDER = ["a", "b", "c"]


def results(judges: dict[str, bool], *, noise: bool = True) -> pl.DataFrame:
    """Each judge sees every pair of three in both orders; a biased one always prefers what it sees first."""
    rows = []
    for judge, biased in judges.items():
        for first in ORDER:
            for second in ORDER:
                if first == second:
                    continue
                better = first if biased else max(first, second)
                direction = "forward" if first < second else "reverse"
                verdict = "first" if better == first else "second"
                rows.append((judge, first, second, direction, verdict, better))
        if noise:
            rows.append((judge, "a", "c", "forward", "first", "a"))
            rows.append((judge, "b", "c", "forward", "first", "b"))
            rows.append((judge, "a", "b", "forward", "first", "a"))
    frame = pl.DataFrame(
        rows, schema=["model", "first_id", "second_id", "direction", "verdict", "winner_id"], orient="row"
    )
    return frame.with_columns(
        pl.lit("compare").alias("stage"), pl.lit("arm").alias("arm"), pl.lit("openai").alias("provider"),
        pl.lit("x").alias("item_id"), pl.lit(None, pl.Float64).alias("confidence"),
        pl.lit(None, pl.String).alias("explanation"), pl.lit("default").alias("template"),
        pl.lit("default").alias("thinking"), pl.lit(0, pl.Int32).alias("replicate"),
    )  # fmt: skip


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    return tmp_path


def written(frame: pl.DataFrame, tables: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    frame.write_parquet(tables / "results.parquet")
    assert write_verdicts(tables / "results.parquet", tables / "verdicts.parquet")
    assert write_rankings(tables / "verdicts.parquet", tables / "rankings.parquet")
    return pl.read_parquet(tables / "verdicts.parquet"), pl.read_parquet(tables / "rankings.parquet")


def test_columns_are_those_promised(tables: Path) -> None:
    said, ranked = written(results({"fair": False}), tables)
    assert said.columns == list(verdicts.COLUMNS)
    assert ranked.columns == list(rankings.COLUMNS)
    assert ranked["ID"].to_list() == ["c", "b", "a"]
    assert ranked["judge"].unique().to_list() == ["all"]


def test_several_judges_are_ranked_together_and_apart(tables: Path) -> None:
    _, ranked = written(results({"fair": False, "biased": True}), tables)
    assert ranked["judge"].unique().sort().to_list() == ["all", "openai/biased", "openai/fair"]
    place = dict(ranked.group_by("judge").agg(pl.col("position").first()).iter_rows())
    assert place["openai/biased"] > place["openai/fair"]


def test_open_rows_and_unreadable_ones_are_left_out(tables: Path) -> None:
    frame = results({"fair": False})
    extra = frame[:2].with_columns(verdict=pl.Series([None, "unparsed"], dtype=pl.String))
    said, ranked = written(pl.concat([frame, extra]), tables)
    assert said.height == frame.height + 1
    assert ranked["comparisons"][0] == frame.height


def test_somebody_unbeaten_has_a_finite_ability_and_a_note(tables: Path) -> None:
    _, ranked = written(results({"fair": False}, noise=False), tables)
    assert ranked["theta"].is_finite().all()
    assert "Without the penalty" in ranked["note"][0]
    assert ranked["engine"][0].endswith("+eb")


def test_no_file_where_there_is_nothing_to_rank(tables: Path) -> None:
    (tables / "rankings.parquet").write_bytes(b"of an earlier day")
    frame = results({"fair": False}).with_columns(verdict=pl.lit("unparsed"))
    frame.write_parquet(tables / "results.parquet")
    assert write_verdicts(tables / "results.parquet", tables / "verdicts.parquet")
    assert not write_rankings(tables / "verdicts.parquet", tables / "rankings.parquet")
    assert not (tables / "rankings.parquet").exists()
    frame.drop("verdict").write_parquet(tables / "results.parquet")
    assert not write_verdicts(tables / "results.parquet", tables / "none.parquet")


def test_a_ranking_that_takes_minutes_is_left_to_its_own_command(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "MOST_RANKED", 2)
    results({"fair": False}).write_parquet(tables / "results.parquet")
    assert write_verdicts(tables / "results.parquet", tables / "verdicts.parquet")
    assert not write_rankings(tables / "verdicts.parquet", tables / "rankings.parquet")


def test_judges_in_short(tables: Path) -> None:
    said, _ = written(results({"fair": False, "biased": True}, noise=False), tables)
    fair, biased = judgements(said).iter_rows(named=True)
    assert (fair["judge"], fair["first"], fair["second"], fair["consistent"]) == ("openai/fair", 3, 3, 1.0)
    assert (biased["pairs"], biased["consistent"]) == (3, 0.0)
    assert biased["p_position"] == 0.25
    one_way = judgements(said.filter(pl.col("direction") == "forward"))
    assert one_way["consistent"].null_count() == 2
