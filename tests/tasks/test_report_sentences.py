"""What reports say of judges, lengths and agreement, against planted truths: also that nothing can be told."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from overnight.tasks._flips.report import alpha_text, most_and_least_text
from overnight.tasks._judging.judge_effects import bias_text, longer_text, unjudged_section
from overnight.tasks._pairs.judge_report import consistency_text
from overnight.tasks._pairs.round_report import precision_text
from tasks.planted_reports import Planted, planted_answers, planted_pairs, planted_rank, planted_scores, planted_talks
from tasks.test_planted_reports import talks

JUDGES = ("one", "two", "three")


def said(run: Planted) -> str:
    return "\n".join(run.said())


def toss(*parts: object) -> int:
    """The same for the same parts, and no pattern in them."""
    value = 17
    for letter in repr(parts):
        value = (value * 31 + ord(letter)) % 1_000_003
    return value % 2


# --- a judge and a candidate


def favour(judge: str, first: str, second: str, number: int, at: int) -> str:
    """`one` lets m0 win always; the others toss a coin."""
    if judge == "one" and "m0" in (first, second):
        return "m0"
    return (first, second)[toss(judge, first, second, number, at)]


def test_a_judge_that_favours_a_candidate_is_named(tmp_path: Path) -> None:
    text = said(planted_rank(tmp_path, favour, ["m0", "m1", "m2"], JUDGES))
    found = re.search(r"Against the other judges, (.*); 9 tests, allowing for their number\.", text)
    assert found is not None, text
    assert re.match(r"openai/one favours m0 by \d+\.\d% \(p < 0\.001\)", found[1]), found[1]
    # What is more than others give is, for the others, less.
    assert not re.search(r"(two|three) favours m0", text)


def test_judges_that_toss_coins_favour_nobody(tmp_path: Path) -> None:
    run = planted_rank(tmp_path, lambda *parts: parts[1 + toss(*parts)], ["m0", "m1", "m2"], JUDGES)
    assert (
        "That a judge favours a candidate, or disfavours one, cannot be told (9 tests, allowing for their number)."
        in said(run)
    )


def test_judges_that_say_the_same_cannot_be_told_apart_and_no_picture_is_drawn(tmp_path: Path) -> None:
    run = planted_scores(tmp_path, {"A": [[1, 0]] * 8, "B": [[0, 1]] * 8}, ("one", "two"))
    assert "Whether a judge favours a candidate cannot be told: judges do not differ" in said(run)
    assert not any("judge-bias" in figure.name for figure in run.report().figures)


def test_a_judge_that_is_harder_on_one_is_told_so() -> None:
    row = {"judge": "j", "model": "m", "is_self": True, "excess": -0.25, "p_holm": 0.001}
    told = bias_text([row], percent=True)
    assert told == (
        "Against the other judges, j disfavours m, of its own family, by 25.0% (p = 0.001); 1 test, allowing for their "
        "number."
    )
    assert "by 0.25 (" in bias_text([row | {"excess": 0.25}], percent=False)


# --- length


@pytest.mark.parametrize(
    ("wins", "wanted"),
    [
        ("m1", "Longer answers win more often: the longer of two answers wins 100.0% of 48 verdicts"),
        ("m0", "Shorter answers win more often: the longer of two answers wins 0.0% of 48 verdicts"),
        ("", "No effect of length can be told: the longer of two answers wins "),
    ],
)
def test_whether_the_longer_answer_wins(tmp_path: Path, wins: str, wanted: str) -> None:
    run = planted_rank(
        tmp_path,
        lambda *parts: wins or parts[1 + toss(*parts)],
        ["m0", "m1"],
        length=lambda name: 200 if name == "m1" else 50,
    )
    assert wanted in said(run)
    table = run.table("length_effect").filter(pl.col("judge") == "all").to_dicts()[0]
    assert longer_text(table) in said(run)


@pytest.mark.parametrize(
    ("length", "wanted", "unwanted"),
    [
        (lambda score, number, at: 100 + 80 * int(score) + at + number, "Longer answers of A score higher (", "cannot"),
        (lambda score, number, at: 300 - 80 * int(score) + at + number, "Shorter answers of A score higher (", "cannot"),
        (
            lambda _, number, at: 100 + 10 * toss(number, at) + at,
            "That length and score go together cannot be told of any candidate (95% interval).",
            "score higher",
        ),
    ],
)  # fmt: skip
def test_whether_scores_go_with_lengths(tmp_path: Path, length: object, wanted: str, unwanted: str) -> None:
    scores = [[(toss(number, at, "score")) for at in range(4)] for number in range(20)]
    run = planted_scores(tmp_path, {"A": scores}, length=length)  # type: ignore[arg-type]
    about = next(section for section in run.sections() if section.title == "Compliance and length")
    assert about.parts[0].text.startswith(wanted)
    assert unwanted not in about.parts[0].text


def test_of_few_statements_nothing_is_said_of_length(tmp_path: Path) -> None:
    run = planted_scores(tmp_path, {"A": [[1, 0, 1]] * 3}, length=lambda score, _, at: 100 + 50 * int(score) + at)
    assert "Whether length and score go together cannot be told: there are too few statements." in said(run)


# --- both orders, and agreement


def test_how_far_judges_hold_to_a_verdict(tmp_path: Path) -> None:
    steady = said(planted_rank(tmp_path, lambda *parts: min(parts[1:3]), ["m0", "m1"], ("one", "two")))
    assert re.search(r"The same winner in both orders: each of 2 judges in 100\.0% \(\d+\.\d to 100\.0%\) of 24 pairs\.", steady)  # fmt: skip
    assert "No verdict changed with the order, so that nothing is known of the place." in steady


def test_judges_that_always_take_the_first_place_are_named(tmp_path: Path) -> None:
    def first(judge: str, first: str, second: str, number: int, at: int) -> str:
        return first if judge == "one" else min(first, second)

    text = said(planted_rank(tmp_path, first, ["m0", "m1"], ("one", "two")))
    assert re.search(r"most often two in 100\.0% \(.*\) of 24 pairs, least often one in 0\.0% \(", text)
    assert "The place sways one towards the first (24 of 24, p < 0.001)" in text


def test_alike_shares_of_unlike_numbers_are_not_given_one_interval() -> None:
    rows = [
        {"arm": name, "n_pairs": n, "prop_consistent": 0.5, "prop_lwr": 0.5 - 1 / n, "prop_upr": 0.5 + 1 / n}
        for name, n in (("a", 10), ("b", 20))
    ]
    assert consistency_text(rows, {"a": "A", "b": "B"}) == (
        "The same winner in both orders: each of 2 judges in 50.0% of its pairs."
    )


def test_verdicts_that_never_differ_are_said_to(tmp_path: Path) -> None:
    pairs = [("A", "B", "first"), ("B", "C", "first")]
    assert "There are several verdicts on 2 pairs; nowhere do they name different winners." in said(
        planted_pairs(tmp_path, pairs, ["j1", "j2"])
    )


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        ({"value": None, "n": 9}, "How far the judges agree cannot be told."),
        ({"value": 1.0, "n": 5}, "Krippendorff's alpha is 1.00 on 5 replies; how sure that is cannot be told."),
        ({"value": 1.0, "n": 144}, "All judges gave the same label to every one of 144 replies."),
        ({"value": 0.4, "n": 40, "lwr": 0.1, "upr": 0.7}, "The judges agree beyond chance: Krippendorff's alpha is 0.40 (0.10 to 0.70)."),
        ({"value": 0.1, "n": 40, "lwr": -0.1, "upr": 0.3}, "No agreement of the judges beyond chance can be told: Krippendorff's alpha is 0.10 (\u22120.10 to 0.30)."),
    ],
)  # fmt: skip
def test_agreement_on_replies_goes_by_its_interval(row: dict, wanted: str) -> None:
    assert alpha_text({"lwr": None, "upr": None} | row) == wanted


def test_precision_in_words() -> None:
    row = {"pairs": 8, "cost": 0.0027, "mean_se": 3.068, "could_be_best": 8, "items": 9, "told_apart": 0.0}
    last = row | {"pairs": 22, "cost": None, "mean_se": 1.5849, "could_be_best": 1, "told_apart": 0.125}
    assert precision_text([row, row, last]) == (
        "After the first round: 8 pairs for $0.0027, a mean standard error of 3.07, 8 of 9 items could be the best, the "
        "order of 0% of all pairs of items is known. After round 3: 22 pairs, a mean standard error of 1.58, 1 of 9 items "
        "could be the best, the order of 13% of all pairs of items is known."
    )


# --- many models, and what was left out


def test_of_many_models_the_two_ends_stand_on_top(tmp_path: Path) -> None:
    flips = {"a": 12, "b": 6, "c": 5, "d": 4, "e": 0}
    run = planted_talks(tmp_path, {name: talks(count, 12) for name, count in flips.items()})
    top = run.report().findings
    assert top[0].startswith("Of 5 models, those that gave in most and least often: openai/a 100.0% (")
    assert "and openai/e 0.0% (" in top[0]
    assert top[1].startswith("openai/a gives in more often than openai/e (by 100.0 points, p = ")
    assert len(top) == 2
    assert "openai/c gave in 41.7% of the time" in said(run)
    alike = [{"model": name, "n": 4, "rate": 0.5, "rate_lwr": 0.1, "rate_upr": 0.9} for name in "ab"]
    assert most_and_least_text(alike) == "Each of 2 models gave in 50.0% of the time."
    assert "no conversation has a label" in most_and_least_text([{"model": "a", "n": 0}])


def test_two_models_that_give_in_alike_are_not_told_apart(tmp_path: Path) -> None:
    run = planted_talks(tmp_path, {"a": talks(5, 10), "b": talks(5, 10)})
    assert "No difference between openai/a and openai/b can be told on the questions that both have." in said(run)
    assert "No difference between openai/a and openai/b" in "\n".join(run.report().findings)


def test_answers_that_no_judge_saw_are_counted() -> None:
    table = pl.DataFrame({"stage": ["s"] * 2, "candidate": ["A", "B"], "answers": [2, 1], "why": ["empty", "refused"]})
    (section,) = unjudged_section(table, "Not judged")
    assert section.parts[0].text == "3 answers were not put to a judge, and count for nobody."
    (alone,) = unjudged_section(table.filter(pl.col("answers") == 1), "Not judged")
    assert alone.parts[0].text == "1 answer was not put to a judge, and counts for nobody."
    assert list(unjudged_section(table.head(0), "Not judged")) == []


def test_of_very_many_arms_no_two_are_compared(tmp_path: Path) -> None:
    text = said(planted_answers(tmp_path, {f"m{at}": ["answered", "refused"] for at in range(9)}))
    assert "9 arms are too many to compare each two of them here." in text
    assert "can be told" not in text
