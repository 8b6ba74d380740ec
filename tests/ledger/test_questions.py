"""Items and questions as they are taken in: an id comes once, or nothing of the table is kept."""

from __future__ import annotations

import pytest

from ledger.stores import ARM, Run
from overnight.core.ask import Ask, Item, Message
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
