"""A ledger that is kept aside and put back, as somebody with a backup does."""

from __future__ import annotations

import shutil
from pathlib import Path

from ledger import damage
from overnight.ledger.ledger import open_ledger
from overnight.store.run_folder import RunFolder
from scenarios.conftest import Scenario


def ledger(one: Scenario, name: str = "night") -> Path:
    return one.folder / "runs" / name / "ledger.db"


def back_up(one: Scenario, label: str = "backup") -> Path:
    target = one.folder / f"{label}.db"
    damage.back_up(ledger(one).parent, target)
    return target


def put_back(one: Scenario, kept: Path, name: str = "night") -> None:
    for path in ledger(one, name).parent.glob("ledger.db*"):
        path.unlink()
    shutil.copy(kept, ledger(one, name))


def before_the_intents(one: Scenario, study: str) -> Path:
    """Kill a run when its shards are cut and none is announced; the ledger as it is then."""
    assert one.run(study, environ={"OVERNIGHT_KILL_AT": "committed packed"}).signal
    assert one.batches() == []
    return back_up(one)


def requeued(run: RunFolder) -> None:
    """Its shards were given up, and new ones get new numbers."""
    with open_ledger(run) as kept:
        shards = [shard.id for shard in kept.view().shards.waiting(())]
        kept.write("requeued", lambda tx: tx.shards.requeue_all(shards, 0.0)).result()


def uncut(run: RunFolder) -> None:
    """From before its shards were cut: other ones get the same numbers."""
    for table in ("shard", "shard_row", "shard_done", "reservation"):
        damage.edit(run.path, f"DELETE FROM {table}")
    damage.edit(run.path, "INSERT OR IGNORE INTO queue SELECT id, 0, 0 FROM ask")
