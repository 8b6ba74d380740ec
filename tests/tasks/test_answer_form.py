"""Reading verdicts: exactly one sample named, or nothing."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.tasks._pairs.answer_form import AnswerForm, Reading

ONE, TWO = (f"<BETTER_SAMPLE>SAMPLE_{seat}</BETTER_SAMPLE>" for seat in (1, 2))
WITH_ALL = AnswerForm(ties=True, explanation=True, confidence=True)


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (ONE, "first"),
        (f"Both are fine.\n{TWO}\n", "second"),
        (f"{ONE} I repeat: {ONE}", "first"),
        ("<better_sample> sample_2\n</better_sample>", "second"),
        (f"You asked for {ONE} or {TWO}. I choose {ONE}", "unparsed"),
        ("SAMPLE_1 is better.", "unparsed"),
        ("<BETTER_SAMPLE>SAMPLE_1", "unparsed"),
        (f"{ONE} <BETTER_SAMPLE>SAMPLE_3</BETTER_SAMPLE>", "unparsed"),
        ("<BETTER_SAMPLE>SAMPLE_1 and SAMPLE_2</BETTER_SAMPLE>", "unparsed"),
        ("<BETTER_SAMPLE>TIE</BETTER_SAMPLE>", "unparsed"),
        ("", "unparsed"),
    ],
)
def test_tags(answer, verdict):
    assert AnswerForm().read(answer, structured=False).verdict == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ('{"better_sample": "SAMPLE_1"}', "first"),
        ('{"better_sample": "SAMPLE_2"}', "second"),
        ('{"better_sample": "TIE"}', "unparsed"),
        ('{"better_sample": ["SAMPLE_1"]}', "unparsed"),
        ('["SAMPLE_1"]', "unparsed"),
        (ONE, "unparsed"),
        ("{}", "unparsed"),
        ('{"better_sample": "SAMPLE_1"} {"better_sample": "SAMPLE_2"}', "unparsed"),
    ],
)
def test_objects(answer, verdict):
    assert AnswerForm().read(answer, structured=True).verdict == verdict


def test_ties_count_where_they_are_allowed():
    assert WITH_ALL.read("<BETTER_SAMPLE>TIE</BETTER_SAMPLE>", structured=False).verdict == "tie"
    assert WITH_ALL.read('{"better_sample": "TIE"}', structured=True).verdict == "tie"


def test_reasons_and_confidence_in_both_forms():
    said = Reading("first", 0.75, "It is clear.")
    tags = f"<EXPLANATION>It is clear.</EXPLANATION><CONFIDENCE>0.75</CONFIDENCE>{ONE}"
    assert WITH_ALL.read(tags, structured=False) == said
    document = {"explanation": "It is clear.", "better_sample": "SAMPLE_1", "confidence": 0.75}
    assert WITH_ALL.read(json.dumps(document), structured=True) == said


@pytest.mark.parametrize("confidence", ["very", "2", "-0.1", "nan"])
def test_confidence_that_is_no_share_is_left_out(confidence):
    reading = WITH_ALL.read(f"<CONFIDENCE>{confidence}</CONFIDENCE>{TWO}", structured=False)
    assert reading == Reading("second")


def test_tags_of_one_s_own():
    form = AnswerForm(tags=("[[", "]]"))
    assert form.read("[[SAMPLE_2]]", structured=False).verdict == "second"
    assert form.read(ONE, structured=False).verdict == "unparsed"


@given(st.text(max_size=60), st.booleans())
def test_any_answer_can_be_read(answer, structured):
    assert AnswerForm().read(answer, structured=structured).verdict in {"first", "second", "unparsed"}


def test_what_is_asked_for_stands_in_the_prompt_and_in_the_schema():
    for structured in (False, True):
        plain, whole = (form.asked_in("Judge.", structured=structured) for form in (AnswerForm(), WITH_ALL))
        assert "There are no ties" in plain
        assert "TIE" in whole
        assert "explanation" in whole.lower()
        assert "confidence" in whole.lower()
    assert list(WITH_ALL.schema()["properties"]) == ["explanation", "better_sample", "confidence"]
    assert AnswerForm().schema()["properties"]["better_sample"]["enum"] == ["SAMPLE_1", "SAMPLE_2"]


def test_a_template_with_tags_of_its_own_is_left_alone():
    assert AnswerForm().asked_in(f"Choose: {ONE}", structured=False) == f"Choose: {ONE}"


@pytest.mark.parametrize("piece", ["<BETTER_SAMPLE>", "<EXPLANATION>", "<EXPLANATION> ", "</CONFIDENCE><CONFIDENCE>"])
def test_tags_without_end_are_read_in_no_time(piece):
    """An answer may be a megabyte, and a model may repeat itself to the end of it."""
    began = time.perf_counter()
    assert WITH_ALL.read(piece * 50_000, structured=False).verdict == "unparsed"
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("confidence", ["1" + "0" * 400, "1e400", "-1e400", '"nan"', '"1e999"'])
def test_a_confidence_beyond_all_numbers_is_none(confidence):
    answer = f'{{"better_sample": "SAMPLE_1", "confidence": {confidence}}}'
    assert WITH_ALL.read(answer, structured=True).confidence is None
