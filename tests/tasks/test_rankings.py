"""Verdicts and rankings from a table of results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from overnight.core.ask import Arm, Model
from overnight.core.stage import Stage
from overnight.tasks._pairs import rankings, verdicts
from overnight.tasks._pairs.pairing import PairPlan
from overnight.tasks._pairs.questions import kind_of
from overnight.tasks._pairs.tables import make_pair_tables

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


def made(frame: pl.DataFrame, tables: Path, *, adaptive: bool = False) -> dict[str, pl.DataFrame]:
    """The tables of one stage."""
    frame.write_parquet(tables / "results.parquet")
    arms = [
        Arm(stage="compare", name=name, template="default", model=Model(provider="openai", name="m"), direction=way)
        for name, way in frame.select("arm", "direction").unique().sort("arm", "direction").iter_rows()
    ]
    task = kind_of(PairPlan(select="adaptive", n=3) if adaptive else PairPlan())(arms)
    found: dict[str, pl.DataFrame] = {}
    for name, part in make_pair_tables(
        tables / "results.parquet", [Stage(name="compare", task=task, arms=tuple(arms))]
    ):
        found[name] = pl.concat([*([found[name]] if name in found else []), part.collect()])
    return found


def written(frame: pl.DataFrame, tables: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    found = made(frame, tables)
    return found["verdicts"], found["rankings"]


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
    ranked = made(frame, tables, adaptive=True)["rankings"]
    assert "+eb" in ranked["engine"][0]
    assert (ranked["rank_lwr"] == 1).all()
    assert (ranked["rank_upr"] == 12).all()
    assert ranked["reliability"][0] < 0.3
    assert (ranked["theta_lwr"] < ranked["theta"]).all()


def test_no_ranking_where_there_is_nothing_to_rank(tables: Path) -> None:
    found = made(results({"fair": False}).with_columns(verdict=pl.lit("unparsed")), tables)
    assert "rankings" not in found
    assert found["verdicts"].height == 9
    assert found["bias"]["unparsed"].to_list() == [9]


def test_a_ranking_that_takes_minutes_is_left_to_its_own_command(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "MOST_RANKED", 2)
    assert "rankings" not in made(results({"fair": False}), tables)


def test_the_same_two_on_several_subjects_vary_by_subject(tables: Path) -> None:
    """Three candidates, all of whose pairs are judged on each subject: errors go by subjects, and more judges add none."""
    rng = np.random.default_rng(8)
    rows = [
        (f"s{subject}", first, second, bool(rng.random() < 1 / (1 + np.exp(0.8 * (int(first) - int(second))))))
        for subject in range(40)
        for first, second in ("12", "13", "23")
    ]
    frame = pl.DataFrame(rows, schema=["subject", "first_id", "second_id", "won"], orient="row").with_columns(
        verdict=pl.when("won").then(pl.lit("first")).otherwise(pl.lit("second")),
        winner_id=pl.when("won").then("first_id").otherwise("second_id"),
    )
    one = results({"fair": False})[:1].drop("subject", "first_id", "second_id", "verdict", "winner_id", strict=False)
    whole = frame.drop("won").join(one, how="cross")
    once = made(whole, tables)["rankings"].sort("ID")
    judges = [whole.with_columns(model=pl.lit(f"judge {number}")) for number in range(4)]
    again = made(pl.concat(judges), tables)["rankings"].filter(pl.col("scope") == "all").sort("ID")
    assert "clustered" in once["engine"][0]
    np.testing.assert_allclose(again["theta"], once["theta"], atol=1e-6)
    np.testing.assert_allclose(again["se"], once["se"], rtol=0.02)
    assert again["reliability"][0] == pytest.approx(once["reliability"][0], abs=0.02)
    assert (
        once["theta_upr"] - once["theta_lwr"] > 2 * 2.02 * once["se"]
    ).all()  # Student's, with 39 degrees of freedom


def test_verdicts_that_cancel_out_have_no_error_rather_than_none_at_all(tables: Path) -> None:
    """One is judged on a single subject, and each time both ways: its error would be nought, and its interval a point."""
    both = [(subject, *pair, pair[0]) for subject in "xyz" for pair in ("ac", "ca")]
    rows = [(subject, first, second, "a") for subject, first, second, _ in both]
    rows += [("x", "a", "b", "b"), ("x", "b", "a", "a"), ("x", "b", "c", "b"), ("x", "c", "b", "c")]
    frame = pl.DataFrame(rows, schema=["subject", "first_id", "second_id", "winner_id"], orient="row")
    verdict = pl.when(pl.col("winner_id") == pl.col("first_id")).then(pl.lit("first")).otherwise(pl.lit("second"))
    rest = results({"fair": False})[:1].drop("first_id", "second_id", "verdict", "winner_id")
    ranking = made(frame.with_columns(verdict=verdict).join(rest, how="cross"), tables)["rankings"]
    by_name = {row["ID"]: row for row in ranking.iter_rows(named=True)}
    assert by_name["b"]["theta"] == pytest.approx(0, abs=1e-9)
    assert [by_name["b"][name] for name in ("se", "theta_lwr", "theta_upr")] == [None] * 3
    assert by_name["a"]["se"] > 0.1
    assert "verdicts cancel out" in by_name["b"]["note"]
