"""The queue is cut by columns: the shards are those that one row after another would come to."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.stores import Run, open_new
from overnight.core.ask import Arm, Ask, Item, Message, Model
from overnight.core.errors import StudyError
from overnight.core.money import Budget, Purse
from overnight.core.pack import Room
from overnight.ledger import shards
from overnight.ledger.open_shard import ArmPacking

ARMS = tuple(Arm(stage="s", name=name, template="t", model=Model(provider="openai", name=name)) for name in "xyz")
CAP = st.none() | st.integers(0, 900)


@st.composite
def packings(draw: st.DrawFn) -> ArmPacking:
    least = draw(st.integers(1, 4))
    room = Room(
        requests=draw(st.integers(max(2, least), 9)),
        bytes=draw(st.integers(80, 300)),
        tokens=draw(st.none() | st.integers(5, 60)),
        least=least,
    )
    priced = draw(st.sampled_from([lambda _: 10, lambda size: size, lambda size: size if size % 7 else None]))
    return ArmPacking(
        stage="s",
        room=room,
        overhead=7,
        tokens_per_byte=0.3,
        segments=draw(st.none() | st.integers(2, 3)),
        ceiling=priced,
        spills=draw(st.booleans()),
    )


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 40), st.sampled_from([0.0, 0.0, 1.0, -1.0])), max_size=40
    ),
    packing=packings(),
    ready=st.sets(st.integers(1, 3)),
    caps=st.tuples(CAP, CAP, CAP, CAP),
)
def test_however_many_rows_are_read_at_once_the_shards_are_the_same(
    rows: list[tuple[int, int, float]], packing: ArmPacking, ready: set[int], caps: tuple[int | None, ...]
) -> None:
    """With priorities, floors, segments, guesses at tokens, budgets that are too small, and arms that wait."""
    assert packed(rows, packing, ready, caps, 1) == packed(rows, packing, ready, caps, 5_000)


def packed(
    rows: list[tuple[int, int, float]],
    packing: ArmPacking,
    ready: set[int],
    caps: tuple[int | None, ...],
    at_once: int,
) -> object:
    """All that is on record of it, and what is left in the purse."""
    total, stage, to_spill, to_team = caps
    purse = Purse(Budget(total=total, stages={} if stage is None else {"s": stage}), {}, to_spill, to_team)
    memory = Path("/dev/shm")

    def fact(tx: Any) -> None:
        intake = tx.intake(run.folder.files, ("s", "t", "1"), ARMS, "risk")
        list(intake.items([Item(str(n), {"risk": risk}) for n, (_, _, risk) in enumerate(rows)]))
        asks = (
            Ask(arm=ARMS[arm], item=str(n), messages=(Message("user", f"{n} " + "x" * length),))
            for n, (arm, length, _) in enumerate(rows)
        )
        intake.asks(asks, lambda ask: ask.messages[0].content.encode(), shared=True)

    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        open_new("sqlite", Path(folder) / "run") as (ledger, files),
    ):
        run = Run(ledger, files)
        run.ledger.write("intake", fact).result()
        patch.setattr(shards, "_AT_ONCE", at_once)
        try:
            made = run.verbs.shards.pack(dict.fromkeys((1, 2, 3), packing), 1.0, ready, purse)
        except StudyError:
            return "refused"  # of which arm is told first may differ
        view = run.ledger.view()
        waiting = view.shards.waiting(())
        held = [(shard, [*view.shards.rows(shard.id)]) for shard in waiting]
        return made, held, view.shards.queued(), view.spending.by_stage(), vars(purse)
