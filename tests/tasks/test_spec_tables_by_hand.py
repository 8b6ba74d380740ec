"""Tables as they are published, beside sums that anybody can do again: no function of ours stands on both sides."""

from __future__ import annotations

from math import log, sqrt

import polars as pl
import pytest

from overnight.tasks._judging.answer_pairs import Rank
from overnight.tasks._judging.judging import Comply, Grade
from overnight.tasks._judging.model_makers import maker_of
from overnight.tasks._specs.tables import judged_summary, make_judged_tables, make_rank_tables
from tasks.test_spec_tables import JUDGES, a_stage, collected, compared, judged, written

ONE, OTHER = "openai/a", "anthropic/b"
# What each judge says of four answers on each of three statements.
SAID = {
    JUDGES[0]: {"s1": [1, 1, 1, 0], "s2": [1, 0, 0, 0], "s3": [1, 1, 0, 1]},
    JUDGES[1]: {"s1": [1, 1, 0, 0], "s2": [1, 1, 0, 0], "s3": [1, 1, 0, 0]},
}


def whole(table: pl.DataFrame, **wanted: str) -> dict:
    (row,) = table.filter(*(pl.col(name) == value for name, value in wanted.items())).iter_rows(named=True)
    return row


@pytest.fixture
def compliance(tmp_path):
    rows = [
        judged(judge, ONE, statement, index, score)
        for judge, by_statement in SAID.items()
        for statement, scores in by_statement.items()
        for index, score in enumerate(scores)
    ]
    return collected(make_judged_tables(written(tmp_path, rows), [a_stage(Comply([]))]))


def test_a_compliance_rate_and_its_error_over_statements(compliance):
    row = whole(compliance["scores"], scope="all", judge="all")
    # 5 + 3 + 5 of 8 + 8 + 8 answers.
    rate = 13 / 24
    assert (row["n"], row["n_clusters"]) == (24, 3)
    assert row["score"] == pytest.approx(rate)
    sums = [5 - 8 * rate, 3 - 8 * rate, 5 - 8 * rate]
    # Miller's clustered error: what the rows of a statement are off together.
    assert row["se"] == pytest.approx(sqrt(sum(one**2 for one in sums)) / 24)
    of_one = whole(compliance["scores"], scope="section=S2", judge=JUDGES[0])
    assert (of_one["score"], of_one["n"]) == (1 / 4, 4)


def test_agreement_of_two_judges(compliance):
    pair = compliance["judge_agreement"].filter(pl.col("judge_b").is_not_null()).row(0, named=True)
    both = [(a, b) for s in ("s1", "s2", "s3") for a, b in zip(SAID[JUDGES[0]][s], SAID[JUDGES[1]][s], strict=True)]
    assert [both.count(one) for one in ((1, 1), (0, 0), (1, 0), (0, 1))] == [5, 4, 2, 1]
    assert pair["match"] == pytest.approx(9 / 12)
    by_chance = (7 * 6 + 5 * 6) / 144
    assert pair["kappa"] == pytest.approx((9 / 12 - by_chance) / (1 - by_chance))
    # Krippendorff: 24 values, 13 of them yes; 3 of 12 pairs differ.
    disagreed, expected = 3 / 12, 2 * 13 * 11 / (24 * 23)
    assert pair["alpha"] == pytest.approx(1 - disagreed / expected)
    # Phi of the same table.
    assert pair["correlation"] == pytest.approx((5 * 4 - 2 * 1) / sqrt(7 * 5 * 6 * 6))


def test_length_beside_the_verdict(compliance):
    row = whole(compliance["scores"], scope="all", judge=JUDGES[1])
    scores = [one for s in ("s1", "s2", "s3") for one in SAID[JUDGES[1]][s]]
    lengths = [10, 11, 12, 13] * 3
    mean = sum(scores) / 12
    covered = sum((s - mean) * (n - 11.5) for s, n in zip(scores, lengths, strict=True))
    spread = sqrt(sum((s - mean) ** 2 for s in scores) * sum((n - 11.5) ** 2 for n in lengths))
    assert row["length_correlation"] == pytest.approx(covered / spread)


def test_a_judge_beside_the_others_on_the_same_answers(compliance):
    row = whole(compliance["judge_bias"], judge=JUDGES[0])
    assert row["delta"] == pytest.approx(7 / 12 - 6 / 12)
    assert row["is_self"]


