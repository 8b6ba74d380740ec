import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overnight.core.ask import Arm, Item, KeyMaker, Message, Model, Options
from overnight.core.errors import StudyError
from overnight.core.handed_on import HANDED_ON
from overnight.core.result import Result, failed
from overnight.core.task import Task, Thread
from overnight.core.template import Template
from overnight.study.prompts import vote_starts
from overnight.tasks.generate import Generate

ITEMS = [Item("S01", {"text": "one"}), Item("S02", {"text": "two"})]


def arm(name="a", template="prompt", **options):
    return Arm(
        stage="generate",
        name=name,
        template=template,
        model=Model(provider="openai", name="gpt-4.1", options=Options(**options)),
    )


def asks(task, items=ITEMS):
    return list(task.start(items, 0))


def test_an_ask_for_each_item_arm_and_replicate():
    task = Generate([arm("a"), arm("b")], templates={"prompt": Template("Grade: {text}")}, replicates=2)
    found = [(ask.item, ask.arm.name, ask.replicate, ask.turn, ask.vote) for ask in asks(task)]
    assert found == [
        ("S01", "a", 0, 0, 0),
        ("S01", "a", 1, 0, 1),
        ("S01", "b", 0, 0, 0),
        ("S01", "b", 1, 0, 1),
        ("S02", "a", 0, 0, 0),
        ("S02", "a", 1, 0, 1),
        ("S02", "b", 0, 0, 0),
        ("S02", "b", 1, 0, 1),
    ]
    assert asks(task)[4].messages == (Message("user", "Grade: two"),)


def test_it_is_a_task():
    task: Task = Generate([arm()])
    assert (task.name, task.version, task.reads_items, task.most_turns) == ("generate", "1", False, 1)
    assert task.columns == {"template": "text", "thinking": "text", "parsed": "boolean"}
    assert task.follow_up(Thread(arm=arm(), item=ITEMS[0], replicate=0, turns=())) == ()


def test_the_same_words_under_two_names_are_two_votes():
    templates = {name: Template("Grade: {text}") for name in ("a", "b")} | {"c": Template("Mark: {text}")}
    task = Generate([arm(name, name) for name in templates], templates=templates, replicates=2)
    keys = [KeyMaker(ask.arm).key(ask) for ask in asks(task)]
    assert len(set(keys)) == len(keys) == 12
    assert [ask.vote for ask in asks(task)][:6] == [0, 1, 1_000_000, 1_000_001, 0, 1]


def test_items_of_the_same_words_share_their_question():
    task = Generate([arm()], templates={"prompt": Template("{text}")})
    first, second = asks(task, [Item("a", {"text": "x"}), Item("b", {"text": "x"})])
    assert KeyMaker(first.arm).key(first) == KeyMaker(second.arm).key(second)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=5), st.integers(1, 4), st.integers(1, 4))
def test_votes_stay_when_a_study_grows(texts, few, more):
    def votes(listed, replicates):
        templates = {f"t{place}": Template(text) for place, text in enumerate(listed)}
        task = Generate([arm(name, name) for name in templates], templates=templates, replicates=replicates)
        return {(ask.arm.name, ask.replicate): (ask.messages, ask.vote) for ask in asks(task, ITEMS[:1])}

    grown = votes(texts, few + more)
    assert votes(texts[:-1] or texts, few).items() <= grown.items()
    assert len(set(grown.values())) == len(grown)


def test_vote_starts():
    assert vote_starts({"a": Template("x"), "b": Template("y"), "c": Template("x")}) == {"a": 0, "b": 0, "c": 1_000_000}


def test_system_texts_go_by_arm():
    task = Generate(
        [arm("a"), arm("b"), arm("c")],
        templates={"prompt": Template("{text}")},
        systems={"a": Template("Be {text}"), "c": Template("{none}")},
    )
    item = Item("S01", {"text": "kind", "none": None})
    assert [[message.content for message in ask.messages] for ask in asks(task, [item])] == [
        ["Be kind", "kind"],
        ["kind"],
        ["kind"],
    ]
    assert asks(task, [item])[0].messages[0].role == "system"


CHAT = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u"},
    {"role": "assistant", "content": "a"},
    {"role": "user", "content": "v"},
]


@pytest.mark.parametrize(
    "value",
    [
        CHAT,
        '[{"role":"system","content":"s"},{"role":"user","content":"u"},{"role":"assistant","content":"a"},{"role":"user","content":"v"}]',
    ],
)
def test_messages_of_an_item(value):
    (ask,) = asks(Generate([arm(template="messages")], messages="chat"), [Item("S01", {"chat": value})])
    assert ask.messages == (
        Message("system", "s"),
        Message("user", "u"),
        Message("assistant", "a"),
        Message("user", "v"),
    )


