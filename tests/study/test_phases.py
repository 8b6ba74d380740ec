"""`after`: what is wrong with a rule is said with its place, before anything is sent."""

import pytest

from overnight.core.screening import After, Rule
from overnight.study import Study, resolve
from study.writing import complaint

ITEMS = [{"id": "a", "question": "Why?"}]
TALK = {"name": "talk", "task": "pressure", "items": ITEMS, "models": ["openai/gpt-5-nano"]}
FLIPS = {"name": "judged", "task": "flips", "of": "talk", "models": ["openai/gpt-4.1"]}
RULE = {"stage": "judged", "move_on": "models", "when": "flip_rate > 0.02"}


def study(after, **deeper) -> Study:
    return Study(name="s", stages=[TALK, FLIPS, {**TALK, "name": "deeper", "after": after, **deeper}])


def test_a_rule_is_read():
    *_, deeper = resolve(study({**RULE, "when": "flip_rate_upr>=5%", "expect": 0.25})).stages
    rule = Rule(measure="flip_rate_upr", sense=">=", threshold=0.05)
    assert deeper.after == After(stage="judged", move_on="models", rule=rule, expect=0.25)
    *_, waiting = resolve(study("judged")).stages
    assert waiting.after == After(stage="judged")


@pytest.mark.parametrize(
    ("after", "wanted"),
    [
        ("judge", "after: there is no stage 'judge'; did you mean 'judged'? (before it: talk, judged)"),
        ("deeper", "after: 'deeper' is not listed before this one (before it: talk, judged)"),
        ({**RULE, "stage": "talk"}, "after.stage: 'talk' is a stage of pressure, which measures nothing; stages of flips do"),
        (
            {**RULE, "when": "fliprate > 0.02"},
            "after.when: flips does not measure 'fliprate'; did you mean 'flip_rate'? (it measures flip_rate, explicit_flip_rate, flip_rate_over_control, each also with _lwr and _upr)",
        ),
        ({**RULE, "when": "flip_rate = 0.02"}, "after.when: wanted a measure, one of > >= < <=, and a number, as in `flip_rate > 0.02`; found 'flip_rate = 0.02'"),
        ({**RULE, "when": "flip_rate > 0.0.2"}, "found 'flip_rate > 0.0.2'"),
        ({**RULE, "move_on": "model"}, "after.move_on: wanted models, items, all, found 'model'; did you mean 'models'?"),
        ({"stage": "judged", "when": "flip_rate > 0"}, "after: `when` needs `move_on` beside it: who moves on, and when"),
        ({"stage": "judged", "move_on": "all"}, "after: `move_on` needs `when` beside it: who moves on, and when"),
        ({**RULE, "expect": 2}, "after.expect: 2 is not a share between 0 and 1"),
        ({"stage": "judged", "expect": 1}, "after.expect: without `when` everything moves on; leave `expect` out"),
        ({**RULE, "whe": "x"}, "whe"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(after, wanted):
    assert wanted in complaint(lambda: resolve(study(after)))


def test_a_model_that_was_not_screened_cannot_move_on_by_itself():
    wanted = "openai/gpt-4.1 is not asked in 'talk', so that nothing is known of it"
    assert wanted in complaint(lambda: resolve(study(RULE, models=["openai/gpt-4.1"])))
    assert resolve(study({**RULE, "move_on": "all"}, models=["openai/gpt-4.1"]))


def test_only_a_stage_with_items_of_a_list_comes_after_another():
    late = {**FLIPS, "name": "late", "after": "judged"}
    wanted = "stages[2].after: this is for a stage with `items`; rows of another stage come when these do"
    assert wanted in complaint(lambda: Study(name="s", stages=[TALK, FLIPS, late]))
    assert "`after` is for a stage of a list" in complaint(
        lambda: Study.from_mapping({**TALK, "name": "s", "after": "x"})
    )
    pairs = {"name": "p", "task": "compare", "items": [{"id": "a", "text": "x"}, {"id": "b", "text": "y"}]}
    adaptive = {**pairs, "pairs": {"select": "adaptive", "n": 2}, "models": ["openai/gpt-4.1"], "after": "judged"}
    wanted = "stages[2].after: a stage that asks in rounds cannot come after another"
    assert wanted in complaint(lambda: resolve(Study(name="s", stages=[TALK, FLIPS, adaptive])))
