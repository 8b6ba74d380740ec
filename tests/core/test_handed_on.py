"""What a later stage is told of a row and of a group."""

from overnight.core.ask import Arm, Item, Message, Model, Options
from overnight.core.handed_on import GROUPED, HANDED_ON, group_item, handed_on, row_item, turns_of
from overnight.core.result import Result
from overnight.core.task import Thread

ARM = Arm(
    stage="s", name="arm", template="t", model=Model(provider="openai", name="m", options=Options(thinking="low"))
)
ASKED = (Message("system", "Be brief."), Message("user", "Why?"))


def thread(*answers: str | None, replicate: int = 0) -> Thread:
    turns = tuple(Result(outcome="answered" if said else "refused", answer=said) for said in answers)
    return Thread(arm=ARM, item=Item("i", {"text": "x", "answer": "a column"}), replicate=replicate, turns=turns)


def test_a_row_wins_over_columns_of_its_names() -> None:
    item = row_item(handed_on(thread("because", replicate=2), ASKED), {"text": "x", "answer": "a column"})
    assert item.id == "i@arm#2"
    assert set(item.fields) == {"text", *HANDED_ON}
    assert item.fields["answer"] == "because"
    assert item.fields["conversation"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "because"},
    ]
    told = (item.fields["thinking"], item.fields["turn"], item.fields["status"], item.fields["answers"])
    assert told == ("low", 0, "answered", ["because"])


def test_a_refusal_has_nothing_to_say() -> None:
    row = handed_on(thread("well", None), ASKED)
    assert (row.answer, row.answers, row.status, row.turn) == (None, ["well", None], "refused", 1)
    assert row.conversation is not None
    assert len(row.conversation) == len(ASKED)
    assert handed_on(thread("well"), None).conversation is None


def test_a_group_has_what_its_rows_have_in_common() -> None:
    rows = [handed_on(thread(said, replicate=place), ASKED) for place, said in enumerate(("one", "two"))]
    item = group_item(rows, "item", 3, {"text": "x", "answer": "a column"})
    assert item.id == "i"
    assert set(item.fields) == {"text", "answer", *GROUPED["item"]}
    assert (item.fields["answers"], item.fields["missing"], item.fields["answer"]) == (["one", "two"], 3, "a column")
    assert [set(row) for row in item.fields["members"]] == [set(HANDED_ON)] * 2


def test_a_conversation_is_a_group_of_its_turns() -> None:
    rows = [handed_on(part, ASKED) for part in turns_of(thread("one", "two"))]
    item = group_item(rows, "thread", 0, {})
    assert item.id == "i@arm"
    assert set(item.fields) == {*GROUPED["thread"]}
    assert [row["turn"] for row in item.fields["members"]] == [0, 1]
    assert item.fields["conversation"][-1] == {"role": "assistant", "content": "two"}
