"""Sentences about judged pairs say what the numbers beside them say: also that no difference can be told."""

from __future__ import annotations

from pathlib import Path
from random import Random

import polars as pl
import pytest

from overnight.core.ask import Arm, Model
from overnight.core.stage import Stage
from overnight.reporting import Figure, Intervals, Matrix, Reading, Section, Sentence, Source
from overnight.tasks._pairs.judge_report import agreement_text, place_text, with_chances
from overnight.tasks._pairs.report import pair_report, position_text, ranking_finding
from overnight.tasks._pairs.tables import make_pair_tables
from overnight.tasks._pairs.to_read import split_pairs
from overnight.tasks._pairs.verdicts import read_verdicts
from overnight.tasks.compare import Compare

JUDGES = ("gpt-9", "claude-9")


def test_the_best_is_named_only_where_no_other_could_be() -> None:
    alone = [{"ID": "A", "rank_lwr": 1}, {"ID": "B", "rank_lwr": 2}, {"ID": "C", "rank_lwr": 2}]
    assert ranking_finding(alone).startswith("A is the best of 3: no other could be first")
    two = [alone[0], {"ID": "B", "rank_lwr": 1}, alone[2]]
    assert "2 of 3 could be the best, and no difference can be told between these: A and B" in ranking_finding(two)
    nobody = [{"ID": name, "rank_lwr": 1} for name in "ABC"]
    assert ranking_finding(nobody).startswith("No difference can be told between the 3 items")
    assert "cannot be told" in ranking_finding([{"ID": "A", "rank_lwr": None}, {"ID": "B", "rank_lwr": None}])


@pytest.mark.parametrize(
    ("effect", "error", "said"),
    [
        (
            0.8,
            0.1,
            "The place matters: the one shown first wins 69.0% of verdicts on two equals (64.7 to 73.0%), so being shown first helps.",
        ),
        (-0.8, 0.1, "so being shown second helps."),
        (0.1, 0.1, "No effect of the place can be told"),
        (None, None, "Whether the place decides cannot be told"),
        (float("nan"), 0.1, "Whether the place decides cannot be told"),
    ],
)
def test_what_the_place_does(effect: float | None, error: float | None, said: str) -> None:
    assert said in position_text({"position": effect, "position_se": error})


def bias(arm: str, first: int, second: int, p: float | None) -> dict:
    return {
        "arm": arm, "n_inconsistent_pos1_bias": first, "n_inconsistent_pos2_bias": second, "p_inconsistent": p,
    }  # fmt: skip


def test_judges_that_the_place_sways_are_tested_together() -> None:
    labels = {"a": "A", "b": "B"}
    swayed = place_text(with_chances([bias("a", 20, 2, 0.0001), bias("b", 6, 4, 0.75)]), labels)
    assert (
        swayed
        == "The place sways A towards the first (20 of 22, p < 0.001), on the pairs whose winner changed with the order."
    )
    # Each of them alone would pass; two tests at once do not.
    neither = place_text(with_chances([bias("a", 9, 2, 0.04), bias("b", 6, 4, 0.75)]), labels)
    assert neither.startswith("That the place sways a judge cannot be told (2 exact sign tests")
    assert "nothing is known" in place_text(with_chances([bias("a", 0, 0, None)]), labels)


def test_agreement_goes_by_its_interval() -> None:
    row = {"n_judges": 2, "n_pairs": 60, "observed": 0.6, "kappa": 0.2, "kappa_lwr": 0.1, "kappa_upr": 0.3}
    assert (
        agreement_text(row) == "2 judges say the same in 60.0% of votes on one pair, 0.20 beyond chance (0.10 to 0.30)."
    )
    assert agreement_text(row | {"kappa_lwr": -0.1}).startswith("No agreement beyond chance can be told")
    assert "contradict each other" in agreement_text(row | {"kappa": -0.2, "kappa_lwr": -0.3, "kappa_upr": -0.1})
    assert "cannot be told" in agreement_text(row | {"kappa": None})
    # Five pairs on which all say the same are no proof, whatever a formula makes of them.
    few = row | {"n_pairs": 5, "observed": 1.0, "kappa": 1.0, "kappa_lwr": 0.99, "kappa_upr": 1.0}
    assert "how sure that is cannot be told" in agreement_text(few)
    assert agreement_text(few | {"n_pairs": 40}) == "2 judges say the same in every vote on each of 40 pairs."


