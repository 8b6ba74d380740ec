"""The most urgent rows of the queue are packed and sent first, whatever turn they are of and whenever they came."""

from __future__ import annotations

from typing import Any

from ledger.stores import ARM, Run
from overnight.core.ask import Ask, Item, Message
from overnight.core.money import Budget, Purse
from overnight.core.pack import Room
from overnight.core.screening import Decision
from overnight.ledger.open_shard import ArmPacking

PACKING = {1: ArmPacking(stage="s", room=Room(requests=2, bytes=10_000), overhead=0, ceiling=lambda _: 10)}


def ask(run: Run, urgency: dict[str, float], turn: int = 0, column: str | None = "risk") -> None:
    """Items with a priority, or further turns about those that are there."""

    def fact(tx: Any) -> None:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), (ARM,), column)
        list(intake.items([Item(name, {"risk": risk}) for name, risk in urgency.items()] if turn == 0 else []))
        asks = (Ask(arm=ARM, item=name, turn=turn, messages=(Message("user", f"{name}{turn}"),)) for name in urgency)
        intake.asks(asks, lambda one: one.messages[0].content.encode(), shared=True)

    run.ledger.write("intake", fact).result()


def packed(run: Run, budget: int | None = None) -> list[str]:
    """What each shard that waits holds, in the order in which they are sent."""
    purse = Purse(None if budget is None else Budget(total=budget), {})
    run.verbs.shards.pack(PACKING, 1.0, {1}, purse)
    view = run.ledger.view()
    names = {
        row[0]: f"{row[1]}{row[2]}" for row in view.rows._db.execute("SELECT ask, item, turn FROM slot ORDER BY id")
    }
    return [" ".join(names[row.ask] for row in view.shards.rows(shard.id)) for shard in view.shards.waiting(())]


def test_rows_go_by_the_priority_of_their_item(run: Run) -> None:
    ask(run, {"a": 0, "b": 2, "c": 1, "d": 2})
    assert packed(run) == ["b0 d0", "c0 a0"]
    # The next turn of what is urgent passes what has waited for longer.
    ask(run, {"d": 2, "a": 0}, turn=1)
    ask(run, {"e": 1})
    assert packed(run) == ["b0 d0", "d1 e0", "c0 a0", "a1"]


def test_a_budget_is_spent_on_the_most_urgent(run: Run) -> None:
    ask(run, {"a": 0, "b": 2, "c": 1, "d": 2})
    assert packed(run, budget=30) == ["b0 d0", "c0"]


def test_without_priorities_rows_go_as_they_came(run: Run) -> None:
    ask(run, {"a": 0, "b": 2, "c": 1}, column=None)
    assert packed(run) == ["a0 b0", "c0"]


def test_decisions_are_kept_as_they_were_made(run: Run) -> None:
    ask(run, {"a": 0})
    view = run.ledger.view()
    assert view.screening.opened(1) is None
    first = view.screening.extent(1, [1])
    made = [
        Decision(unit="y", n=0, value=None, lwr=None, upr=None, moved=False, why="unknown"),
        Decision(unit="x", n=3, value=1 / 3, lwr=0.1, upr=0.9, moved=True, why="it is"),
    ]
    run.verbs.screening.keep(1, made)
    run.verbs.screening.open(1, first, 1.0)
    assert view.screening.decisions(1) == made[::-1]
    assert view.screening.opened(1) == first
    ask(run, {"b": 0})
    assert view.screening.extent(1, [1]) != first
    assert list(view.checks.damages()) == []
