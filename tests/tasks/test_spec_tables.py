"""The tables that are published: each figure from rows that can be counted by hand."""

import random

import polars as pl
import pytest

from overnight.core.ask import Arm, Model
from overnight.core.stage import Stage
from overnight.tasks._judging.answer_pairs import Rank
from overnight.tasks._judging.judging import Comply, Grade
from overnight.tasks._judging.tables import read_judged
from overnight.tasks._judging.unjudged import unjudged
from overnight.tasks._specs.tables import (
    JUDGED_TABLES,
    RANK_TABLES,
    judged_summary,
    make_judged_tables,
    make_rank_tables,
    missing_judged_table,
    missing_rank_table,
)

JUDGES = ("openai/j1", "anthropic/j2")


def common(stage, judge, item, answer="x", status="answered"):
    provider, model = judge.split("/")
    return {
        "stage": stage,
        "arm": f"default__{provider}__{model}__default__forward",
        "item_id": item,
        "replicate": 0,
        "turn": 0,
        "provider": provider,
        "model": model,
        "status": status,
        "answer": answer,
        "template": "default",
        "thinking": "default",
    }


def told(statement, index):
    return {
        "statement_id": statement,
        "section": f"S{statement[-1]}",
        "statement_type": "guideline",
        "authority_level": "user",
        "input_index": index,
        "confidence": None,
        "explanation": "",
    }


def judged(judge, candidate, statement, index, score, stage="compliance"):
    label = score if isinstance(score, str) else {1: "compliant", 0: "not compliant"}[score]
    return {
        **common(stage, judge, f"{statement}_{index}@{candidate}"),
        **told(statement, index),
        "candidate": candidate,
        "label": label,
        "score": None if isinstance(score, str) else float(score),
        "judged_length": 10 + index,
    }


def written(tmp_path, rows):
    path = tmp_path / "results.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    return path


def a_stage(task, name="compliance", **rules):
    arms = [
        Arm(
            stage=name,
            name=f"default__{judge.replace('/', '__')}__default__{direction}",
            template="default",
            model=Model(provider=judge.split("/")[0], name=judge.split("/")[1]),
            direction=direction,
        )
        for judge in JUDGES
        for direction in ("forward", "reverse")
    ]
    return Stage(name=name, task=task, arms=tuple(arms), **rules)


def collected(tables):
    found = {}
    for name, frame in tables:
        found.setdefault(name, []).append(frame.collect())
    return {name: pl.concat(frames, how="diagonal_relaxed") for name, frames in found.items()}


@pytest.fixture
def compliance(tmp_path):
    rows = []
    for judge in JUDGES:
        for statement in ("s1", "s2", "s3"):
            for index in range(4):
                rows.append(judged(judge, "openai/a", statement, index, int(statement != "s3")))
                rows.append(judged(judge, "anthropic/b", statement, index, int(judge != "openai/j1")))
    # What could not be read, and what was not answered, are no verdicts.
    rows.append(judged("openai/j1", "openai/a", "s1", 4, "unparsed"))
    rows.append(judged("openai/j1", "openai/a", "s1", 5, "none"))
    answers = [
        {**common("answers", "openai/a", "s1_0"), "template": "input", "arm": "input__openai__a__default__forward"},
        {
            **common("answers", "openai/a", "s1_7", None, "failed"),
            "template": "input",
            "arm": "input__openai__a__default__forward",
        },
        {
            **common("answers", "anthropic/b", "s1_8", " "),
            "template": "input",
            "arm": "input__anthropic__b__default__forward",
        },
    ]
    rows += [{**rows[0], **dict.fromkeys(("label", "score", "candidate")), **row} for row in answers]
    stage = a_stage(Comply([], left_out={"openai/a": {"error": 2}}), of="answers")
    return collected(make_judged_tables(written(tmp_path, rows), [stage]))


def test_statistics_are_made_of_names_that_are_kept_once(tmp_path):
    rows = [judged(judge, "openai/a", "s1", index, 1) for judge in JUDGES for index in range(3)]
    found = read_judged(written(tmp_path, [*rows, judged(JUDGES[0], "openai/a", "s1", 3, "none")]), "compliance")
    assert found.height == len(rows) + 1
    assert {name for name, kind in found.schema.items() if kind == pl.String} == set()
    assert found["input"].to_list()[:3] == ["s1_0", "s1_1", "s1_2"]
    assert found["label"].dtype.categories.to_list() == ["compliant", "none", "unparsed"]


