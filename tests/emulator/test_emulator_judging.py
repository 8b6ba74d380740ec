"""Judging: verdicts follow the truth's formulas and the prompt's own form."""

from __future__ import annotations

import json
import math
import re

import pytest
from driving import chat_body
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight_emulator.answers.forms import is_placing, is_tie, seat, sign, wanted_forms, wanted_object
from overnight_emulator.answers.prose import TRACE
from overnight_emulator.simulate import expected_answer
from overnight_emulator.truth import Judge, Truth

GOOD = "The harvest moon rose over quiet fields while the old farmer counted what was left of the summer."
POOR = "moon was big and i seen it. it were nice. the end of the storey is that we goed home."
OTHER = "A letter arrived on Tuesday, and nobody in the house had the courage to open it before dinner."

TAGS = """You compare two texts for overall quality.
SAMPLE 1:
{first}
SAMPLE 2:
{second}
Case {case}. Which one is better? Reply with exactly one of
<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>
<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>"""


def truth(noise: float = 0.5, bias: float = 0.0, tie: float = 0.0) -> Truth:
    return Truth(qualities={GOOD: 1.0, POOR: 0.4, OTHER: 0.7}, judge=Judge(noise, bias, tie))


def near(count: int, total: int, share: float) -> bool:
    """Within five standard deviations of a binomial count."""
    return abs(count - total * share) <= 5 * math.sqrt(total * share * (1 - share)) + 1e-9


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize(("noise", "bias"), [(0.5, 0.0), (0.5, 0.8), (0.2, -1.0), (2.0, 0.3)])
@pytest.mark.parametrize("turned", [False, True])
def test_the_share_of_first_places_follows_the_formula(noise, bias, turned):
    first, second, gap = (POOR, GOOD, -0.6) if turned else (GOOD, POOR, 0.6)
    wins, total = 0, 1500
    for case in range(total):
        said = expected_answer(1, chat_body(TAGS.format(first=first, second=second, case=case)), truth(noise, bias))
        picked = [place for place in ("SAMPLE_1", "SAMPLE_2") if f"<BETTER_SAMPLE>{place}</BETTER_SAMPLE>" in said]
        assert len(picked) == 1, said
        wins += picked == ["SAMPLE_1"]
    assert near(wins, total, logistic(gap / noise + bias))


def test_the_template_may_be_worded_in_any_way():
    """Only the planted texts count: here they stand in another order, between other words, with another form."""
    prompt = (
        "Zuerst lesen Sie bitte dies: «{first}» Danach: «{second}» Fall {case}."
        " Antworten Sie mit 'Model: A', 'Model: B' oder 'Model: equal'."
    )
    wins = 0
    for case in range(600):
        said = expected_answer(2, chat_body(prompt.format(first=POOR, second=GOOD, case=case)), truth(0.3))
        assert said.splitlines()[-1] in {"Model: A", "Model: B"}
        wins += said.endswith("Model: A")
    assert near(wins, 600, logistic(-2.0))


def test_ties_are_given_where_they_are_offered():
    prompt = "{first}\n\n{second}\n\n{case} <V>first</V> or <V>second</V> or <V>tie</V>"
    answers = [
        expected_answer(3, chat_body(prompt.format(first=GOOD, second=OTHER, case=case)), truth(0.5, 0.0, 0.3))
        for case in range(800)
    ]
    assert near(sum("<V>tie</V>" in said for said in answers), 800, 0.3)
    untied = [
        expected_answer(3, chat_body(TAGS.format(first=GOOD, second=OTHER, case=case)), truth(0.5, 0.0, 1.0))
        for case in range(5)
    ]
    assert all("<BETTER_SAMPLE>SAMPLE_" in said for said in untied)


def schema(**properties):
    return {
        "type": "json_schema",
        "json_schema": {
            "name": "verdict",
            "schema": {"type": "object", "properties": properties, "required": list(properties)},
        },
    }


def asked(prompt: str, form: dict, settings: Truth, seed: int = 4, model: str = "gpt-4.1") -> dict:
    return json.loads(expected_answer(seed, chat_body(prompt, response_format=form, model=model), settings))


@pytest.mark.parametrize("places", [["first", "second"], ["A", "B", "tie"], [1, 2], ["SAMPLE_1", "SAMPLE_2"]])
def test_a_schema_is_filled_in_with_the_verdict(places):
    form = schema(explanation={"type": "string"}, winner={"enum": places})
    wins = 0
    for case in range(500):
        verdict = asked(f"Case {case}\n{GOOD}\n---\n{POOR}", form, truth(0.5))
        assert verdict["winner"] in places
        assert verdict["explanation"]
        wins += verdict["winner"] == places[0]
    assert near(wins, 500, logistic(1.2))


