"""Every sentence of a report against planted truths: also where next to nothing is known, and where it says so."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.tasks._pairs.adapting import Tally, believed, worth_of
from reporting import pages
from tasks.planted_reports import Planted, planted_answers, planted_pairs, planted_scores, planted_talks

NOT_A_WORD = re.compile(r"\bnan\b|\bNone\b|\binf\b|\u221e")
STATUSES = ("answered", "refused", "truncated", "failed", "pending")
LABELS = ("no_flip", "soft_flip", "explicit_flip", "initially_unsafe", "unreadable", "failed", "unparsed")
VERDICTS = ("first", "second", "tie", "unparsed", "failed")
CLAIM = re.compile(r"(\S+) (?:answers more often|keeps to the statements more often|is graded higher) than (\S+) ")
HELD, FLIPPED = "no_flip", "explicit_flip"


def drawn(draw: Random, kind: str, folder: Path) -> Planted:
    """A run of a few rows, some kinds of which may be all there is."""
    models, items = [f"m{at}" for at in range(draw.randint(1, 4))], draw.randint(1, 8)

    def some(words: tuple[Any, ...], count: int) -> list[Any]:
        return draw.choices(words, [draw.random() ** 4 for _ in words], k=count)

    if kind == "answers":
        return planted_answers(folder, {name: some(STATUSES, items) for name in models})
    if kind == "scores":
        grades = draw.random() < 0.5
        values = (1, 2, 5, "unparsed", "failed") if grades else (0, 1, 1, "unparsed", "pending")
        said = {name: [some(values, draw.randint(1, 3)) for _ in range(items)] for name in models}
        return planted_scores(folder, said, ["j1", "j2"][: draw.randint(1, 2)], grades=grades)
    if kind == "talks":
        levels = draw.randint(1, 3)
        pressed, neutral = ({name: [some(LABELS, levels) for _ in range(items)] for name in models} for _ in range(2))
        return planted_talks(
            folder, pressed, neutral if draw.random() < 0.6 else None, ["j1", "j2"][: draw.randint(1, 2)]
        )
    pairs = list(combinations([f"e{at}" for at in range(draw.randint(2, 5))], 2))
    verdicts = [(*pair, verdict) for pair, verdict in zip(pairs, some(VERDICTS, len(pairs)), strict=True)]
    rounds = sorted(draw.randint(1, 3) for _ in pairs) if draw.random() < 0.5 else None
    return planted_pairs(folder, verdicts, ["j1", "j2"][: draw.randint(1, 2)], rounds)


@pytest.mark.parametrize("kind", ["answers", "scores", "talks"])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_of_however_little_a_report_is_drawn_and_claims_only_what_can_be_told(kind: str, seed: int) -> None:
    check_drawn(kind, seed)


@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_of_however_few_pairs_a_report_is_drawn_and_claims_only_what_can_be_told(seed: int) -> None:
    check_drawn("pairs", seed)  # each of these is fitted several times over


def check_drawn(kind: str, seed: int) -> None:
    with TemporaryDirectory() as folder:
        run = drawn(Random(seed), kind, Path(folder))
        assert run.report().html == run.report().html
        for text in run.said():
            assert text.startswith("Note: ") or not NOT_A_WORD.search(text), text
        check_claims(run, kind)


def check_claims(run: Planted, kind: str) -> None:
    """By counting alone: with so few rows hardly anything can be told, and what is must be on the right side."""
    said = " ".join(run.said())
    for more, less in CLAIM.findall(said):
        values = run.results.filter(pl.col("status") != "pending").with_columns(
            answered=(pl.col("status") == "answered").cast(pl.Float64)
        )
        column, who = ("answered", "model") if kind == "answers" else ("score", "candidate")
        item = pl.col("item_id").str.extract(r"^([^@_]*)")
        means = values.drop_nulls(column).group_by(who, item.alias("unit")).agg(pl.col(column).mean())
        both = means.filter(pl.col(who) == more).join(means.filter(pl.col(who) == less), on="unit")
        assert both.filter(pl.col(column) != pl.col(f"{column}_right")).height >= 6, said
        assert both[column].mean() > both[f"{column}_right"].mean(), said  # type: ignore[operator]
    for name in re.findall(r"(\S+) never gave in", said):
        assert run.table("flip_rates").filter(pl.col("model") == name, pl.col("by") == "all")["flips"].sum() == 0
    for best in re.findall(r"(\S+) is the best of", said):
        ranking = run.table("rankings").filter(pl.col("scope") == "all")
        assert ranking.filter(pl.col("rank") == 1)["ID"].to_list() == [best]


def both(share: float, count: int) -> list[str]:
    return ["answered" if at < share * count else "refused" for at in range(count)]


def talks(flips: int, of: int, levels: int = 2) -> list[list[str]]:
    return [[HELD] * (levels - 1) + [FLIPPED if at < flips else HELD] for at in range(of)]


def beats(wins: int, losses: int, first: str = "A", second: str = "B") -> list[tuple[str, str, str]]:
    return [(first, second, "first")] * wins + [(first, second, "second")] * losses


# What is planted, words that must be said, and words that must not.
CASES: dict[str, tuple[Callable[[Path], Planted], list[str], list[str]]] = {
    "arms that answer alike": (
        lambda at: planted_answers(at, {"A": both(0.5, 20), "B": both(0.5, 20)}),
        ["50.0% of 40 rows were answered", "No difference between A and B can be told (by 0.0 points"],
        ["more often than"],
    ),
    "an arm that answers more often": (
        lambda at: planted_answers(at, {"A": both(1.0, 30), "B": both(0.5, 30)}),
        ["A answers more often than B (by 50.0 points"],
        ["B answers"],
    ),
    "two items, all on one side": (
        lambda at: planted_answers(at, {"A": both(1.0, 2), "B": both(0.0, 2)}),
        ["No difference between A and B can be told (by 100.0 points, \u221234.9 to 100.0)."],
        ["more often than"],
    ),
    "nothing answered": (
        lambda at: planted_answers(at, {"A": ["failed"] * 5}),
        ["0.0% of 5 rows were answered (95% interval 0.0 to 52.2%).", "There is no answer whose length could be told."],
        ["can be told"],
    ),
    "candidates that keep to it alike": (
        lambda at: planted_scores(at, {"A": [[1, 0]] * 8, "B": [[1, 0]] * 8}),
        ["A 50.0%", "B 50.0%", "No difference between A and B can be told (by 0.0 points; 0 differ, over 16 items)."],
        ["more often than"],
    ),
    "a candidate that keeps to it more": (
        lambda at: planted_scores(at, {"A": [[1, 1]] * 12, "B": [[0, 1], [0, 0]] * 6}),
        ["A 100.0%", "A keeps to the statements more often than B (by 75.0 points"],
        ["No difference"],
    ),
    "a candidate that is always graded one higher, on three statements": (
        lambda at: planted_scores(at, {"A": [[4, 4]] * 3, "B": [[3, 3]] * 3}, grades=True),
        ["A 4.00 (how sure is not known)", "No difference between A and B can be told (by 1.00; 3 differ, over 6 items)."],
        ["graded higher"],
    ),
    "the same on eight statements": (
        lambda at: planted_scores(at, {"A": [[4, 4]] * 8, "B": [[3, 3]] * 8}, grades=True),
        ["A is graded higher than B (by 1.00; 8 differ, over 16 items)"],
        ["No difference"],
    ),
    "no verdict that can be read": (
        lambda at: planted_scores(at, {"A": [["unparsed", "failed"]] * 3}),
        ["Nothing can be said: no verdict could be read.", "3 verdicts could not be read and 3 questions a judge did not answer; count for nobody."],
        ["keeps to its statement:"],
    ),
    "everything kept": (
        lambda at: planted_scores(at, {"A": [[1]] * 5}),
        ["A 100.0% (47.8 to 100.0%)", "There is none: every one of 5 verdicts says that the answer keeps to it."],
        ["No difference"],
    ),
    "one of three candidates is ahead of one other only": (
        lambda at: planted_scores(at, {"A": [[1, 1]] * 20, "B": [[1, 1]] * 20, "C": [[0, 1]] * 20}),
        ["A keeps to the statements more often than C", "B keeps to the statements more often than C"],
        ["than A", "than B"],
    ),
    "nobody gives in": (
        lambda at: planted_talks(at, {"m": talks(0, 9)}, {"m": talks(0, 9)}),
        [("openai/m never gave in, in 9 conversations (95% interval 0.0 to 33.6%); no difference from asking again in "
         "neutral words (0.0%) can be told."), "In none of the 9 conversations with a label did a model give in."],
        ["points"],
    ),
    "everybody gives in, and only under pressure": (
        lambda at: planted_talks(at, {"m": talks(9, 9)}, {"m": talks(0, 9)}),
        ["openai/m gave in 100.0% of the time, in 9 conversations", ("100.0 points more than when asked again in neutral "
         "words (p = 0.004)."), "In 9 of 9 conversations the model gave in; all of them follow."],
        ["no difference"],
    ),
    "pressure does less than asking again": (
        lambda at: planted_talks(at, {"m": talks(0, 9)}, {"m": talks(9, 9)}),
        ["100.0 points less than when asked again in neutral words"],
        ["more than", "no difference"],
    ),
    "four conversations, all on one side": (
        lambda at: planted_talks(at, {"m": talks(4, 4)}, {"m": talks(0, 4)}),
        ["no difference from asking again in neutral words (0.0%) can be told."],
        ["points more"],
    ),
    "a test that one of many models would pass alone": (
        lambda at: planted_talks(
            at,
            {"a": talks(6, 9), **{name: talks(0, 9) for name in "bcdef"}},
            {"a": talks(0, 9), **{name: talks(0, 9) for name in "bcdef"}},
        ),
        ["openai/a gave in 66.7%", "no difference from asking again in neutral words (0.0%) can be told."],
        ["points more"],
    ),
    "a model that gives in more often than another": (
        lambda at: planted_talks(at, {"a": talks(10, 12), "b": talks(0, 12)}),
        ["openai/a gives in more often than openai/b (by 83.3 points"],
        ["No difference between"],
    ),
    "conversations without a label": (
        lambda at: planted_talks(at, {"m": [["unparsed", HELD]] * 3}),
        ["Nothing can be said of openai/m: of its 3 conversations none has a label that counts.",
         "No conversation has a label that counts."],
        ["never gave in", "gave in 0"],
    ),
    "one pair, one verdict": (
        lambda at: planted_pairs(at, beats(1, 0)),
        ["No difference can be told between the 2 items", "It rests on 1 readable verdict on 1 pair"],
        ["is the best"],
    ),
    "all ties": (
        lambda at: planted_pairs(at, [("A", "B", "tie"), ("B", "C", "tie"), ("A", "C", "tie")] * 4),
        ["cannot be told"],
        ["is the best", "could be the best"],
    ),
    "no verdict on a pair that can be read": (
        lambda at: planted_pairs(at, [("A", "B", "unparsed"), ("B", "C", "failed")]),
        ["Nothing can be ranked: none of 2 verdicts could be read."],
        ["is the best"],
    ),
    "rounds that come to nothing": (
        lambda at: planted_pairs(at, [("A", "B", "unparsed"), ("B", "C", "first")], rounds=[1, 2]),
        ["There was one round:", "2 of 2 items could be the best", "the order of 0% of all pairs of items is known"],
        ["is the best"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_planted_is_said_and_nothing_else(case: str, tmp_path: Path) -> None:
    plant, wanted, unwanted = CASES[case]
    run = plant(tmp_path)
    said = "\n".join(run.said())
    for words in wanted:
        assert words in said, said
    for words in unwanted:
        assert words not in said, said
    assert all(finding in run.report().html for finding in run.said()[:1] if not re.search("[<>&'\"]", finding))


def test_an_adaptive_run_tells_what_each_round_added(tmp_path: Path) -> None:
    names = [f"e{at}" for at in range(7)]
    pairs = [(one, other, "first") for one, other in combinations(names, 2)]
    rounds = [1 if at < 8 else 2 if at < 15 else 3 for at in range(len(pairs))]
    run = planted_pairs(tmp_path, pairs, rounds=rounds)
    precision = run.table("precision")
    assert precision["round"].to_list() == [1, 2, 3]
    assert precision["pairs"].to_list() == [8, 15, 21]
    assert precision["cost"].to_list() == pytest.approx([0.008, 0.015, 0.021])
    last, ranking = precision.row(2, named=True), run.table("rankings").filter(pl.col("scope") == "all")
    assert last["mean_se"] == pytest.approx(sum(ranking["se"]) / 7)
    assert last["could_be_best"] == ranking.filter(pl.col("rank_lwr") == 1).height
    apart = [(one, other) for one, other in combinations(ranking.select("rank_lwr", "rank_upr").rows(), 2)
             if one[1] < other[0] or other[1] < one[0]]  # fmt: skip
    assert last["told_apart"] == pytest.approx(len(apart) / 21)
    figures = {figure.name: figure for figure in run.report().figures}
    by_pairs, by_cost = figures["precision-by-pairs-pairs"].drawing, figures["precision-by-cost-pairs"].drawing
    assert [(point.x, point.y) for point in by_pairs.lines[0].points] == [
        (float(pairs), error) for pairs, error in precision.select("pairs", "mean_se").rows()
    ]
    assert [point.x for point in by_cost.lines[0].points] == precision["cost"].to_list()
    selection = run.table("selection")
    assert selection["round"].to_list() == sorted(rounds)
    assert selection.filter(pl.col("round") == 1)["why"].unique().to_list() == ["drawn by lot, samples taken evenly"]
    later = selection.filter(pl.col("round") > 1)
    assert later["why"].unique().to_list() == ["its verdict is open, and its samples are in a crowd or little known"]
    # Round 2 was chosen by the verdicts of round 1, and by no others.
    known = {(names.index(one), names.index(other)): Tally(1.0, 1) for one, other, _ in pairs[:8]}
    beliefs = believed(7, known)
    for row in later.filter(pl.col("round") == 2).iter_rows(named=True):
        wanted = worth_of(beliefs[names.index(row["first_id"])], beliefs[names.index(row["second_id"])])
        assert (row["chance"], row["worth"]) == wanted


def test_conversations_that_flipped_are_read_beside_their_control(tmp_path: Path) -> None:
    run = planted_talks(tmp_path, {"m": talks(2, 6)}, {"m": talks(0, 6)}, ["j1", "j2"])
    section = next(one for one in run.sections() if one.title == "Conversations to read")
    told, *found = section.parts
    assert told.text == "In 2 of 6 conversations the model gave in; all of them follow."
    assert [one.title for one in found] == [f"q{at}: openai/m gave in (explicit flip, at level 2)" for at in (0, 1)]
    pressed, neutral = found[0].talks
    assert (pressed.label, neutral.label) == ("under pressure: escalation", "asked again in neutral words")
    assert [(turn.speaker, turn.own) for turn in pressed.turns] == [("user", False), ("m", True)] * 3
    assert [turn.notes for turn in pressed.turns[1::2]] == [
        [], ["j1: no flip", "j2: no flip"], ["j1: explicit flip", "j2: explicit flip"],
    ]  # fmt: skip
    assert [turn.marked for turn in pressed.turns] == [False] * 5 + [True]
    assert not any(turn.marked for turn in neutral.turns)
    assert "user says &lt;b&gt;0&lt;/b&gt;" in run.report().html


def test_the_statement_matrix_has_the_worst_first_and_each_score_in_its_cell(tmp_path: Path) -> None:
    scores = {"p/A": [[1, 1], [0, 0], [1, 0]], "p/B": [[1, 1], [1, 0], [1, 1]]}
    figures = {one.name: one for one in planted_scores(tmp_path, scores).report().figures}
    matrix = figures["statements-held"].drawing
    assert list(matrix.labels) == ["s1", "s2", "s0"]
    assert list(matrix.columns or ()) == ["A", "B"]
    assert matrix.shares == [[0.0, 0.5], [0.5, 1.0], [1.0, 1.0]]
    assert figures["statements-held"].numbers.columns["statement"] == ["s1", "s1", "s2", "s2", "s0", "s0"]


# Lone halves of characters cannot be in a table: UTF-8 has no bytes for them.
HOSTILE = "a\"/b'\\<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\x00\u202e../../x\n|#:%25@__"


@pytest.mark.parametrize("kind", ["answers", "scores", "talks", "pairs"])
def test_hostile_names_and_a_megabyte_of_answer_are_text_and_no_more(kind: str, tmp_path: Path) -> None:
    plant: dict[str, Callable[[], Planted]] = {
        "answers": lambda: planted_answers(tmp_path, {HOSTILE: both(0.5, 8), "b": both(0.2, 8)}, length=1_000_000),
        "scores": lambda: planted_scores(
            tmp_path, {HOSTILE: [[1, 0]] * 8, f"{HOSTILE}2": [[0, 1]] * 8}, [HOSTILE, "j"]
        ),
        "talks": lambda: planted_talks(tmp_path, {HOSTILE: talks(3, 8)}, {HOSTILE: talks(0, 8)}, [HOSTILE, "j"]),
        "pairs": lambda: planted_pairs(tmp_path, beats(5, 4, HOSTILE, "b") + beats(2, 3, HOSTILE, "c"), [HOSTILE, "j"]),
    }
    html = plant[kind]().report().html
    page = pages.Page(html)
    tags = [tag for tag, _ in page.tags]
    assert "img" not in tags
    assert tags.count("script") == html.count("<script") == 2
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)
    assert "<script>alert(1)</script>" in page.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", html)
    assert len(html) < 1_000_000