def test_what_was_not_read_is_counted_and_is_no_verdict(compliance):
    assert set(compliance) == set(JUDGED_TABLES)
    scores = compliance["scores"].filter((pl.col("scope") == "all") & (pl.col("judge") == "all"))
    by_model = {row["model"]: row for row in scores.iter_rows(named=True)}
    first = by_model["openai/a"]
    assert (first["n"], first["unparsed"], first["missing"], first["n_clusters"]) == (24, 1, 1, 3)
    assert first["score"] == pytest.approx(16 / 24)
    # Three statements say as much as three rows, not as 24.
    assert first["score_upr"] - first["score_lwr"] > 0.8
    assert by_model["anthropic/b"]["score"] == 0.5
    assert compliance["verdicts"].height == 50


def test_scores_of_each_part(compliance):
    scopes = compliance["scores"]["scope"].unique().sort().to_list()
    assert scopes == ["all", "section=S1", "section=S2", "section=S3", "statement=s1", "statement=s2", "statement=s3"]
    part = compliance["scores"].filter((pl.col("scope") == "section=S3") & (pl.col("model") == "openai/a"))
    assert part.filter(pl.col("judge") == "all")["score"].to_list() == [0.0]


def test_judges_that_differ_are_told(compliance):
    everybody, pair = compliance["judge_agreement"].iter_rows(named=True)
    assert (everybody["judge_a"], everybody["n_items"], everybody["n_left_out"]) == ("all", 24, 0)
    # They agree on all of a, and on none of b.
    assert pair["match"] == 0.5
    assert pair["kappa"] < 0.5


def test_a_judge_that_favours_its_own_family_is_told(compliance):
    bias = {(row["judge"], row["model"]): row for row in compliance["judge_bias"].iter_rows(named=True)}
    own = bias["anthropic/j2", "anthropic/b"]
    assert (own["is_self"], own["delta"]) == (True, 1.0)
    assert bias["anthropic/j2", "openai/a"]["delta"] == 0.0
    assert own["excess"] == 1.0


def test_what_was_not_judged_is_counted_by_why(compliance):
    assert compliance["unjudged"].rows() == [
        ("compliance", "anthropic/b", "empty", 1),
        ("compliance", "openai/a", "error", 2),
        ("compliance", "openai/a", "failed", 1),
    ]


def test_grades_are_means(tmp_path):
    rows = [
        judged(judge, "openai/a", f"s{n}", 0, "x") | {"label": str(n), "score": float(n)}
        for judge in JUDGES
        for n in (1, 3, 5)
    ]
    found = collected(make_judged_tables(written(tmp_path, rows), [a_stage(Grade([]))]))
    row = found["scores"].filter((pl.col("scope") == "all") & (pl.col("judge") == "all")).row(0, named=True)
    assert (row["score"], row["n"], row["n_clusters"]) == (3.0, 6, 3)
    assert row["score_lwr"] < 1.5 < 4.5 < row["score_upr"]
    assert found["judge_agreement"]["alpha"][0] == 1.0


def compared(judge, subject, first, second, verdict, direction="forward"):
    statement, _, index = subject.rpartition("_")
    winner = {"first": first, "second": second}.get(verdict)
    row = common("ranking", judge, f"{subject}|{min(first, second)}|{max(first, second)}")
    return {
        **row,
        "arm": row["arm"].replace("forward", direction),
        **told(statement, int(index)),
        "subject": subject,
        "first_id": first,
        "second_id": second,
        "direction": direction,
        "verdict": verdict,
        "winner_id": winner,
        "parsed": verdict != "unparsed",
        "first_length": 5 if first == "openai/a" else 9,
        "second_length": 5 if second == "openai/a" else 9,
    }


@pytest.fixture
def ranking(tmp_path):
    draw = random.Random(3)
    rows = []
    for judge in JUDGES:
        for statement in ("s1", "s2"):
            for index in range(20):
                for first, second in (("openai/a", "anthropic/b"), ("anthropic/b", "openai/a")):
                    better = "first" if first == "openai/a" else "second"
                    worse = "second" if better == "first" else "first"
                    direction = "forward" if first < second else "reverse"
                    verdict = better if draw.random() < 0.8 else worse
                    rows.append(compared(judge, f"{statement}_{index}", first, second, verdict, direction))
    rows.append(compared(JUDGES[0], "s1_20", "openai/a", "anthropic/b", "unparsed"))
    rows.append(compared(JUDGES[0], "s1_21", "openai/a", "anthropic/b", "none"))
    rows.append(compared(JUDGES[0], "s1_22", "openai/a", "anthropic/b", "tie"))
    stage = a_stage(Rank([], left_out={"openai/a": {"no partner": 3}}), name="ranking")
    return rows, collected(make_rank_tables(written(tmp_path, rows), [stage]))


