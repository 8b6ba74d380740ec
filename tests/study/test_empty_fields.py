"""Items with nothing in a column that a question names are never asked unnoticed."""

import pandas as pd
import polars as pl
import pytest

from overnight.study import resolve
from study.writing import a_study, complaint

CSV = "ID,title,text,n\nS01,A,one,1\nS02,,two,2\nS03,C,,3\nS04,, ,4\nS05,E,five,5\n"
CHOICES = "fill them in, or choose: `empty: skip` in the study (--empty skip without one) leaves them out, `empty: allow` asks all the same"


@pytest.fixture
def essays(tmp_path):
    path = tmp_path / "essays.csv"
    path.write_text(CSV)
    return path


def asked(study):
    (stage,) = resolve(study).stages
    notes = [note for note in stage.notes if "item" in note]
    return [ask.messages[-1].content for ask in stage.task.start(stage.items(), 0)], notes


def test_they_are_refused_with_their_number_and_examples(essays):
    study = a_study(items=essays, prompt="{title}: {text}")
    examples = f"'S02' ({essays}:3: title), 'S03' ({essays}:4: text), 'S04' ({essays}:5: text, title)"
    found = f"{essays}: 3 of 5 items have nothing in a column that the questions name: {examples}"
    assert complaint(lambda: resolve(study)) == f"{found}; {CHOICES}"


def test_only_columns_that_are_asked_for_count(essays):
    said = complaint(lambda: resolve(a_study(items=essays, prompt="{text}")))
    assert "2 of 5 items" in said
    assert "title" not in said
    assert asked(a_study(items=essays, prompt="{ID}"))[0] == ["S01", "S02", "S03", "S04", "S05"]


def test_of_many_the_first_are_shown(tmp_path):
    rows = pl.DataFrame({"ID": range(1, 1001), "text": [None] * 900 + ["x"] * 100, "more": ["y"] * 1000})
    said = complaint(lambda: resolve(a_study(items=rows, prompt="{text}")))
    assert "900 of 1,000 items have nothing" in said
    assert "'3' (study: items[2]: text) and 897 more;" in said


def test_skip_leaves_them_out(essays):
    texts, notes = asked(a_study(items=essays, prompt="{title}: {text}", empty="skip"))
    assert texts == ["A: one", "E: five"]
    (note,) = notes
    assert note.startswith(f"{essays}: 3 of 5 items have an empty field and are left out: 'S02' ({essays}:3: title)")


def test_allow_asks_with_nothing_in_the_place(essays):
    texts, notes = asked(a_study(items=essays, prompt="{title}: {text}", empty="allow"))
    assert texts == ["A: one", ": two", "C: ", ":  ", "E: five"]
    assert "3 of 5 items have an empty field and are asked with nothing in its place" in notes[0]


def test_when_nothing_is_left_it_is_said(tmp_path):
    study = a_study(items=[{"ID": "1", "text": ""}], prompt="{text}", empty="skip")
    assert (
        complaint(lambda: resolve(study)) == "study: items: every item has nothing in a column that the questions name"
    )


@pytest.mark.parametrize("nothing", [None, float("nan"), "", " \t"])
def test_nothing_has_many_forms(nothing):
    rows = {"ID": ["1", "2"], "text": ["x", nothing], "more": ["y", "z"]}
    lists = [dict(zip(rows, row, strict=True)) for row in zip(*rows.values(), strict=True)]
    frames = [pd.DataFrame(rows), lists, *([] if isinstance(nothing, float) else [pl.DataFrame(rows)])]
    for items in frames:
        assert "1 of 2 items has nothing" in complaint(
            lambda items=items: resolve(a_study(items=items, prompt="{text}"))
        )


def test_words_for_nothing_are_asked_and_told():
    rows = [{"ID": "1", "text": "NA"}, {"ID": "2", "text": "NA"}, {"ID": "3", "text": "words"}]
    texts, notes = asked(a_study(items=rows, prompt="{text}"))
    assert texts == ["NA", "NA", "words"]
    assert notes == ["study: items: 2 items with 'NA' in column 'text', asked as it stands"]


def test_a_sample_without_text_is_no_sample(essays):
    study = a_study(items=essays, task="compare", prompt=None)
    assert "2 of 5 items have nothing in a column" in complaint(lambda: resolve(study))
    (stage,) = resolve(study.replace(empty="skip")).stages
    pairs = [ask.item for ask in stage.task.start(stage.items(), 0)]
    assert sorted({name for pair in pairs for name in pair.split(":")}) == ["S01", "S02", "S05"]


def test_what_only_a_later_stage_names_is_looked_at_before_the_first_is_paid(essays):
    first = {"name": "one", "task": "generate", "items": str(essays), "prompt": "{ID}", "models": ["openai/gpt-4.1"]}
    second = {
        "name": "two",
        "task": "generate",
        "of": "one",
        "prompt": "{answer} {title}",
        "models": ["openai/gpt-4.1"],
    }
    study = a_study().from_mapping({"name": "essay", "stages": [first, second]})
    assert "2 of 5 items have nothing" in complaint(lambda: resolve(study))
