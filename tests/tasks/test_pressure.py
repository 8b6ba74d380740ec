"""Questions under pressure: what is said in each design, with the model's own answers before it."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Arm, Item, Model
from overnight.core.errors import StudyError
from overnight.core.result import Result, failed
from overnight.core.task import Thread
from overnight.study import Study, resolve
from overnight.tasks._pressure.texts import QUESTION_SETS, lines, phrases, shipped_questions, shipped_types
from overnight.tasks.pressure import Pressure, kind
from study.writing import complaint

ITEM = Item("q1", {"question": "Is it safe?", "category": "home", "prompt": "No {braces} here. It is."})


def task(design="escalation", levels=None, types=None, control=True, **changes) -> Pressure:
    said = phrases(design, "safety", levels, types, control)
    arms = [
        Arm(stage="talk", name=name, template=name, model=Model(provider="openai", name="gpt-4.1"))
        for name in said.names
    ]
    return Pressure(arms, {"phrases": msgspec.to_builtins(said), **changes})


def thread(of: Pressure, arm: str, *turns: Result) -> Thread:
    return Thread(arm=of._arms[arm], item=ITEM, replicate=0, turns=turns)


def said(ask) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in ask.messages]


def answered(*texts: str) -> list[Result]:
    return [Result(outcome="answered", answer=text) for text in texts]


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=3))
def test_every_turn_holds_the_real_answers_so_far(answers):
    talk = task()
    turn = len(answers)
    (ask,) = talk.follow_up(thread(talk, "escalation", *answered(*answers)))
    levels = lines("safety_levels")
    expected = [("user", "Is it safe?")]
    for answer, level in zip(answers, levels, strict=False):
        expected += [("assistant", answer), ("user", level)]
    assert said(ask) == expected
    assert (ask.turn, ask.vote, ask.item) == (turn, 0, "q1")
    assert talk.follow_up(thread(talk, "escalation", *answered("a", "b", "c", "d"))) == ()


@pytest.mark.parametrize(
    ("last", "goes_on"),
    [
        (Result(outcome="refused", cause="content_filter", answer="I will not."), True),
        (Result(outcome="truncated", cause="max_tokens", answer="It is not"), True),
        (Result(outcome="refused", cause="content_filter"), False),
        (Result(outcome="answered", answer=" \n"), False),
        (failed("expired"), False),
    ],
)
def test_it_goes_on_after_a_refusal_and_ends_without_words(last, goes_on):
    talk = task()
    assert bool(talk.follow_up(thread(talk, "escalation", last))) is goes_on


def test_the_control_asks_again_as_often_without_pressure():
    talk = task(levels=2)
    (ask,) = talk.follow_up(thread(talk, "control", *answered("no", "no")))
    assert [text for role, text in said(ask) if role == "user"] == ["Is it safe?", *lines("neutral")[:2]]
    rows = list(talk.read(thread(talk, "control", *answered("no", "no", "no"))))
    assert [(row["level"], row["control"], row["type"]) for row in rows] == [(n, True, "control") for n in range(3)]


def test_arms_of_a_model_share_the_first_answer():
    first = [(said(ask), ask.vote) for ask in task("types").start([ITEM], 0)]
    assert len(first) == len(shipped_types("safety")) + 1
    assert first == [first[0]] * len(first)


def test_a_question_brings_its_own_pressure():
    talk = task("prompts")
    (ask,) = talk.follow_up(thread(talk, "prompts", *answered("no")))
    assert said(ask)[-1] == ("user", "No {braces} here. It is.")
    (row, _) = talk.read(thread(talk, "prompts", *answered("no", "yes")))
    assert (row["category"], row["question"]) == ("home", "Is it safe?")
    with pytest.raises(StudyError, match="'q2': column 'prompt' is empty"):
        list(talk.start([Item("q2", {"question": "Why?", "prompt": " "})], 0))


def test_a_cold_start_has_the_pressure_inside():
    talk = task("cold_start", types=["dismissal"])
    opening, control = talk.start([ITEM], 0)
    assert said(opening)[0][1].endswith("it is obviously safe. Is it safe?")
    assert said(control) == [("user", "Is it safe?")]
    assert talk.most_turns == 1
    assert [next(talk.read(thread(talk, name, *answered("no"))))["level"] for name in ("dismissal", "control")] == [
        1,
        0,
    ]


def test_a_run_opens_it_again():
    talk = task("types", replicates=2)
    again = kind.open(list(talk._arms.values()), msgspec.json.decode(msgspec.json.encode(talk.spec())))
    assert [said(ask) for ask in again.start([ITEM], 0)] == [said(ask) for ask in talk.start([ITEM], 0)]


@pytest.mark.parametrize("name", QUESTION_SETS)
def test_question_sets_ship(name):
    questions = shipped_questions(name)
    assert len({question["id"] for question in questions}) == len(questions) >= 20
    study = Study(name="s", task="pressure", items=name, models=["openai/gpt-4.1"])
    asks = list(resolve(study).stages[0].task.start(resolve(study).stages[0].items(), 0))
    assert said(asks[0]) == [("user", questions[0]["question"])]


def test_shipped_texts_are_for_both_stances():
    for stance in ("safety", "factual"):
        assert len(lines(f"{stance}_levels")) == 5
        assert set(shipped_types(stance)) == set(shipped_types(stance, cold=True))
        assert all("{question}" in text for text in shipped_types(stance, cold=True).values())


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        ({"design": "typs"}, "design: wanted one of escalation, types, prompts, cold_start, found 'typs'; did you mean 'types'?"),
        ({"levels": 6}, "levels: 6 is not between 1 and 5; write a list of texts for levels of your own"),
        ({"levels": []}, "levels: the list is empty"),
        ({"levels": ["mine.txt"]}, "levels[0]: 'mine.txt' would be sent as it stands; these texts are written in place"),
        ({"types": ["dismissal"]}, "types: this is for the design types or cold_start, not for escalation"),
        ({"design": "types", "types": ["flatery"]}, "types[0]: unknown type 'flatery'; did you mean 'flattery'?"),
        ({"design": "types", "types": [{"name": "control", "text": "x"}]}, "types[0]: 'control' is the name of the neutral re-asks"),
        ({"design": "cold_start", "types": [{"name": "a", "text": "x"}]}, "types[0].text: a cold start does not show the question: write {question} in it"),
        ({"design": "prompts"}, "items has no column 'prompt'; the columns are id, question; name it with `pressing`"),
        ({"question": "text"}, "items has no column 'text'; the columns are id, question; name it with `question`"),
        ({"levels": ["Really, {who}?"]}, "template 'level 1' asks for {who}, which is no column of the items"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place(keys, wanted):
    written = {
        "name": "s",
        "task": "pressure",
        "items": [{"id": "a", "question": "Why?"}],
        "models": ["openai/gpt-4.1"],
    }
    assert wanted in complaint(lambda: resolve(Study(**written, **keys)))


def test_types_may_be_added_and_keep_their_words():
    old = {"types": {"a": "x"}, "control": []}
    assert list(kind.differences(old, {"types": {"a": "x", "b": "y"}, "control": ["again?"]})) == []
    assert list(kind.differences(old, {"types": {"a": "z"}, "control": []})) == ['types.a: was "x", is now "z"']
