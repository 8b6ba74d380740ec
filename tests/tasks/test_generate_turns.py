"""Conversations of more than one turn: what is asked next, for any answers."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.ask import Arm, Item, KeyMaker, Message, Model, Options
from overnight.core.errors import StudyError
from overnight.core.result import Result, failed
from overnight.core.task import Task, Thread, alike_in
from overnight.core.template import Template
from overnight.tasks.generate import Generate, kind, turn_templates

ITEM = Item("S01", {"text": "one", "chat": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]})


def arm(name="a", template="prompt"):
    return Arm(stage="talk", name=name, template=template, model=Model(provider="openai", name="gpt-4.1"))


def task(*turns, **changes) -> Generate:
    fields = {"templates": {"prompt": Template("Grade: {text}")}, "turns": turn_templates(turns), **changes}
    return Generate([arm()], **fields)


def answered(*answers) -> tuple[Result, ...]:
    return tuple(Result(outcome="answered", answer=answer) for answer in answers)


def thread(*turns, item=ITEM, replicate=0, of=None) -> Thread:
    return Thread(arm=of or arm(), item=item, replicate=replicate, turns=turns)


def said(ask):
    return [(message.role, message.content) for message in ask.messages]


def test_the_next_turn_follows_the_answer():
    talk = task("Sure about {text}?", "You said {answer}.")
    (second,) = talk.follow_up(thread(*answered("five")))
    assert said(second) == [("user", "Grade: one"), ("assistant", "five"), ("user", "Sure about one?")]
    assert (second.item, second.arm.name, second.turn, second.replicate, second.vote) == ("S01", "a", 1, 0, 0)
    (third,) = talk.follow_up(thread(*answered("five", "yes")))
    assert said(third) == [*said(second), ("assistant", "yes"), ("user", "You said yes.")]
    assert third.turn == 2
    assert talk.follow_up(thread(*answered("five", "yes", "bye"))) == ()


def test_only_turns_look_at_items():
    assert (task("x").most_turns, task("x").reads_items) == (2, True)
    assert (task().most_turns, task().reads_items) == (1, False)
    assert task().follow_up(thread(*answered("five"))) == ()


@pytest.mark.parametrize(
    "last",
    [
        failed("expired"),
        Result(outcome="refused", cause="content_filter", answer="I cannot"),
        Result(outcome="truncated", cause="max_tokens", answer="I th"),
        Result(outcome="answered", answer=None),
    ],
    ids=lambda result: result.outcome,
)
def test_nothing_is_asked_after_anything_but_an_answer(last):
    assert task("Sure?", "Really?").follow_up(thread(last)) == ()
    assert task("Sure?", "Really?").follow_up(thread(*answered("x"), last)) == ()
    assert task("Sure?", "Really?").follow_up(thread()) == ()


def test_a_turn_with_nothing_to_say_ends_the_conversation():
    assert task("{answer}").follow_up(thread(*answered(" "))) == ()
    assert len(task("{answer}").follow_up(thread(*answered("x")))) == 1


def test_the_last_answer_wins_over_a_column():
    item = Item("S01", {"text": "one", "answer": "the item's"})
    (ask,) = task("You said {answer}.").follow_up(thread(*answered("mine"), item=item))
    assert ask.messages[-1].content == "You said mine."


def test_a_conversation_goes_on_from_the_item_s_own():
    talk = Generate(
        [arm(template="messages")],
        messages="chat",
        systems={"a": Template("Be {text}")},
        turns=turn_templates(["Go on."]),
    )
    (ask,) = talk.follow_up(thread(*answered("well")))
    assert said(ask) == [
        ("system", "Be one"),
        ("user", "hi"),
        ("assistant", "ho"),
        ("assistant", "well"),
        ("user", "Go on."),
    ]


def test_votes_stay_apart_through_all_turns():
    templates = {name: Template("Grade: {text}") for name in ("a", "b")}
    arms = [arm(name, name) for name in templates]
    talk = Generate(arms, templates=templates, turns=turn_templates(["Sure?"]), replicates=2)
    asks = list(talk.start([ITEM], 0))
    threads = [thread(*answered("x"), replicate=ask.replicate, of=ask.arm) for ask in asks]
    follow_ups = [ask for one in threads for ask in talk.follow_up(one)]
    assert [(ask.arm.name, ask.replicate, ask.vote) for ask in follow_ups] == [
        (ask.arm.name, ask.replicate, ask.vote) for ask in asks
    ]
    assert len({KeyMaker(ask.arm).key(ask) for ask in follow_ups}) == 4


answers_of_any_kind = st.text(min_size=1).filter(str.strip)
# Texts that the study may have: places, braces that are none, and words.
words = st.lists(st.sampled_from(["x", " y", "\n", "{ }", "é", "{text}"]), min_size=1).map("".join).filter(str.strip)


@settings(deadline=None)
@given(
    st.lists(words, max_size=4),
    st.lists(answers_of_any_kind, max_size=6),
    st.integers(0, 3),
    st.sampled_from([None, "Be kind"]),
)
def test_a_conversation_alternates_and_only_grows(turns, answers, replicate, system):
    """Each turn is the one before it, the model's own words, and one more text of the study."""
    written = [f"{text}{{text}} {{answer}}" for text in turns]
    systems = {"a": Template(system)} if system else {}
    talk = task(*written, systems=systems, replicates=4)
    (first,) = [ask for ask in talk.start([ITEM], 0) if ask.replicate == replicate]
    before = first
    for number in range(1, len(answers) + 1):
        asks = talk.follow_up(thread(*answered(*answers[:number]), replicate=replicate))
        if number > len(turns):
            assert asks == ()
            continue
        (ask,) = asks
        answer = answers[number - 1]
        text = Message("user", Template(written[number - 1]).render({"text": "one", "answer": answer}))
        assert ask.messages == (*before.messages, Message("assistant", answer), text)
        assert (ask.turn, ask.replicate, ask.vote) == (number, first.replicate, first.vote)
        roles = [message.role for message in ask.messages if message.role != "system"]
        assert roles == (["user", "assistant"] * (number + 1))[:-1]
        before = ask


