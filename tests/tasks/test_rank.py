import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Arm, Item, Model, Options
from overnight.core.handed_on import HANDED_ON, HandedOn, group_item, row_item
from overnight.core.result import Result, failed
from overnight.core.task import KeepsParts, PartsOfItems, Task, Thread
from overnight.core.template import Template
from overnight.tasks._judging.answer_pairs import FORM, AnswerPair, Rank, pair_address, pair_at
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.judging import Comply, Grade
from overnight.tasks._pairs.answer_form import AnswerForm

STATEMENT = {"statement_id": "no_spam", "statement": "Never advertise.", "type": "prohibition", "input": "one?"}


def arm(name="a", direction="forward", **options):
    model = Model(provider="openai", name="gpt-4.1", options=Options(**options))
    return Arm(stage="ranking", name=name, template="default", model=model, direction=direction)


def handed(model="gpt-4.1", answer="An answer.", **changes):
    told = {
        "answer": answer,
        "thoughts": None,
        "item_id": "no_spam_0",
        "arm": f"input__openai__{model}__default__forward",
        "provider": "openai",
        "model": model,
        "template": "input",
        "thinking": "default",
        "replicate": 0,
        "turn": 0,
        "answers": [answer],
        "conversation": None,
        "status": "answered",
    }
    return HandedOn(**{**told, **changes})


def a_rank(*arms, **more):
    template = Template("{statement} {input} {SAMPLE_1} or {SAMPLE_2}", "default")
    return Rank(list(arms) or [arm()], templates={"default": template}, **more)


def group(*members):
    return group_item(list(members), "item", 0, STATEMENT)


def test_it_is_a_task():
    task: Task = a_rank()
    assert isinstance(task, PartsOfItems)
    assert Rank.from_spec([arm()], task.spec()).spec() == task.spec()


def test_every_two_candidates_are_shown_in_both_orders():
    task = a_rank(arm("f"), arm("r", "reverse"))
    item = group(handed("a", "A."), handed("b", "B."), handed("c", "C."))
    shown = [(ask.arm.name, ask.item, ask.messages[-1].content.split("one? ")[1][:7]) for ask in task.start([item], 0)]
    assert len(shown) == len({(name, address) for name, address, _ in shown}) == 6
    assert ("f", "no_spam_0|openai/a|openai/b", "A. or B") in shown
    assert ("r", "no_spam_0|openai/a|openai/b", "B. or A") in shown


def test_answers_that_are_empty_or_alone_are_not_asked_about():
    task = a_rank()
    assert not list(task.start([group(handed("a")), group(handed("a"), handed("b", " "))], 0))


def test_answers_of_one_replicate_are_compared_with_each_other():
    task = a_rank()
    members = [handed(model, f"{model}{n}", replicate=n) for model in "ab" for n in (0, 1)]
    asked = {ask.item: ask.messages[-1].content for ask in task.start([group(*members)], 0)}
    assert list(asked) == ["no_spam_0|openai/a|openai/b", "no_spam_0|openai/a|openai/b#1"]
    assert "a1 or b1" in asked["no_spam_0|openai/a|openai/b#1"]


def row(answer, direction="forward", result=None):
    task = a_rank(arm("f"), arm("r", "reverse"))
    item = group(handed("a", "A."), handed("b", "Longer."))
    one = arm("f" if direction == "forward" else "r", direction)
    turns = (result or Result(outcome="answered", answer=answer),)
    (found,) = task.read(
        Thread(arm=one, item=Item("no_spam_0|openai/a|openai/b", item.fields), replicate=0, turns=turns)
    )
    return found


@pytest.mark.parametrize(
    ("answer", "direction", "verdict", "winner", "parsed"),
    [
        ("<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>", "forward", "first", "openai/a", True),
        ("<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>", "reverse", "first", "openai/b", True),
        ("<BETTER_SAMPLE>SAMPLE_2</BETTER_SAMPLE>", "forward", "second", "openai/b", True),
        ("<BETTER_SAMPLE>TIE</BETTER_SAMPLE>", "forward", "tie", None, True),
        ("<BETTER_SAMPLE>NONE</BETTER_SAMPLE>", "forward", "none", None, True),
        # What SpecEval called a tie.
        ("**Model: B**", "forward", "unparsed", None, False),
        ("A", "forward", "unparsed", None, False),
        ("Model: {{B}}", "forward", "unparsed", None, False),
        ("ERROR: rate_limit", "forward", "unparsed", None, False),
        ("", "forward", "unparsed", None, False),
        ("<BETTER_SAMPLE>Model: {{B}}</BETTER_SAMPLE>", "forward", "unparsed", None, False),
        ("<BETTER_SAMPLE></BETTER_SAMPLE>", "forward", "unparsed", None, False),
    ],
)
def test_no_tie_is_invented(answer, direction, verdict, winner, parsed):
    found = row(answer, direction)
    assert (found["verdict"], found["winner_id"], found["parsed"]) == (verdict, winner, parsed)
    assert (found["subject"], found["statement_id"], found["statement_type"]) == ("no_spam_0", "no_spam", "prohibition")


