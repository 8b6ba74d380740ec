"""Who moves on: by a rule and by figures, and never by what is not known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.screening import After, Decision, Measured, Rule, decide, moved_on_text, phase_numbers
from overnight.core.stage import StageRules

RULE = Rule(measure="flip_rate", sense=">", threshold=0.02)
AFTER = After(stage="judged", move_on="models", rule=RULE)


@pytest.mark.parametrize(
    ("sense", "at", "above"), [(">", False, True), (">=", True, True), ("<", False, False), ("<=", True, False)]
)
def test_a_rule_says_what_happens_at_its_threshold(sense, at, above):
    rule = Rule(measure="m", sense=sense, threshold=0.5)
    assert (rule.holds(0.5), rule.holds(0.6)) == (at, above)


@given(st.dictionaries(st.text(min_size=1), st.none() | st.floats(0, 1)), st.lists(st.text(min_size=1)))
def test_every_unit_gets_one_decision_and_what_is_unknown_stays(values, others):
    measured = {name: Measured(name, 3, value, 0.0, 1.0) for name, value in values.items()}
    units = list(dict.fromkeys([*values, *others]))
    found = list(decide(AFTER, units, measured))
    assert [one.unit for one in found] == units
    for one in found:
        value = values.get(one.unit)
        assert one.moved == (value is not None and value > 0.02)
        assert one.why


def test_what_is_said_of_a_decision():
    def decision(unit: str, *, moved: bool) -> Decision:
        return Decision(unit=unit, n=1, value=0.0, lwr=0.0, upr=1.0, moved=moved, why="")

    some = [decision("a", moved=True), *(decision(name, moved=False) for name in "bcdef")]
    told = "deeper: 1 of 6 models moved on (flip_rate > 0.02); not: b, c, d and 2 more"
    assert moved_on_text("deeper", AFTER, some) == told
    whole = After(stage="judged", move_on="all", rule=RULE)
    assert (
        moved_on_text("deeper", whole, some) == "deeper: everything is asked, because flip_rate > 0.02 in 1 of 6 models"
    )
    nobody = "deeper: nothing is asked, because flip_rate > 0.02 in 0 of 5 models"
    assert moved_on_text("deeper", whole, some[1:]) == nobody


def test_phases_are_counted_along_both_ways():
    class Named(StageRules, frozen=True, kw_only=True):
        name: str

    stages = [
        Named(name="talk"),
        Named(name="judged", of="talk"),
        Named(name="deeper", after=AFTER),
        Named(name="again", of="deeper"),
        Named(name="last", after=After(stage="again")),
        Named(name="aside"),
    ]
    assert phase_numbers(stages) == {"talk": 1, "judged": 1, "deeper": 2, "again": 2, "last": 3, "aside": 1}
