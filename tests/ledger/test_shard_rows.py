"""A shard as the ledger hands it out: its rows by line."""

from typing import Any

from ledger.stores import ARM, Run
from overnight.core.ask import Ask, Item, Message
from overnight.core.money import Purse
from overnight.core.pack import Room
from overnight.ledger.raw import RawFiles, ReadAhead
from overnight.ledger.shards import ArmPacking, ShardRow, ShardRows


def test_the_rows_of_a_shard_are_a_sequence_in_little_memory() -> None:
    told = [(10 * line, line % 3, 1_000 + line) for line in range(12_000)]
    rows = ShardRows(iter(told))
    assert (len(rows), rows[-1], rows[5:7]) == (12_000, ShardRow(*told[-1]), [ShardRow(*one) for one in told[5:7]])
    assert list(rows) == [ShardRow(*one) for one in told]
    held = sum(len(column) * column.itemsize for column in (rows.asks, rows.tries, rows.lengths))
    assert held == 12 * len(rows)
    assert not ShardRows([])
    large = (2**40, 2**41, -(2**42))
    assert list(ShardRows([large])) == [ShardRow(*large)]


def test_each_line_is_told_with_the_place_of_its_body(run: Run) -> None:
    bodies = [b"%d" % number * (number + 1) for number in range(5)]

    def fact(tx: Any) -> None:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), (ARM,))
        list(intake.items([Item(str(number), {}) for number in range(5)]))
        asks = (Ask(arm=ARM, item=str(number), messages=(Message("user", str(number)),)) for number in range(5))
        intake.asks(asks, lambda one: bodies[int(one.item)], shared=True)

    run.ledger.write("intake", fact).result()
    packing = ArmPacking(stage="s", room=Room(requests=5, bytes=10_000), overhead=0, ceiling=lambda _: 1)
    run.verbs.shards.pack({1: packing}, 1.0, {1}, Purse(None, {}))
    view = run.ledger.view()
    (shard,) = view.shards.waiting(())
    places = list(view.shards.places(shard.id))
    assert [line for line, *_ in places] == [0, 1, 2, 3, 4]
    assert places == [(body.line, *body[2:]) for body in view.shards.bodies(shard.id)]
    with RawFiles(run.folder.files, view.files.paths()) as kept:
        assert sorted(ReadAhead(kept).read_all([place[1:] for place in places])) == sorted(bodies)