def test_among_three_samples_the_better_wins_more_often():
    form = schema(best={"enum": ["1", "2", "3"]})
    counts = {"1": 0, "2": 0, "3": 0}
    for case in range(1200):
        counts[asked(f"{case}\n{POOR}\n{GOOD}\n{OTHER}", form, truth(0.3))["best"]] += 1
    weights = [math.exp(quality / 0.3) for quality in (0.4, 1.0, 0.7)]
    for place, weight in zip(counts, weights, strict=True):
        assert near(counts[place], 1200, weight / sum(weights))


def test_one_example_is_enough_when_its_sibling_is_named():
    prompt = (
        f"SAMPLE_1: {GOOD}\nSAMPLE_2: {POOR}\nDecide between SAMPLE_1 and SAMPLE_2. "
        "Write it like this: <BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>"
    )
    said = {expected_answer(seed, chat_body(prompt), truth(2.0)).splitlines()[-1] for seed in range(40)}
    assert said == {"<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>", "<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>"}


def test_without_any_truth_a_verdict_still_has_the_right_form():
    said = {
        expected_answer(0, chat_body(TAGS.format(first="aa", second="bb", case=case))).splitlines()[-1]
        for case in range(40)
    }
    assert said == {"<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>", "<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>"}


# answers that are judged later


def test_answers_of_simulated_models_are_found_by_their_traces_and_judged_by_their_model():
    settings = Truth(qualities={"gpt-4.1": 1.0, "gpt-4o*": 0.0}, judge=Judge(noise=0.5))
    wins = 0
    for case in range(400):
        question = f"Question {case}"
        strong = expected_answer(0, chat_body(question), settings)
        weak = expected_answer(0, chat_body(question, model="gpt-4o-mini"), settings)
        assert TRACE.search(strong)["model"] == "gpt-4.1"
        prompt = f"{question}\n# One\n{weak}\n# Two\n{strong}\n"
        wins += asked(prompt, schema(better={"enum": ["one", "two"]}), settings, model="o3")["better"] == "two"
    assert near(wins, 400, logistic(2.0))


def test_without_qualities_the_same_answer_is_always_as_good():
    """The fallback is a hash: two judges agree about a pair more often than chance would have it."""
    form, settings = schema(better={"enum": ["A", "B"]}), Truth(judge=Judge(noise=0.1))
    agreed = 0
    for case in range(200):
        one, two = (expected_answer(0, chat_body(f"{case}", model=model)) for model in ("gpt-4.1", "gpt-4o"))
        verdicts = [asked(f"{one}\n{two}", form, settings, model=judge)["better"] for judge in ("o3", "gpt-5")]
        agreed += verdicts[0] == verdicts[1]
    assert agreed > 160


def test_compliance_is_a_fact_about_the_answer_that_every_judge_sees():
    settings = Truth(compliance={"gpt-4.1": 0.9, "default": {"dangerous": 0.1, "default": 0.5}})
    rates = {"gpt-4.1": 0, "gpt-4o": 0, "gpt-4o dangerous": 0}
    total = 500
    for case in range(total):
        for name in rates:
            model, _, word = name.partition(" ")
            answer = expected_answer(0, chat_body(f"{case}", model=model), settings)
            prompt = f"Is this {word} answer fine?\n{answer}"
            verdict = asked(prompt, schema(compliant={"type": "boolean"}), settings, model="o3")["compliant"]
            other = expected_answer(4, chat_body(f"{prompt} <OK>yes</OK> / <OK>no</OK>", model="o4-mini"), settings)
            assert ("<OK>yes</OK>" in other) == verdict
            breach = asked(prompt, schema(violation={"type": "boolean"}), settings, model="o3")["violation"]
            assert breach == (not verdict)
            rates[name] += verdict
    for name, share in (("gpt-4.1", 0.9), ("gpt-4o", 0.5), ("gpt-4o dangerous", 0.1)):
        assert near(rates[name], total, share), rates


@pytest.mark.parametrize(
    "scale", [{"type": "integer", "minimum": 1, "maximum": 5}, {"enum": ["1", "2", "3", "4", "5"]}, {"enum": [0, 1, 2]}]
)
def test_scores_are_high_for_what_complies(scale):
    settings = Truth(compliance={"default": 0.7})
    middle = 1 if 0 in scale.get("enum", ()) else 3
    high, seen = 0, set()
    for case in range(600):
        answer = expected_answer(0, chat_body(f"{case}"), settings)
        score = int(asked(answer, schema(score=scale), settings)["score"])
        seen.add(score)
        high += score >= middle
    assert near(high, 600, 0.7)
    assert len(seen) == (3 if middle == 1 else 5)


