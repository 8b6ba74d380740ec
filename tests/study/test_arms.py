import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.ask import Model, Options
from overnight.core.errors import StudyError
from overnight.study import Grid, resolve
from overnight.study.arms import build_arms, check_grid
from overnight.study.models import Candidate
from overnight.study.origin import Origin
from study.writing import a_study, complaint


def candidate(entry=0, name="gpt-4.1", system=None, **options):
    return Candidate(entry, Model(provider="openai", name=name, options=Options(**options)), system)


def built(templates, candidates, grid=None):
    return build_arms("generate", templates, candidates, msgspec.convert(grid, Grid | None), Origin())


def names(*arguments):
    return [branch.arm.name for branch in built(*arguments)]


def test_arms_are_templates_times_models_times_thinking():
    candidates = [candidate(0), candidate(1, "gpt-5.1", thinking="off"), candidate(1, "gpt-5.1", thinking=1024)]
    assert names(["a", "b"], candidates) == [
        "a__openai__gpt-4.1__default__forward",
        "a__openai__gpt-5.1__off__forward",
        "a__openai__gpt-5.1__1024__forward",
        "b__openai__gpt-4.1__default__forward",
        "b__openai__gpt-5.1__off__forward",
        "b__openai__gpt-5.1__1024__forward",
    ]


def test_other_characters_become_dashes():
    assert names(["é v1"], [candidate(name="ft:gpt/x:me")]) == ["--v1__openai__ft-gpt-x-me__default__forward"]


def test_the_second_of_a_name_has_a_hash():
    first, second, third = names(["a"], [candidate(0), candidate(1, temperature=0.0), candidate(2, system="x")])
    assert first == "a__openai__gpt-4.1__default__forward"
    assert re.fullmatch(re.escape(first) + "__[0-9a-f]{8}", second)
    assert re.fullmatch(re.escape(first) + "__[0-9a-f]{8}", third)
    assert second != third


def test_names_differ_by_more_than_capitals():
    first, second = names(["a"], [candidate(0, "x"), candidate(1, "X")])
    assert first.casefold() != second.casefold()


def test_what_is_added_renames_nothing():
    two = names(["a"], [candidate(0), candidate(1, temperature=0.0)])
    more = names(["a", "b"], [candidate(0), candidate(1, temperature=0.0), candidate(2, temperature=1.0)])
    assert set(two) < set(more)


def test_the_grid_renames_nothing():
    candidates = [candidate(0, "a/b"), candidate(1, "a-b")]
    assert names(["t"], candidates, {"exclude": [{"model": "openai/a/b"}]}) == names(["t"], candidates)[1:]


letters = st.text("aA/-:.é_", min_size=1, max_size=4)


@settings(deadline=None)
@given(
    st.lists(letters, min_size=1, max_size=3, unique=True),
    st.lists(
        st.tuples(letters, st.sampled_from([None, "off", 1]), st.sampled_from([None, 0.0, 1.0])),
        min_size=1,
        max_size=5,
        unique=True,
    ),
)
def test_names_are_unique_and_fit_for_files(templates, models):
    candidates = [
        candidate(place, name, thinking=thinking, temperature=warm)
        for place, (name, thinking, warm) in enumerate(models)
    ]
    found = names(templates, candidates)
    assert len({name.casefold() for name in found}) == len(found) == len(templates) * len(models)
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+", name) for name in found)
    # Adding to the end of either list is an extension: every arm keeps its name.
    assert set(names(templates, candidates[:-1] or candidates)) <= set(found)
    assert set(names(templates[:-1] or templates, candidates)) <= set(found)


def test_equal_arms_are_refused():
    models = ["openai/gpt-4.1", "openai/gpt-4.1-nano", {"model": "openai/gpt-4.1", "key": "LAB"}]
    wanted = "study: models[2]: models[0] asks the same: every option is equal"
    assert complaint(lambda: resolve(a_study(models=models))) == wanted


TEMPLATES = ("a", "b")
CANDIDATES = [candidate(0, "x"), candidate(1, "y", thinking="off"), candidate(1, "y", thinking="on")]
value = {
    "template": st.sampled_from(TEMPLATES),
    "model": st.sampled_from(["openai/x", "openai/y"]),
    "thinking": st.sampled_from(["default", "off", "on"]),
    "direction": st.just("forward"),
}
rules = st.lists(
    st.fixed_dictionaries(
        {}, optional={name: one | st.lists(one, min_size=1, max_size=2) for name, one in value.items()}
    ).filter(bool),
    min_size=1,
    max_size=2,
)


@settings(deadline=None)
@given(st.fixed_dictionaries({}, optional={"include": rules, "exclude": rules}))
def test_the_grid_keeps_what_its_rules_say(grid):
    def matches(rule, traits):
        return all(traits[name] in (one if isinstance(one, list) else [one]) for name, one in rule.items())

    everything = built(TEMPLATES, CANDIDATES)
    written = [rule for field in grid.values() for rule in field]
    idle = any(not any(matches(rule, branch.traits) for branch in everything) for rule in written)
    kept = [
        branch.arm.name
        for branch in everything
        if ("include" not in grid or any(matches(rule, branch.traits) for rule in grid["include"]))
        and not any(matches(rule, branch.traits) for rule in grid.get("exclude", []))
    ]
    if idle or not kept:
        with pytest.raises(StudyError):
            built(TEMPLATES, CANDIDATES, grid)
    else:
        assert names(TEMPLATES, CANDIDATES, grid) == kept


def test_a_rule_may_name_a_model_without_its_provider():
    grid = {"include": [{"model": "gpt-4.1"}]}
    assert names(["a"], [candidate(0), candidate(1, "gpt-5")], grid) == ["a__openai__gpt-4.1__default__forward"]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"include": []}, "grid.include: the list is empty"),
        ({"exclude": [{}]}, "grid.exclude[0]: a rule names at least one of template, model, thinking, direction"),
        ({"exclude": [{"model": []}]}, "grid.exclude[0].model: the list is empty"),
    ],
)
def test_an_empty_rule_is_said(grid, message):
    assert complaint(lambda: check_grid(msgspec.convert(grid, Grid), Origin())) == f"study: {message}"
    assert complaint(lambda: a_study(grid=grid)) == f"study: {message}"


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (
            {"exclude": [{"model": "openai/z"}]},
            "grid.exclude[0].model: no arm has the model 'openai/z'; did you mean 'openai/y'? (there are: openai/x, openai/y)",
        ),
        (
            {"include": [{"model": ["openai/x", "nobody/q"]}]},
            "grid.include[0].model: no arm has the model 'nobody/q' (there are: openai/x, openai/y)",
        ),
        (
            {"exclude": [{"direction": "reverse"}]},
            "grid.exclude[0].direction: no arm has the direction 'reverse' (there are: forward)",
        ),
        ({"exclude": [{"model": "openai/x", "thinking": "on"}]}, "grid.exclude[0]: no arm has all of this together"),
        ({"exclude": [{"template": ["a", "b"]}]}, "grid: no arm is left"),
    ],
)
def test_a_rule_about_nothing_is_said(grid, message):
    assert complaint(lambda: built(TEMPLATES, CANDIDATES, grid)) == f"study: {message}"
