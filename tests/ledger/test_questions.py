"""Items and questions as they are taken in: an id comes once, or nothing of the table is kept."""

from __future__ import annotations

import pytest
from msgspec import structs

from ledger.stores import ARM, Run
from overnight.core.ask import Ask, Item, KeyMaker, Message
from overnight.core.errors import StudyChanged
from overnight.ledger.transaction import Transaction


# Far apart, so that the first is written before the second comes; and side by side.
@pytest.mark.parametrize("between", [0, 6_000])
def test_an_item_that_comes_twice_is_told(run: Run, between: int) -> None:
    """As where a table is changed between the reading that checks it and the one that takes it in."""
    names = ["twice", *(f"item {number}" for number in range(between)), "twice", *(f"more {n}" for n in range(between))]

    def fact(tx: Transaction) -> None:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), (ARM,))
        items = intake.items(Item(name, {"n": name}) for name in names)
        asks = (Ask(arm=ARM, item=one.id, turn=0, messages=(Message("user", one.id),)) for one in items)
        intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True)

    with pytest.raises(StudyChanged, match="an item came twice"):
        run.ledger.write("intake", fact).result()
    run.ask("once")
    assert list(run.verbs.counts.outcomes().values()) == [1]


def test_what_is_on_record_is_told_for_those_who_ask_of_it(run: Run) -> None:
    other = structs.replace(ARM, name="two")

    def fact(tx: Transaction) -> None:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), (ARM, other))
        asks = [
            Ask(arm=arm, item=one.id, turn=turn, messages=(Message("user", f"{one.id} {turn}"),))
            for one in intake.items(Item(name, {}) for name in "abc")
            for arm in (ARM, other)
            for turn in range(2)
        ]
        intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True)

    run.ledger.write("intake", fact).result()
    on_record = run.ledger.view().questions
    assert on_record.rows_by_arm("s") == {"one": 6, "two": 6}
    assert on_record.rows_by_arm("other") == {}
    known = [(arm, item, 0, turn) for arm in ("one", "two") for item in "ac" for turn in range(2)]
    assert sorted(on_record.known_addresses("s", ["c", "never seen", "a"])) == known
    assert list(on_record.known_addresses("other", ["a"])) == []
    first, later = (
        KeyMaker(ARM).key(Ask(arm=ARM, item="a", turn=turn, messages=(Message("user", f"a {turn}"),)))
        for turn in range(2)
    )
    assert sorted(on_record.known_keys("s", [first, later, b"none"])) == [("one", first), ("two", first)]
    assert list(on_record.known_keys("other", [first])) == []


def test_however_many_are_looked_for_and_whatever_they_are_called(run: Run) -> None:
    odd = ["NULL", "null", "", " ", ",", "{}", '"', "\\", "'", "{a,b}", '\\"', "%s", "?", "é", "\n"]
    names = odd + [f"item {number}" for number in range(6_000)]

    def fact(tx: Transaction) -> None:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), (ARM,))
        items = intake.items(Item(name, {}) for name in names)
        asks = (Ask(arm=ARM, item=one.id, messages=(Message("user", f"about {one.id}"),)) for one in items)
        intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True)

    run.ledger.write("intake", fact).result()
    on_record = run.ledger.view().questions
    others = [f"other {number}" for number in range(6_000)]
    assert sorted(item for _, item, *_ in on_record.known_addresses("s", names + others)) == sorted(names)
    keys = [KeyMaker(ARM).key(Ask(arm=ARM, item="", messages=(Message("user", f"about {name}"),))) for name in names]
    assert sorted(key for _, key in on_record.known_keys("s", keys)) == sorted(keys)
    assert len(run.verbs.answers.asks_by_key(keys)) == len(names)