@pytest.mark.parametrize(
    "said", ['{"better_sample": "A"}', '{"better_sample": null}', '{"verdict": "SAMPLE_1"}', "[]", ""]
)
def test_no_tie_is_invented_where_answers_are_held_to_a_schema(said):
    assert FORM.read(said, structured=True).verdict == "unparsed"


def test_a_failed_row_has_no_verdict_and_was_not_unreadable():
    found = row("", result=failed("server_error"))
    assert (found["verdict"], found["winner_id"], found["parsed"]) == ("none", None, None)


def test_lengths_go_with_the_places():
    assert (row("x")["first_length"], row("x")["second_length"]) == (2, 7)
    assert (row("x", "reverse")["first_length"], row("x", "reverse")["second_length"]) == (7, 2)


def test_a_judge_may_say_that_it_cannot_tell():
    assert FORM.schema()["properties"]["better_sample"]["enum"] == ["SAMPLE_1", "SAMPLE_2", "TIE", "NONE"]
    assert all("NONE" in FORM.asked_in("x", structured=structured) for structured in (True, False))


def test_all_that_a_judge_is_offered_is_read():
    """And offered in the text as it is in the schema."""
    offered = re.findall(r"<BETTER_SAMPLE>.*?</BETTER_SAMPLE>", FORM.asked_in("x", structured=False))
    documents = [f'{{"better_sample": "{seat}"}}' for seat in FORM.schema()["properties"]["better_sample"]["enum"]]
    verdicts = ["first", "second", "tie", "none"]
    assert [FORM.read(one, structured=False).verdict for one in offered] == verdicts
    assert [FORM.read(one, structured=True).verdict for one in documents] == verdicts


@pytest.mark.parametrize("said", ["NONE", "N/A", "n/a", "unsure", " None "])
def test_other_words_for_not_being_able_to_tell_are_no_tie_and_not_unreadable(said):
    tags, document = f"<BETTER_SAMPLE>{said}</BETTER_SAMPLE>", f'{{"explanation": "", "better_sample": "{said}"}}'
    assert FORM.read(tags, structured=False).verdict == FORM.read(document, structured=True).verdict == "none"
    # Where a judge is not offered to say so, it has named no sample.
    assert AnswerForm().read(tags, structured=False).verdict == "unparsed"


def talked(model, answer, **changes):
    """With all that was said before, which a judge is not shown."""
    said = [{"role": "user", "content": "Once upon a time. " * 50}, {"role": "assistant", "content": answer}]
    return handed(model, answer, thoughts="Well. " * 50, conversation=said, **changes)


def test_what_is_kept_of_an_answer_is_all_that_is_needed():
    task = a_rank(arm("f"), arm("r", "reverse"))
    assert isinstance(task, KeepsParts)
    models = [("a", "default"), ("a", "low"), ("b", "default")]
    rows = [talked(model, f"{model} {how}", thinking=how, replicate=n) for model, how in models for n in (0, 1)]
    whole, kept = (group_item(rows, "item", 2, STATEMENT, names) for names in (HANDED_ON, task.kept_fields))
    assert list(task.start([whole], 0)) == list(task.start([kept], 0))
    assert len(msgspec.json.encode(kept.fields)) < len(msgspec.json.encode(whole.fields)) / 3
    said = (Result(outcome="answered", answer="<BETTER_SAMPLE>SAMPLE_1</BETTER_SAMPLE>"),)
    for ask in task.start([whole], 0):
        found = []
        for item in (whole, kept):
            fields = task.decode_item(msgspec.json.encode(item.fields))
            found += task.read(Thread(arm=ask.arm, item=Item(ask.item, fields), replicate=0, turns=said))
        assert found[0] == found[1]
        assert {found[0]["first_length"], found[0]["second_length"]} <= {len("a default"), len("a low")}


