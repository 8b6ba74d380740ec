"""What is on record is asked for in few statements: the database that keeps it may be far away."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from ledger.stores import ARM, open_new
from overnight.api.plans.on_record import OnRecord, together
from overnight.core.ask import Ask, Item, Message
from overnight.ledger.transaction import Transaction, View


def ask(name: str, turn: int = 0) -> Ask:
    return Ask(arm=ARM, item=name, turn=turn, messages=(Message("user", f"{name} {turn}"),))


def test_short_questions_go_together_by_the_thousand_and_long_ones_by_the_megabyte() -> None:
    short = [ask(f"short {number}") for number in range(5_000)]
    assert [len(some) for some in together(iter(short), lambda one: one)] == [2_000, 2_000, 1_000]
    text = "long " * 100_000
    long = [structs.replace(ask("long"), messages=(Message("user", text),)) for _ in range(9)]
    assert [len(some) for some in together(iter(long), lambda one: one)] == [4, 4, 1]
    assert list(together(iter([]), lambda one: one)) == []


@pytest.fixture
def view(tmp_path: Path) -> Iterator[View]:
    """Of a run with first questions about a and b, and a further one about b."""
    with open_new("sqlite", tmp_path / "run") as (ledger, folder):

        def fact(tx: Transaction) -> None:
            intake = tx.intake(folder.files, ("s", "t", "1"), (ARM,))
            items = intake.items([Item("a", {}), Item("b", {})])
            asks = [ask(item.id) for item in items] + [ask("b", turn=1)]
            intake.asks(asks, lambda one: one.messages[0].content.encode(), shared=True)

        ledger.write("intake", fact).result()
        yield ledger.view()


def test_further_turns_are_known_with_the_first_ones(view: View) -> None:
    statements: list[str] = []
    connection = view.questions._db
    assert isinstance(connection, sqlite3.Connection)
    on_record = OnRecord(view, "s", by_number=False)
    connection.set_trace_callback(statements.append)
    on_record.look_up([ask("a"), ask("b"), ask("c")])
    assert [on_record.has(ask(name)) for name in "abc"] == [True, True, False]
    on_record.look_up([ask("a", turn=1), ask("b", turn=1)])
    assert [on_record.has(ask(name, turn=1)) for name in "ab"] == [False, True]
    assert len(statements) == 1
    on_record.look_up([ask("d")])
    assert not on_record.has(ask("d"))
    assert len(statements) == 2
