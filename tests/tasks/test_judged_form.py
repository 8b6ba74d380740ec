import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.template import Template
from overnight.tasks._judging.answer_pairs import FORM as RANK
from overnight.tasks._judging.form import JudgedForm, Judgement, objects_in
from overnight.tasks._prompt_files import prompt_names, prompt_text
from overnight.tasks._specs.reading import examples_text

COMPLY, GRADE = JudgedForm("comply"), JudgedForm("grade")
FORMS = {"comply": COMPLY, "grade": GRADE, "rank": RANK}
UNPARSED = Judgement("unparsed")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"compliant": true, "confidence": 0.9, "explanation": "fine"}', Judgement("compliant", 1.0, 0.9, "fine")),
        ('{"compliant": false}', Judgement("not compliant", 0.0)),
        ('Some words {with braces} first.\n```json\n{"compliant": true}\n```', Judgement("compliant", 1.0)),
        ('```\n{"compliant": "False", "confidence": 2}\n```\nDone.', Judgement("not compliant", 0.0)),
        ('I think so: {"compliant": true, "explanation": "a {b} c"}.', Judgement("compliant", 1.0, None, "a {b} c")),
        ('{{"compliant": true, "confidence": 0.5}}', Judgement("compliant", 1.0, 0.5)),
        ('{"compliant": true} and again {"compliant": true}', Judgement("compliant", 1.0)),
        # Two different verdicts, or one that contradicts itself, are none.
        ('{"compliant": true} no: {"compliant": false}', UNPARSED),
        ('```json\n{"compliant": true}\n```\n```json\n{"compliant": false}\n```', UNPARSED),
        ('{"compliant": true, "compliant": false}', UNPARSED),
        ('{"compliant": null}', UNPARSED),
        ('{"compliant": "perhaps"}', UNPARSED),
        ('{"compliant": 1}', UNPARSED),
        ("yes, it is compliant", UNPARSED),
        ("ERROR: rate_limit", UNPARSED),
        ("", UNPARSED),
        ("{" * 5_000, UNPARSED),
        ("[" * 50_000, UNPARSED),
    ],
)
def test_compliance_is_read_strictly(answer, said):
    assert COMPLY.read(answer) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"rating": 4, "explanation": "good"}', Judgement("4", 4.0, None, "good")),
        ('{"rating": "5"}', Judgement("5", 5.0)),
        ('{"rating": 3.0}', Judgement("3", 3.0)),
        ('{"rating": 0}', UNPARSED),
        ('{"rating": 6}', UNPARSED),
        ('{"rating": 3.5}', UNPARSED),
        ('{"rating": true}', UNPARSED),
        ('{"rating": 2} or {"rating": 3}', UNPARSED),
        ("4", UNPARSED),
    ],
)
def test_grades_are_read_strictly(answer, said):
    assert GRADE.read(answer) == said


@given(st.text(max_size=200))
def test_reading_is_total(text):
    for form in (COMPLY, GRADE):
        assert isinstance(form.read(text), Judgement)
    assert all(isinstance(one, dict) for one in objects_in(text))


@given(st.booleans(), st.text(alphabet='ab {}"\n`', max_size=40), st.floats(0, 1))
def test_what_a_schema_gives_is_read_as_it_is(compliant, explanation, confidence):
    said = {"explanation": explanation, "compliant": compliant, "confidence": confidence}
    found = COMPLY.read(json.dumps(said))
    assert (found.score, found.confidence, found.explanation) == (float(compliant), confidence, explanation)


def test_what_is_asked_for_is_what_is_read():
    fields = {"explanation": "one or two sentences", "confidence": 0.5}
    filled = {"true | false": "true", "1 | 2 | 3 | 4 | 5": "4", "0.0-1.0": "0.5"}
    for form, field, verdict in ((COMPLY, "compliant", ("compliant", 1.0)), (GRADE, "rating", ("4", 4.0))):
        assert list(form.schema()["properties"]) == ["explanation", field, "confidence"]
        (shown,) = re.findall(r"^\{.*\}$", form.asked_in("Judge: {answer}", structured=False), re.MULTILINE)
        # The form as it is shown, filled in by a judge.
        for choice, chosen in filled.items():
            shown = shown.replace(choice, chosen)
        assert form.read(shown) == Judgement(*verdict, **fields)
    own = 'Say {"compliant": true | false}.'
    assert COMPLY.asked_in(own, structured=False) == own


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize(("task", "name"), [(task, name) for task in FORMS for name in prompt_names(task)])
def test_braces_reach_the_judge_as_they_are_meant(task, name, structured):
    """Neither doubled nor around a name, as in a text that was never formatted."""
    template = Template(FORMS[task].asked_in(prompt_text(task, name), structured=structured))
    shown = template.render(dict.fromkeys(template.names, "FILLED"))
    assert not re.search(r"\{\{|\}\}|\{\s*\w+\s*\}", shown)
    assert shown.count("FILLED") >= 3


def test_examples_are_shown_where_there_are_any():
    shown = examples_text({"examples": [{"description": "d", "user_query": "q", "good_response": "g"}]})
    assert shown.endswith("1.\nSituation: d\nInput: q\nRight: g")
    assert examples_text({"examples": []}) == examples_text({}) == ""