@pytest.mark.parametrize("judging", [Comply, Grade, Rank])
def test_what_prompts_name_is_kept_with_the_item(judging):
    def kept(text, **systems):
        named = {arm: Template(system, "system") for arm, system in systems.items()}
        return set(judging([arm()], templates={"default": Template(text, "default")}, systems=named).kept_fields)

    plain = kept("{statement} {input}")
    assert plain < set(HANDED_ON) - {"conversation", "answers", "thoughts"}
    assert kept("{statement} {thoughts}") == plain | {"thoughts"}
    assert kept("{statement}", a="It was asked {conversation}.") == plain | {"conversation"}
    assert kept("{statement} {members}") == (set(HANDED_ON) if judging is Rank else plain)


@pytest.mark.parametrize("judging", [Comply, Grade])
def test_what_is_read_of_an_item_is_all_that_rows_say(judging):
    task = judging([arm()])
    fields = STATEMENT | {"section": "Ads", "authority_level": "user", "input_index": 3}
    of_stage, kept = (row_item(talked("a", "An."), fields, names).fields for names in (HANDED_ON, task.kept_fields))
    assert len(msgspec.json.encode(kept)) < len(msgspec.json.encode(of_stage)) / 3
    for whole in (of_stage, kept, fields | {"answer": "B", "candidate": "b"}):
        parts = task.decode_item(msgspec.json.encode(whole))
        assert "input" not in parts
        (row, other) = (
            next(task.read(Thread(arm=arm(), item=Item("i", one), replicate=0, turns=(failed("expired"),))))
            for one in (parts, whole)
        )
        assert row == other
        assert (row["section"], row["input_index"], row["judged_length"]) == ("Ads", 3, len(whole["answer"]))


NAMES = st.text(min_size=1, max_size=12)


@given(NAMES, NAMES, NAMES, st.integers(0, 3))
def test_an_address_can_be_read_back(item, first, second, replicate):
    pair = AnswerPair(item, first, second, replicate)
    assert pair_at(pair_address(pair)) == pair
    assert Rank([arm()]).item_of(pair_address(pair)) == item


def test_candidates_are_told_apart():
    rows = [
        handed(),
        handed(thinking="low", arm="input__openai__gpt-4.1__low__forward"),
        handed(template="short", arm="short__openai__gpt-4.1__default__forward"),
        handed(arm="input__openai__gpt-4.1__default__forward__1a2b3c4d"),
    ]
    assert [candidate_name(row_item(one, {}).fields) for one in rows] == [
        "openai/gpt-4.1",
        "openai/gpt-4.1 (low)",
        "openai/gpt-4.1 (short)",
        "openai/gpt-4.1 (1a2b3c4d)",
    ]


def test_an_empty_answer_is_never_held_to_a_statement():
    task = Comply([arm()], templates={"default": Template("{statement} {input} {answer}", "default")})
    items = [row_item(handed(answer=answer, model=model), STATEMENT) for model, answer in (("a", "An."), ("b", " "))]
    assert [ask.item for ask in task.start(items, 0)] == ["no_spam_0@input__openai__a__default__forward"]
    assert Comply.from_spec([arm()], task.spec()).spec() == task.spec()
    (found,) = task.read(
        Thread(arm=arm(), item=items[0], replicate=0, turns=(Result(outcome="answered", answer='{"compliant": true}'),))
    )
    assert (found["candidate"], found["label"], found["score"], found["judged_length"]) == (
        "openai/a",
        "compliant",
        1.0,
        3,
    )
    (open_row,) = task.read(Thread(arm=arm(), item=items[0], replicate=0, turns=(failed("expired"),)))
    assert (open_row["label"], open_row["score"], open_row["parsed"]) == ("none", None, None)


@pytest.mark.parametrize("task", [Comply, Grade])
def test_a_judge_that_says_nothing_has_no_verdict(task):
    """An answer that is None is neither an error of ours nor a "no"."""
    item = Item("i", {"answer": "x", "candidate": "a", "statement_id": "s"})
    for result in (Result(outcome="answered", answer=None), Result(outcome="failed", cause="server")):
        thread = Thread(arm=arm(), item=item, replicate=0, turns=(result,))
        (row,) = task([arm()]).read(thread)
        assert (row["label"], row["score"], row["parsed"]) == ("none", None, None)


def test_a_judge_of_two_answers_that_says_nothing_has_no_verdict():
    found = row("", result=Result(outcome="answered", answer=None))
    assert (found["verdict"], found["winner_id"], found["parsed"]) == ("none", None, None)