def test_what_a_later_turn_lacks_is_said_before_the_first():
    wanted = "item 'S01': template 'turn 2' comes out empty"
    item = Item("S01", {"text": "one", "more": " "})
    with pytest.raises(StudyError) as caught:
        list(task("Sure?", "{more}").start([item], 0))
    assert str(caught.value) == wanted
    with pytest.raises(StudyError, match=r"template 'turn 1' asks for \{nothing\}"):
        list(task("{nothing}").start([ITEM], 0))
    assert len(list(task("{answer}").start([item], 0))) == 1


def test_a_row_for_each_turn():
    rows = list(task("Sure?").read(thread(*answered("x"), failed("expired"))))
    assert rows == [{"parsed": None}, {"parsed": None}]


names = st.text("abc", min_size=1, max_size=3)


@settings(deadline=None)
@given(
    st.dictionaries(names, words, min_size=1, max_size=3),
    st.lists(words, max_size=2),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_task_can_be_opened_again_without_its_study(texts, turns, replicates, has_system):
    """What is asked is the same to the last key, also when keys come back in another order."""
    arms = [
        Arm(stage="s", name=name, template=name, model=Model(provider="openai", name="m", options=Options(seed=1)))
        for name in texts
    ]
    made = Generate(
        arms,
        templates={name: Template(text, name) for name, text in texts.items()},
        systems={arms[0].name: Template("Be kind", "system")} if has_system else {},
        turns=turn_templates(turns),
        replicates=replicates,
    )
    kept = msgspec.json.decode(msgspec.json.encode(made.spec(), order="sorted"))
    again: Task = kind.open(arms, kept)
    item = Item("S01", {"text": "one"})
    assert list(again.start([item], 0)) == list(made.start([item], 0))
    talk = thread(*answered("x"), item=item, of=arms[0])
    assert list(again.follow_up(talk)) == list(made.follow_up(talk))
    assert again.spec() == made.spec() == kept
    assert (again.most_turns, again.reads_items) == (made.most_turns, made.reads_items)


def test_what_a_spec_says():
    made = task("Sure?", systems={"a": Template("Be kind")}, replicates=2)
    assert made.spec() == {
        "templates": [{"name": "prompt", "text": "Grade: {text}"}],
        "messages": None,
        "systems": {"a": "Be kind"},
        "turns": ["Sure?"],
        "replicates": 2,
    }
    chat = Generate([arm(template="messages")], messages="chat")
    (ask,) = kind.open([arm(template="messages")], chat.spec()).start([ITEM], 0)
    assert said(ask) == [("user", "hi"), ("assistant", "ho")]


def test_answers_can_be_read_without_a_spec():
    asked, opened = thread(*answered("x")), kind.open([], {})
    (row,) = opened.read(asked)
    assert alike_in(opened)(asked.arm) | row == {"template": "prompt", "thinking": "default", "parsed": None}
