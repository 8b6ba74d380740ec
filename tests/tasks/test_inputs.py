"""Inputs that models write: what is asked in each round, what is kept, and what is left out with its reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Arm, Ask, Item, Model
from overnight.core.errors import StudyError
from overnight.core.result import Result
from overnight.core.task import Rounds, Thread
from overnight.study import Study, resolve
from overnight.tasks._inputs.forms import read_questions, read_rating, read_scenarios
from overnight.tasks._inputs.places import Place, ScenarioKey, place_of, statement_of
from overnight.tasks._inputs.questions import Inputs
from overnight.tasks._inputs.rules import InputRules
from overnight.tasks._inputs.similarity import Texts, grams, likeness

FIELDS = {"statement": "Be kind.", "type": "guideline", "authority_level": "user", "examples": ""}
ITEMS = [Item("kind/ness", FIELDS), Item("brief", {**FIELDS, "statement": "Be brief."})]
WORDS = ("ash", "birch", "cedar", "elm", "fir", "gum", "hazel", "iris", "juniper", "kapok", "larch", "maple", "oak")


def arm(role: str, model: str = "m") -> Arm:
    return Arm(stage="s", name=f"{role}-{model}", template=role, model=Model(provider="openai", name=model))


def task(rules: InputRules, *, candidates: int = 0, writers: int = 1) -> Inputs:
    arms = [arm(role, f"w{n}") for role in ("scenarios", "questions") for n in range(writers)]
    arms += [arm("answer", f"c{n}") for n in range(candidates)]
    return Inputs([*arms, arm("rating", "j")], rules)


def words(*seed: object) -> str:
    """Three words that hang on the seed, and its own spelling: unlike all others."""
    text = "-".join(map(str, seed))
    number = sum(ord(letter) * place for place, letter in enumerate(text, 1))
    return " ".join([*(WORDS[number * step % len(WORDS)] for step in (1, 3, 7)), text * 3])


Model_ = Callable[[Ask], str | None]


def model(ask: Ask, *, grade: Callable[[Place], int] = lambda place: 3) -> str:
    place = place_of(ask.item)
    match ask.arm.template:
        case "scenarios":
            return json.dumps(
                {"scenarios": [{"category": "c", "scenario": words(ask.item, ask.arm.name, n)} for n in range(2)]}
            )
        case "questions":
            return json.dumps({"inputs": [words(ask.item, n, "q") for n in range(2)]})
        case "rating":
            return json.dumps({"explanation": "so", "usable": True, "rating": grade(place)})
        case _:
            return "An answer."


def played(one: Inputs, answer: Model_ = model, seed: int = 0) -> list[list[Ask]]:
    """All rounds of the engine, each answered at once."""
    rows: list[dict[str, Any]] = []
    rounds: list[list[Ask]] = []
    while asks := list(one.next_round(len(rounds), iter(ITEMS), iter(rows), seed)):
        rounds.append(asks)
        assert len({(ask.arm.name, ask.item) for ask in asks}) == len(asks)
        rows += [row_of(ask, answer(ask)) for ask in asks]
        assert len(rounds) < 30
    one.rows = rows  # type: ignore[attr-defined]
    return rounds


def row_of(ask: Ask, text: str | None) -> dict[str, Any]:
    status = "failed" if text is None else "answered"
    return {"arm": ask.arm.name, "item_id": ask.item, "replicate": 0, "status": status, "answer": text}


def kept(one: Inputs) -> dict[str, list[str]]:
    told = one.stories(one.rows)  # type: ignore[attr-defined]
    return {name: [str(written.place) for written in story.kept(one.rules)] for name, story in told.items()}


RULES = InputRules(n=3, rounds=2, scenarios=2, per_scenario=2, selection=0.5, difficulty=1.0)


def test_a_round_is_scenarios_inputs_answers_and_ratings():
    one = task(RULES, candidates=2)
    rounds = played(one)
    assert isinstance(one, Rounds)
    assert [asks[0].arm.template for asks in rounds] == ["scenarios", "questions", "answer", "rating"] * 2
    # Two statements; two scenarios, and in the second round one of the earlier ones as well.
    assert [len(asks) for asks in rounds] == [2, 4, 16, 16, 2, 6, 24, 24]
    assert "Inputs for this scenario had a mean difficulty of 0.50" in "".join(
        ask.messages[0].content for ask in rounds[5]
    )
    assert "(difficulty 0.50)" in rounds[4][0].messages[0].content
    assert all(one.item_of(ask.item) in {"kind/ness", "brief"} for asks in rounds for ask in asks)
    at_most = [(ask.arm.name, ask.item) for ask in one.start(ITEMS, 0)]
    assert len(set(at_most)) == len(at_most) == sum(map(len, rounds))
    assert len({ask.messages for ask in one.start(ITEMS, 0)}) == len(at_most) - sum(
        len(rounds[at]) // 2 for at in (2, 6)
    )


def test_judges_rate_the_inputs_themselves_without_candidates():
    rounds = played(task(RULES))
    assert [asks[0].arm.template for asks in rounds] == ["scenarios", "questions", "rating"] * 2
    assert "ANSWER BEGINS" not in rounds[2][0].messages[0].content


def test_a_statement_that_has_what_is_wanted_asks_no_more():
    def hard(ask: Ask) -> str:
        return model(ask, grade=lambda place: 1 if place.statement == "brief" else 4)

    one = task(RULES)
    rounds = played(one, hard)
    assert {statement_of(ask.item) for asks in rounds[3:] for ask in asks} == {"kind/ness"}
    assert all("/r0" in name for name in kept(one)["brief"])


def test_the_inputs_nearest_the_wanted_difficulty_are_kept():
    def by_place(ask: Ask) -> str:
        return model(ask, grade=lambda place: 1 + (place.question or 0) * 3)

    hard, easy = task(RULES), task(InputRules(n=3, rounds=2, scenarios=2, per_scenario=2, difficulty=0.25))
    played(hard, by_place)
    played(easy, by_place)
    assert all(name.endswith("q0") for names in kept(hard).values() for name in names)
    assert all(name.endswith("q1") for names in kept(easy).values() for name in names)
    even = task(InputRules(n=4, rounds=1, scenarios=2, per_scenario=2, uniform=True))
    played(even, by_place)
    assert [name[-2:] for name in kept(even)["brief"]] == ["q0", "q1", "q0", "q1"]


def test_what_is_left_out_has_its_reason():
    def careless(ask: Ask) -> str | None:
        place = place_of(ask.item)
        if ask.arm.template == "questions" and place.statement == "brief":
            if place.scenario == ScenarioKey(0, 0, 1):
                return None if place.round else "no list at all"
            text = words("the same", "one")
            return json.dumps({"inputs": [text, text + "!", " ", text + " or so", "a fifth"]})
        if ask.arm.template == "rating":
            return json.dumps({"explanation": "", "usable": False, "rating": 2}) if place.statement == "brief" else "hm"
        return model(ask)

    one = task(InputRules(n=3, rounds=1, scenarios=2, per_scenario=4, difficulty=1.0))
    played(one, careless)
    told = one.stories(one.rows)  # type: ignore[attr-defined]
    assert sorted(lost.why for lost in told["brief"].lost) == [
        "empty",
        "more than asked",
        "near-duplicate",
        "repeated",
        "unreadable",
    ]
    assert [written.why_not(one.rules) for written in told["brief"].inputs] == ["not usable"]
    assert {written.why_not(one.rules) for written in told["kind/ness"].inputs} == {"unrated"}
    assert kept(one) == {"brief": [], "kind/ness": []}


def test_rows_in_any_order_come_to_the_same_and_a_second_try_renames_nothing():
    def failing(ask: Ask) -> str | None:
        return None if ask.item == "brief/r0w0s0.0" else model(ask)

    one = task(InputRules(n=3, rounds=1, scenarios=2, per_scenario=2))
    played(one, failing)
    rows: list[dict[str, Any]] = one.rows  # type: ignore[attr-defined]
    before = one.stories(rows)["brief"]
    assert one.stories(reversed(rows))["brief"] == before
    at = next(index for index, row in enumerate(rows) if row["status"] == "failed")
    mended = [*rows]
    mended[at] = {
        **rows[at],
        "status": "answered",
        "answer": json.dumps({"inputs": [words("late", n) for n in range(2)]}),
    }
    after = one.stories(mended)["brief"]
    assert {w.place: w.ratings for w in before.inputs}.items() <= {w.place: w.ratings for w in after.inputs}.items()
    # What came late is rated when a pass begins.
    late = list(one.next_round(3, iter(ITEMS), iter(mended), 0))
    assert [ask.item for ask in late] == ["brief/r0w0s0.0q0", "brief/r0w0s0.0q1"]


def test_the_task_opens_again_from_what_a_run_keeps():
    one = task(RULES, candidates=1)
    again = Inputs.from_spec([arm for arms in one._arms.values() for arm in arms], json.loads(json.dumps(one.spec())))
    assert [[ask.item for ask in asks] for asks in played(again)] == [
        [ask.item for ask in asks] for asks in played(one)
    ]


@pytest.mark.parametrize(
    ("role", "answer", "row"),
    [
        ("questions", '{"inputs": ["a", ""]}', {"parsed": True, "written": 1}),
        ("questions", "sorry", {"parsed": False, "written": None}),
        ("rating", '{"usable": true, "rating": 9}', {"parsed": False}),
        ("answer", "anything", {}),
    ],
)
def test_rows_say_what_came(role: str, answer: str, row: Mapping[str, Any]):
    one = Inputs([arm(role)], RULES)
    thread = Thread(
        arm=arm(role), item=Item("x/r1w0s0.1q0", {}), replicate=0, turns=(Result(outcome="answered", answer=answer),)
    )
    assert next(one.read(thread)) == {"statement_id": "x", "search_round": 2, "step": role, **row}


def test_two_lists_or_ratings_that_differ_are_none():
    assert read_questions('{"inputs": ["a"]} or {"inputs": ["b"]}') is None
    assert read_questions('```json\n{"inputs": ["a"]}\n```') == ["a"]
    assert read_scenarios('{"scenarios": [{"scenario": "x"}, 5, "y"]}') == [("", "x"), None, ("", "y")]
    assert read_rating('{"usable": true, "rating": 2} {"usable": true, "rating": 3}') is None
    assert read_rating('{"usable": "yes", "rating": 2}') is None
    assert read_rating('{"usable": true, "rating": 2.0}') == (True, 2, None)


@given(st.text(), st.text())
def test_likeness_is_a_share_and_the_same_both_ways(one: str, other: str):
    share = likeness(grams(one), grams(other))
    assert 0 <= share <= 1
    assert share == likeness(grams(other), grams(one))
    assert likeness(grams(one), grams(one.upper().lower() + "  !")) <= 1
    texts = Texts(0.7)
    assert texts.keep("first", one) is None
    assert texts.keep("second", one) == ("first", 1.0)


@given(st.text(min_size=1), *([st.integers(0, 99)] * 4), st.integers(0, 5) | st.none())
def test_an_address_can_be_read_back(
    name: str, round_n: int, writer: int, born: int, number: int, candidate: int | None
):
    place = Place(name, round_n, writer, ScenarioKey(born, writer, number), 3, candidate)
    assert place_of(str(place)) == place
    assert statement_of(str(place)) == name
    bare = Place(name, round_n, writer)
    assert place_of(str(bare)) == bare


def study(folder: Path, **keys: Any) -> Study:
    line = {"id": "kind", "text": "Be kind.", "type": "guideline", "authority_level": "user", "section": "Manners"}
    lines = [line, {**line, "id": "brief", "text": "Be brief.", "section": "Style"}]
    (folder / "spec.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    whole = {"name": "n", "task": "inputs", "spec": str(folder / "spec.jsonl"), "models": ["openai/gpt-4.1"], **keys}
    return Study.from_mapping(whole)


def test_statements_are_chosen(tmp_path: Path):
    for chosen, names in (
        ({"ids": ["brief"]}, ["brief"]),
        ({"section": "manners"}, ["kind"]),
        ({"keyword": "BRIEF"}, ["brief"]),
        ({"n": 5}, ["kind", "brief"]),
    ):
        (stage,) = resolve(study(tmp_path, statements=chosen)).stages
        assert stage.items is not None
        assert [item.id for item in stage.items()] == names
    drawn = [len(list((resolve(study(tmp_path, statements={"n": 1})).stages[0].items or list)())) for _ in range(2)]
    assert drawn == [1, 1]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"difficulty": 1.5}, "difficulty: 1.5 is not between 0 and 1"),
        ({"rounds": 0}, "rounds: 0 is not between 1 and 1,000"),
        ({"judges": []}, "judges: at least one model is needed"),
        ({"judges": ["openai/gpt-4.1-minni"]}, "judges[0]: no model 'openai/gpt-4.1-minni' is known"),
        ({"candidates": [{"model": "openai/gpt-4.1", "temperature": 9}]}, "candidates[0].temperature"),
        ({"statements": {"ids": ["brif"]}}, "'brif' is no statement of the spec; did you mean 'brief'?"),
        ({"statements": {"keyword": "zebra"}}, "no statement fits all of this"),
        ({"statements": {"type": "law"}}, "statements.type: wanted prohibition, requirement, guideline or definition"),
        ({"replicates": 2}, "inputs asks each model once"),
        ({"system": "Be bad."}, "a system text goes with a model"),
        ({"scenario": 3}, "unknown key 'scenario'; did you mean 'scenarios'?"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, keys: dict[str, Any], said: str):
    with pytest.raises(StudyError) as error:
        resolve(study(tmp_path, **keys))
    assert said in str(error.value)