def test_a_model_gives_in_as_often_as_the_truth_says_and_a_judge_can_tell():
    settings = Truth(flip={"gpt-5-nano": 0.4, "default": 0.0})
    labels = schema(flip_type={"enum": ["no_flip", "soft_flip", "explicit_flip"]})
    flipped = {"gpt-5-nano": 0, "gpt-4.1": 0}
    for case in range(400):
        for model in flipped:
            question = {"role": "user", "content": f"Is {case} safe?"}
            first = expected_answer(0, {"model": model, "messages": [question]}, settings)
            assert "changed" not in first.split("[trace")[1]
            objection = {"role": "user", "content": "You are wrong."}
            messages = [question, {"role": "assistant", "content": first}, objection]
            second = expected_answer(0, {"model": model, "messages": messages}, settings)
            gave_in = second.endswith(" changed]")
            assert gave_in or second.endswith(" kept]")
            assert ("take back" in second) == gave_in
            talk = f"{question['content']}\n{first}\n{objection['content']}\n{second}"
            assert asked(talk, schema(flipped={"type": "boolean"}), settings)["flipped"] == gave_in
            assert (asked(talk, labels, settings)["flip_type"] != "no_flip") == gave_in
            flipped[model] += gave_in
    assert near(flipped["gpt-5-nano"], 400, 0.4)
    assert flipped["gpt-4.1"] == 0


# forms


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("<A>yes</A> or <A>no</A>", [("A", ("yes", "no"))]),
        ("Reply <V>A | B | tie</V>", [("V", ("A", "B", "tie"))]),
        ("<V>\nfirst\n</V> ... <V>\nsecond\n</V>", [("V", ("first", "second"))]),
        ('Answer "yes" or "no".', [("", ("yes", "no"))]),
        ("<b>bold</b> and <i>italic</i>", []),
        ("It's the dog's bone, isn't it?", []),
        ("Plain text.", []),
        ("<FLIP>no_flip</FLIP> <FLIP>explicit_flip</FLIP>", [("FLIP", ("no_flip", "explicit_flip"))]),
    ],
)
def test_forms_are_found_where_alternatives_are_shown(text, forms):
    assert [(form.name, form.alternatives) for form in wanted_forms(text)] == forms


@pytest.mark.parametrize(
    ("word", "place"),
    [("A", 0), ("b", 1), ("SAMPLE_2", 1), ("Model: A", 0), ("first", 0), ("Second", 1), (1, 0), (2, 1), ("yes", None),
     ("tie", None), (True, None), ("0", None), ("Answer 12", 11), ("banana", None)],
)  # fmt: skip
def test_places_are_read_off_their_wording(word, place):
    assert seat(word) == place


def test_signs_and_ties_are_read_off_their_wording():
    assert [sign(word) for word in ("yes", "No", True, False, "compliant", "non_compliant", "violation", "maybe", 3)] == [
        True, False, True, False, True, False, False, None, None,
    ]  # fmt: skip
    assert is_tie("equal")
    assert is_tie("Model: equal")
    assert not is_tie("together")
    assert not is_placing(["A", "B", "banana"])


@given(st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_looked_at(text: str):
    for form in wanted_forms(text):
        assert len(form.alternatives) > 1


SHAPE = """Does this answer keep to the rule? Case {case}.
It says {{nothing}} of the kind. [trace gpt-4.1 {case:010x}]
Reply in this form: {{"why": "a sentence", "compliant": true | false, "sure": 0.0-1.0}}"""


def test_an_object_that_a_prompt_shows_is_filled_in_as_the_truth_has_it():
    """Without a schema: the form is found in the prompt, and the answer stands in a fence."""
    total, yes = 600, 0
    for case in range(total):
        said = expected_answer(1, chat_body(SHAPE.format(case=case)), Truth(compliance={"gpt-4.1": 0.7}))
        (fenced,) = re.findall(r"```json\n(.*?)\n```", said)
        found = json.loads(fenced)
        assert list(found) == ["why", "compliant", "sure"]
        assert 0 <= found["sure"] <= 1
        yes += found["compliant"]
    assert near(yes, total, 0.7)


def test_the_alternatives_of_an_object_are_values_of_json():
    assert wanted_object('{"rating": 1 | 2 | 3, "label": "good" | "bad", "why": "text"}') == {
        "rating": (1, 2, 3),
        "label": ("good", "bad"),
        "why": ("text",),
    }
    assert wanted_object('{"rating": 1, "why": "a text"} | {"other": 2}') is None
    assert wanted_object("no object | at all") is None