WANTED = """item 'S01', column 'chat': wanted a list like [{"role": "user", "content": "..."}]; """


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], WANTED + "the list is empty"),
        ("hello", WANTED + "JSON is malformed: invalid character (byte 0)"),
        ("", WANTED + "Input data was truncated"),
        (None, WANTED + "Expected `array`, got `null`"),
        ([{"role": "robot", "content": "x"}], WANTED + "Invalid enum value 'robot' - at `$[0].role`"),
        ([{"role": "user"}], WANTED + "Object missing required field `content` - at `$[0]`"),
        ([{"role": "user", "content": ["x"]}], WANTED + "Expected `str`, got `array` - at `$[0].content`"),
        ([{"role": "user", "content": "x", "name": "y"}], WANTED + "Object contains unknown field `name` - at `$[0]`"),
    ],
)
def test_what_is_wrong_with_messages_is_said(value, message):
    task = Generate([arm(template="messages")], messages="chat")
    with pytest.raises(StudyError) as caught:
        asks(task, [Item("S01", {"chat": value})])
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("task", "fields", "message"),
    [
        (
            Generate([arm(template="messages")], messages="chat", systems={"a": Template("x")}),
            {"chat": CHAT},
            "item 'S01' has a system message of its own; leave out `system`",
        ),
        (
            Generate([arm(template="messages")], messages="chat"),
            {"Chat": CHAT},
            "item 'S01' has no column 'chat' with its messages; the columns are Chat; did you mean 'Chat'?",
        ),
        (
            Generate([arm()], templates={"prompt": Template("{text}\n")}),
            {"text": " "},
            "item 'S01': template 'prompt' comes out empty",
        ),
        (
            Generate([arm()], templates={"prompt": Template("{text}")}),
            {"text": None},
            "item 'S01': template 'prompt' comes out empty",
        ),
        (
            Generate([arm()], templates={"prompt": Template("{text}")}),
            {"txt": "x"},
            "template 'prompt' asks for {text}, which is no column of the items; the columns are txt; did you mean 'txt'?",
        ),
    ],
)
def test_what_cannot_be_asked_is_said(task, fields, message):
    with pytest.raises(StudyError) as caught:
        asks(task, [Item("S01", fields)])
    assert str(caught.value) == message


def rows(answer, **options):
    results = tuple(Result(outcome="answered", answer=one) if isinstance(one, str) else one for one in answer)
    asked = arm(template="mine", **options)
    task = Generate([asked])
    read = task.read(Thread(arm=asked, item=ITEMS[0], replicate=0, turns=results))
    return [task.alike(asked) | row for row in read]


def test_rows_without_a_schema():
    assert rows(["x"], thinking=1024) == [{"template": "mine", "thinking": "1024", "parsed": None}]
    assert rows(["{}"]) == [{"template": "mine", "thinking": "default", "parsed": None}]
    assert rows([]) == []


SCHEMA = {"type": "object", "required": ["a"]}


def test_rows_with_a_schema():
    found = rows(['{"a": 1}', "{}", "no", failed("expired")], json_schema=SCHEMA, thinking="off")
    assert [row["parsed"] for row in found] == [True, False, False, None]
    assert {row["thinking"] for row in found} == {"off"}


GRADED = {
    "type": "object",
    "properties": {"grade": {"type": "integer"}, "why": {"type": "string"}},
    "required": ["grade"],
}


def test_a_schema_gives_columns_of_its_types():
    task = Generate([arm(json_schema=GRADED), arm("plain")])
    assert list(task.columns.items())[3:] == [("answer_grade", "integer"), ("answer_why", "text")]
    read, unread, open_ended = rows(
        ['{"grade": 4, "why": "clear"}', '{"grade": "four"}', '{"grade": 2}'], json_schema=GRADED
    )
    assert (read["parsed"], read["answer_grade"], read["answer_why"]) == (True, 4, "clear")
    assert unread["parsed"] is False
    assert "answer_grade" not in unread
    assert open_ended["parsed"] is True
    assert "answer_why" not in open_ended


def test_a_run_that_is_opened_again_has_the_same_columns():
    task = Generate([arm(json_schema=GRADED)])
    assert Generate.from_spec([arm(json_schema=GRADED)], task.spec()).columns == task.columns


def test_arms_that_disagree_share_a_wider_column():
    def graded(kind):
        return {"type": "object", "properties": {"grade": {"type": kind}}}

    def columns(*kinds):
        return Generate([arm(kind, json_schema=graded(kind)) for kind in kinds]).columns["answer_grade"]

    assert columns("integer", "number") == "number"
    assert columns("number", "boolean") == columns("string", "integer") == "text"


def test_a_conversation_is_kept_with_a_row_where_it_is_asked_about():
    """Elsewhere it would say the item and the answer once more."""

    def kept(text, system="", turn="And?"):
        task = Generate(
            [arm()], templates={"prompt": Template(text)}, systems={"a": Template(system)}, turns=[Template(turn)]
        )
        return set(task.kept_fields)

    assert kept("{answer}") == set(HANDED_ON) - {"conversation"}
    assert kept("{members}") == kept("{conversation}") == set(HANDED_ON)
    assert kept("{text}", system="{conversation}") == kept("{text}", turn="{members}") == set(HANDED_ON)
    assert set(Generate([arm()], messages="conversation").kept_fields) == set(HANDED_ON)
