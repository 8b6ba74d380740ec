"""Verdicts and rankings from a table of results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from overnight.tasks import _rankings as rankings
from overnight.tasks import _verdicts as verdicts
from overnight.tasks._judgements import judgements
from overnight.tasks._rankings import write_rankings
from overnight.tasks._verdicts import write_verdicts

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
    assert ranked["scope"].unique().to_list() == ["all"]


def test_several_judges_are_ranked_together_and_apart(tables: Path) -> None:
    _, ranked = written(results({"fair": False, "biased": True}), tables)
    assert ranked["scope"].unique().sort().to_list() == ["all", "model=openai/biased", "model=openai/fair"]
    place = dict(ranked.group_by("scope").agg(pl.col("position").first()).iter_rows())
    assert place["model=openai/biased"] > place["model=openai/fair"]


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
    assert "+eb" in ranked["engine"][0]


def judged(rng: np.random.Generator, *, copies: int = 1, items: int = 12) -> pl.DataFrame:
    """Random pairs in random order, judged once; the verdicts stand under as many templates as there are copies."""
    ability = np.linspace(1.0, -1.0, items)
    first = rng.integers(0, items, 300)
    second = (first + rng.integers(1, items, 300)) % items
    wins = rng.random(300) < 1 / (1 + np.exp(ability[second] - ability[first]))
    frame = pl.DataFrame(
        {"model": "judge", "first_id": first, "second_id": second, "direction": "forward"}
    ).with_columns(
        pl.col("first_id", "second_id").cast(pl.String), verdict=pl.Series(np.where(wins, "first", "second"))
    )
    frame = frame.with_columns(winner_id=pl.when(pl.col("verdict") == "first").then("first_id").otherwise("second_id"))
    whole = pl.concat([frame.with_columns(template=pl.lit(f"t{copy}")) for copy in range(copies)])
    return whole.with_columns(
        pl.lit("compare").alias("stage"), pl.lit("arm").alias("arm"), pl.lit("openai").alias("provider"),
        pl.lit("x").alias("item_id"), pl.lit(None, pl.Float64).alias("confidence"),
        pl.lit(None, pl.String).alias("explanation"), pl.lit("default").alias("thinking"),
        pl.lit(0, pl.Int32).alias("replicate"),
    )  # fmt: skip


def test_the_same_evidence_five_times_is_no_more_evidence(tables: Path) -> None:
    rng = np.random.default_rng(5)
    once = written(judged(rng), tables)[1]
    rng = np.random.default_rng(5)
    five = written(judged(rng, copies=5), tables)[1]
    assert five["scope"].unique().sort().to_list() == [
        "all",
        "template=t0",
        "template=t1",
        "template=t2",
        "template=t3",
        "template=t4",
    ]
    together = five.filter(pl.col("scope") == "all").sort("ID")
    apart = once.sort("ID")
    np.testing.assert_allclose(together["theta"], apart["theta"], atol=1e-6)
    assert (together["se"] / apart["se"]).median() == pytest.approx(1.0, abs=0.15)
    assert together["comparisons"][0] == 5 * apart["comparisons"][0]
    assert together["pairs"][0] == apart["pairs"][0]
    assert together["reliability"][0] == pytest.approx(apart["reliability"][0], abs=0.1)


def test_position_is_fitted_where_random_order_tells_it(tables: Path) -> None:
    frame = judged(np.random.default_rng(6))
    ranked = written(frame, tables)[1]
    assert ranked["position"].is_finite().all()
    # Always the same of two first: being first cannot be told from being better.
    turned = frame.filter(pl.col("first_id").cast(pl.Int64) < pl.col("second_id").cast(pl.Int64))
    assert written(turned, tables)[1]["position"].null_count() == 12


def test_pairs_that_verdicts_chose_are_ranked_with_a_prior(tables: Path) -> None:
    """A coin, and pairs chosen to be close by what it said: likelihood alone claims to know ranks."""
    rng = np.random.default_rng(7)
    frame = judged(rng).with_columns(verdict=pl.Series(np.where(rng.random(300) < 0.5, "first", "second")))
    frame.write_parquet(tables / "results.parquet")
    assert write_verdicts(tables / "results.parquet", tables / "verdicts.parquet")
    assert write_rankings(tables / "verdicts.parquet", tables / "rankings.parquet", adaptive={"compare"})
    ranked = pl.read_parquet(tables / "rankings.parquet")
    assert "+eb" in ranked["engine"][0]
    assert (ranked["rank_lwr"] == 1).all()
    assert (ranked["rank_upr"] == 12).all()
    assert ranked["reliability"][0] < 0.3
    assert (ranked["theta_lwr"] < ranked["theta"]).all()


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