@pytest.mark.parametrize("nothing", ["unparsed", "none"])
def test_what_a_judge_has_not_said_is_on_neither_side_of_its_bias_and_no_agreement(tmp_path, nothing):
    """Not even as a "no", which would set a judge that cannot be read against the others."""
    said = [(JUDGES[0], 1), (JUDGES[1], 0)], [(JUDGES[0], nothing), (JUDGES[1], 1)], [(JUDGES[0], 1), (JUDGES[1], 1)]
    rows = [judged(judge, ONE, "s1", index, score) for index, both in enumerate(said) for judge, score in both]
    tables = collected(make_judged_tables(written(tmp_path, rows), [a_stage(Comply([]))]))
    row = whole(tables["judge_bias"], judge=JUDGES[0])
    assert (row["n"], row["n_left_out"], row["delta"]) == (2, 1, pytest.approx((1 + 0) / 2))
    pair = tables["judge_agreement"].filter(pl.col("judge_b").is_not_null()).row(0, named=True)
    assert (pair["n_items"], pair["n_left_out"], pair["match"]) == (2, 1, pytest.approx(1 / 2))


def test_the_lowest_grade_is_a_grade_and_no_share(tmp_path):
    rows = [judged(JUDGES[0], ONE, f"s{n}", 0, "x") | {"label": "1", "score": 1.0} for n in (1, 2, 3)]
    for name, table in collected(make_judged_tables(written(tmp_path, rows), [a_stage(Grade([]))])).items():
        table.write_parquet(tmp_path / f"{name}.parquet")
    table = list(judged_summary(tmp_path, "r", str))[1]
    assert list(table.columns[1].cells) == ["1.00"]


# Over 20 inputs of two statements: shown first, ONE wins 15 of 20; shown second, it wins 9 of 20.
FORWARD = ["first"] * 15 + ["second"] * 5
REVERSE = ["second"] * 6 + ["first"] * 9 + ["second"] * 3 + ["first"] * 2


@pytest.fixture
def ranking(tmp_path):
    rows = []
    for place, (forward, reverse) in enumerate(zip(FORWARD, REVERSE, strict=True)):
        subject = f"s{1 + place % 2}_{place // 2}"
        rows.append(compared(JUDGES[0], subject, ONE, OTHER, forward, "reverse"))
        rows.append(compared(JUDGES[0], subject, OTHER, ONE, reverse, "forward"))
    # One order only could be read, or none: neither a tie nor half a verdict.
    rows.append(compared(JUDGES[0], "s1_90", ONE, OTHER, "unparsed", "reverse"))
    rows.append(compared(JUDGES[0], "s1_90", OTHER, ONE, "none", "forward"))
    rows.append(compared(JUDGES[0], "s1_91", OTHER, ONE, "none", "forward") | {"status": "failed", "parsed": None})
    return collected(make_rank_tables(written(tmp_path, rows), [a_stage(Rank([]), name="ranking")]))


def test_strengths_and_the_place_that_sways(ranking):
    one, other = (whole(ranking["rankings"], scope="all", ID=name) for name in (ONE, OTHER))
    shown_first, shown_second = log(15 / 5), log(9 / 11)
    assert one["theta"] - other["theta"] == pytest.approx((shown_first + shown_second) / 2, abs=1e-6)
    assert one["position"] == pytest.approx((shown_first - shown_second) / 2, abs=1e-6)
    assert (one["rank"], one["comparisons"]) == (1, 40)


def test_wins_losses_and_what_holds_in_both_orders(ranking):
    row = whole(ranking["matches"], model=ONE, judge="all")
    assert [row[name] for name in ("wins", "losses", "ties", "none", "unparsed", "missing")] == [24, 16, 0, 1, 1, 1]
    # Won in both: first and then second, 6 of 20. Lost in both: second and then first, 2 of 20.
    assert [row[name] for name in ("both_orders", "won_both", "lost_both", "split")] == [20, 6, 2, 12]
    mirrored = whole(ranking["matches"], model=OTHER, judge="all")
    assert [mirrored[name] for name in ("wins", "losses", "won_both", "lost_both", "split")] == [16, 24, 2, 6, 12]