def test_matches_count_every_verdict_once_for_each_side(ranking):
    rows, tables = ranking
    assert set(tables) == set(RANK_TABLES)
    one, other = tables["matches"].filter(pl.col("judge") == "all").sort("model").iter_rows(named=True)
    won = sum(row["winner_id"] == "openai/a" for row in rows)
    assert (other["model"], other["wins"], other["losses"]) == ("openai/a", won, 160 - won)
    assert (other["ties"], other["none"], other["unparsed"]) == (1, 1, 1)
    assert (one["wins"], one["losses"], one["ties"]) == (other["losses"], other["wins"], 1)
    assert other["both_orders"] == other["won_both"] + other["lost_both"] + other["split"] == 80
    assert other["split"] > 0


def test_candidates_are_ranked_on_each_part(ranking):
    _, tables = ranking
    assert tables["rankings"]["scope"].unique().sort().to_list() == [
        "all",
        "model=anthropic/j2",
        "model=openai/j1",
        "section=S1",
        "section=S2",
    ]
    best = tables["rankings"].filter(pl.col("rank") == 1)
    assert set(best["ID"]) == {"openai/a"}


def test_what_length_does_and_what_was_left_out(ranking):
    rows, tables = ranking
    row = tables["length_effect"].filter(pl.col("judge") == "all").row(0, named=True)
    assert (row["n"], row["n_left_out"]) == (160, 3)
    assert row["longer_wins"] == pytest.approx(sum(one["winner_id"] == "anthropic/b" for one in rows) / 160)
    assert tables["unjudged"].rows() == [("ranking", "openai/a", "no partner", 3)]


def test_the_last_turn_of_each_answer_says_whether_it_can_be_judged(tmp_path):
    def turn(model, item, number, answer="x", status="answered", replicate=0):
        arm = {"arm": f"input__{model.replace('/', '__')}__default__forward", "template": "input"}
        place = {"turn": number, "replicate": replicate}
        return common("answers", model, item, answer, status) | arm | place

    both = ("openai/a", "anthropic/b")
    rows = [turn(model, item, number) for model in both for item in ("s1_0", "s1_1", "s1_2") for number in (0, 1)]
    rows += [turn("openai/a", "s2_0", 0), turn("openai/a", "s2_0", 1, None, "failed")]  # alone is the other one
    rows += [turn("anthropic/b", "s2_0", number) for number in (0, 1)]
    rows += [turn("openai/a", "s2_1", 0, " "), turn("openai/a", "s2_1", 1)]  # only the last answer counts
    rows += [turn("anthropic/b", "s2_1", 0), turn("anthropic/b", "s2_1", 1, " ")]
    rows += [turn("openai/a", "s2_2", 0), turn("anthropic/b", "s2_2", 0, None, "pending")]
    rows += [turn(model, "s3_0", 0, replicate=number) for number, model in enumerate(both)]  # each alone in its own
    stage = a_stage(Rank([]), name="ranking", of="answers", group="item", take=("answered",))
    left_out = unjudged(pl.DataFrame(rows).lazy(), stage, stage.task)
    assert left_out.rows() == [
        ("ranking", "anthropic/b", "empty", 1),
        ("ranking", "anthropic/b", "no partner", 2),
        ("ranking", "openai/a", "failed", 1),
        ("ranking", "openai/a", "no partner", 3),
    ]


def test_an_empty_stage_has_no_figures(tmp_path):
    rows = [judged(JUDGES[0], "openai/a", "s1", 0, 1) | {"label": None, "score": None}]
    found = collected(make_judged_tables(written(tmp_path, rows), [a_stage(Comply([]))]))
    assert {name: table.height for name, table in found.items()} == {"verdicts": 0}
    assert missing_judged_table("scores", tmp_path) == "scores: none of its stages judges anything"
    assert missing_rank_table("matches", tmp_path) == "matches: none of its stages judges anything"


def test_the_summary_shows_scores_and_what_is_missing(compliance, tmp_path):
    for name, table in compliance.items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    shown = list(judged_summary(tmp_path, "night", lambda typed: typed))
    lines = [line for line in shown if isinstance(line, str)]
    assert any(line.startswith("not judged: 1 empty, 2 error, 1 failed") for line in lines)
    assert any("judges agree on 24 questions" in line for line in lines)
