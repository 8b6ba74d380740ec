"""Items and questions as they are taken in: an id comes once, or nothing of the table is kept."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from msgspec import structs

from ledger.stores import ARM, Run
from overnight.core.ask import Ask, Item, KeyMaker, Message
from overnight.core.errors import StudyChanged
from overnight.ledger.connection import connect
from overnight.ledger.questions import Intake
from overnight.ledger.schema import migrate
from overnight.ledger.transaction import Transaction
from overnight.store.run_folder import RunFolder


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


def _steps_of_few(path: Path, rows: int) -> int:
    """What SQLite does, in its own steps, to take in a few questions after so many rows."""
    folder = RunFolder(path)
    folder.make()
    with closing(connect(folder.ledger)) as db:
        migrate(db, folder.ledger)

        def take_in(names: list[str]) -> None:
            intake = Intake(db, folder.files, ("s", "t", "1"), (ARM,))
            items = intake.items(Item(name, {}) for name in names)
            asks = (Ask(arm=ARM, item=one.id, turn=0, messages=(Message("user", one.id),)) for one in items)
            intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True, follow=True)

        db.begin()
        take_in([f"item {number}" for number in range(rows)])
        done = [0]

        def count() -> int:
            done[0] += 1
            return 0

        db.set_progress_handler(count, 10)
        take_in([f"more {number}" for number in range(20)])
        return done[0]


def test_a_few_questions_cost_the_same_however_many_there_are(tmp_path: Path) -> None:
    """They follow from answers, some at a time, to the last of a million."""
    few, many = (_steps_of_few(tmp_path / str(rows), rows) for rows in (1_000, 16_000))
    assert many < 2 * few