def test_consistency_and_bias_of_the_place(ranking):
    held = ranking["consistency"].row(0, named=True)
    assert (held["n_both_orders"], held["n_pairs"], held["n_consistent"], held["n_left_out"]) == (21, 20, 8, 1)
    assert held["prop_consistent"] == pytest.approx(8 / 20)
    swayed = ranking["bias"].row(0, named=True)
    # Whoever stood first won 15 of 20, and 11 of 20 the other way round.
    assert (swayed["total_pos1_wins"], swayed["total_comparisons"]) == (26, 40)
    assert swayed["n_inconsistent"] == 12
    assert swayed["n_inconsistent_pos1_bias"] + swayed["n_inconsistent_pos2_bias"] == 12


def test_how_often_the_longer_answer_wins(ranking):
    row = whole(ranking["length_effect"], judge="all")
    assert (row["n"], row["n_left_out"], row["longer_wins"]) == (40, 3, 16 / 40)


def test_judges_of_pairs_are_compared_question_by_question(tmp_path):
    rows = []
    verdicts = [("first", "first"), ("second", "second"), ("first", "second"), ("tie", "tie"), ("first", "unparsed")]
    for place, both in enumerate(verdicts):
        rows += [
            compared(judge, f"s1_{place}", ONE, OTHER, verdict, "reverse")
            for judge, verdict in zip(JUDGES, both, strict=True)
        ]
    tables = collected(make_rank_tables(written(tmp_path, rows), [a_stage(Rank([]), name="ranking")]))
    pair = tables["judge_agreement"].filter(pl.col("judge_b").is_not_null()).row(0, named=True)
    assert (pair["n_items"], pair["n_left_out"], pair["match"]) == (4, 1, 3 / 4)
    by_chance = (2 * 1 + 1 * 2 + 1 * 1) / 16
    assert pair["kappa"] == pytest.approx((3 / 4 - by_chance) / (1 - by_chance))
    one, other = (0.0, 1.0, 0.0, 0.5), (0.0, 1.0, 1.0, 0.5)
    means = sum(one) / 4, sum(other) / 4
    covered = sum((a - means[0]) * (b - means[1]) for a, b in zip(one, other, strict=True))
    spread = sqrt(sum((a - means[0]) ** 2 for a in one) * sum((b - means[1]) ** 2 for b in other))
    assert pair["correlation"] == pytest.approx(covered / spread)


@pytest.mark.parametrize("nothing", ["unparsed", "none"])
def test_a_pair_that_a_judge_has_not_decided_gives_nobody_half_a_point(tmp_path, nothing):
    rows = []
    for place, both in enumerate([("first", "first"), ("first", nothing), ("tie", "second")]):
        rows += [
            compared(judge, f"s1_{place}", ONE, OTHER, verdict, "reverse")
            for judge, verdict in zip(JUDGES, both, strict=True)
        ]
    bias = collected(make_rank_tables(written(tmp_path, rows), [a_stage(Rank([]), name="ranking")]))["judge_bias"]
    # Of the first and the last: 1 beside 1, and a half beside 0. Nobody can be set beside the one in the middle.
    row = whole(bias, judge=JUDGES[0], model=ONE)
    assert (row["n"], row["delta"]) == (2, pytest.approx((0 + 1 / 2) / 2))
    mirrored = whole(bias, judge=JUDGES[0], model=OTHER)
    assert (mirrored["n"], mirrored["delta"], mirrored["n_left_out"]) == (2, pytest.approx(-1 / 4), 2)


@pytest.mark.parametrize(
    ("name", "maker"),
    [
        ("openai/gpt-4.1", "openai"),
        ("gpt-4.1-2025-04-14", "openai"),
        ("o3-mini", "openai"),
        ("claude-3-7-sonnet-20250219", "anthropic"),
        ("bedrock/us.anthropic.claude-sonnet-4", "anthropic"),
        ("vertex/gemini-2.0-flash-001", "google"),
        ("gemini/tuned", "google"),
        ("together/Qwen/Qwen3-235B-A22B", "qwen"),
        ("Qwen_Qwen2-72B-Instruct", "qwen"),
        ("openai/gpt-5 (low)", "openai"),
        ("modelA", "modelA"),
    ],
)
def test_the_maker_of_a_model_is_told_by_its_name(name, maker):
    """Candidates of folders have no provider, and one maker's models run at several."""
    assert maker_of(name) == maker