def planted(folder: Path, abilities: list[float], place: float, seed: int = 1) -> Source:
    """The tables of a comparison in both orders by two judges, as if its truth were known."""
    draw = Random(seed)
    arms = tuple(
        Arm(
            stage="pairs", name=f"default__openai__{judge}__default__{direction}", template="default",
            model=Model(provider="openai", name=judge), direction=direction,
        )
        for judge in JUDGES
        for direction in ("forward", "reverse")
    )  # fmt: skip
    names = [f"essay {number}" for number in range(len(abilities))]
    rows = []
    for arm in arms:
        for low in range(len(names)):
            for high in range(low + 1, len(names)):
                first, second = (low, high) if arm.direction == "forward" else (high, low)
                odds = 2.718281828 ** (abilities[first] - abilities[second] + place)
                verdict = "first" if draw.random() < odds / (1 + odds) else "second"
                winner = names[first if verdict == "first" else second]
                rows.append(
                    (
                        arm.name,
                        arm.model.name,
                        f"{low}|{high}",
                        names[first],
                        names[second],
                        arm.direction,
                        verdict,
                        winner,
                    )
                )
    schema = ["arm", "model", "item_id", "first_id", "second_id", "direction", "verdict", "winner_id"]
    frame = pl.DataFrame(rows, schema=schema, orient="row").with_columns(
        stage=pl.lit("pairs"), provider=pl.lit("openai"), template=pl.lit("default"), thinking=pl.lit("default"),
        replicate=pl.lit(0, pl.Int32), confidence=pl.lit(None, pl.Float64), explanation=pl.lit("<b>because</b>"),
    )  # fmt: skip
    frame.write_parquet(folder / "results.parquet")
    stage = Stage(name="pairs", task=Compare(arms), arms=arms)
    made: dict[str, list[pl.LazyFrame]] = {}
    for name, table in make_pair_tables(folder / "results.parquet", [stage]):
        made.setdefault(name, []).append(table)
    for name, tables in made.items():
        pl.concat(tables).collect().write_parquet(folder / f"{name}.parquet")
    return Source(tables=folder, stages=[stage], item=lambda stage, item: {"text": f"the text of {item}"})


def sections(source: Source) -> dict[str, Section]:
    return {
        one.title: one
        for one in pair_report(
            source, lambda stage, _, names: [(name, str(source.item(stage.name, name)["text"])) for name in names]
        )
    }


def finding(section: Section) -> str:
    return next(part.text for part in section.parts if isinstance(part, Sentence) and part.kind == "finding")


def test_a_planted_order_is_found_and_its_figures_hold_it(tmp_path: Path) -> None:
    found = sections(planted(tmp_path, [3.5] + [0.0] * 15, place=0.8))
    assert finding(found["Ranking"]).startswith("essay 0 is the best of 16")
    figure = next(part for part in found["Ranking"].parts if isinstance(part, Figure))
    assert isinstance(figure.drawing, Intervals)
    assert figure.drawing.rows[0].label == "essay 0"
    assert figure.drawing.rows[0].note == "rank 1"
    assert [row.value for row in figure.drawing.rows] == figure.numbers.columns["theta"]
    assert any("The place matters" in part.text for part in found["Ranking"].parts if isinstance(part, Sentence))
    (wins,) = found["Who beats whom"].parts
    assert isinstance(wins, Figure)
    assert isinstance(wins.drawing, Matrix)
    shares = wins.drawing.shares
    assert all(share is not None and share >= 0.5 for share in shares[0][1:])
    assert all(
        shares[row][column] + shares[column][row] == pytest.approx(1)
        for row in range(16)
        for column in range(16)
        if row != column
    )
    assert {"Does the order matter", "Do judges agree", "Pairs to read"} <= set(found)


def test_where_nothing_is_planted_nothing_is_found(tmp_path: Path) -> None:
    found = sections(planted(tmp_path, [0.0] * 8, place=0.0))
    assert finding(found["Ranking"]).startswith("No difference can be told between the 8 items")
    said = [part.text for section in found.values() for part in section.parts if isinstance(part, Sentence)]
    assert any("No effect of the place can be told" in text for text in said)
    assert any("That the place sways a judge cannot be told" in text for text in said)


def test_pairs_to_read_are_the_divided_ones_with_both_texts(tmp_path: Path) -> None:
    source = planted(tmp_path, [0.0] * 6, place=0.0)
    divided = split_pairs(read_verdicts(tmp_path / "results.parquet", "pairs"))
    readings = [part for part in sections(source)["Pairs to read"].parts if isinstance(part, Reading)]
    assert 0 < len(readings) == min(12, divided.height)
    low, high = divided.row(0)[:2]
    assert [text for _, text in readings[0].texts] == [f"the text of {low}", f"the text of {high}"]
    assert len(readings[0].notes) == 4
    assert all("<b>because</b>" in note for note in readings[0].notes)
    leads = (divided["low_wins"] - divided["high_wins"]).abs().to_list()
    assert leads == sorted(leads)


def test_many_items_are_put_together_by_tenths(tmp_path: Path) -> None:
    (wins,) = sections(planted(tmp_path, [number / 5 for number in range(25)], place=0.0))["Who beats whom"].parts
    assert isinstance(wins, Figure)
    assert isinstance(wins.drawing, Matrix)
    assert len(wins.drawing.labels) == 10
    assert wins.drawing.shares[0][9] > 0.9
