"""How a run stands, told from what its ledger keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.damage import edits
from ledger.stores import ARM, Run, open_new
from overnight import api
from overnight.core.ask import Arm
from overnight.core.result import Result, Usage, failed

OTHER = Arm(stage="s", name="two", template="t", model=ARM.model)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Of six rows in two arms, three questions are answered, two of them are shared, and one has failed."""
    with open_new("sqlite", tmp_path / "night") as (ledger, folder):
        ledger.write("begun", lambda tx: tx.facts.begin_run(1.0)).result()
        one = Run(ledger, folder)
        one.ask("a", "b", text="the same", arms=(ARM, OTHER))
        one.settle(Result(outcome="answered", answer="yes", usage=Usage(input=7, cached=2, output=3)))
        one.ask("c", arms=(ARM,))
        one.settle(failed("invalid_request"))
        one.ask("d", arms=(ARM,))
        yield one


def test_every_row_is_in_one_count_of_its_arm(run: Run, tmp_path: Path) -> None:
    (status,) = api.status("night", runs=tmp_path)
    told = {arm.arm: (arm.rows, arm.answered, arm.failed, arm.pending) for arm in status.arms}
    assert sum(rows for rows, *_ in told.values()) == 6
    assert told["one"][2:] == (1, 1)
    assert (status.total("answered"), status.causes) == (4, {"invalid_request": 1})
    assert run.verbs.counts.kept() == run.verbs.counts.counted()


def test_nobody_counts_rows_to_say_how_a_run_stands(run: Run, tmp_path: Path) -> None:
    """With the rows gone, what is kept is still told: so they were not looked at. `verify` looks at them."""
    before = api.status("night", runs=tmp_path)
    run.ledger.close()
    edits(tmp_path / "night", "DELETE FROM slot", "DELETE FROM settled", "DELETE FROM result")
    assert api.status("night", runs=tmp_path) == before


def test_what_is_asked_again_is_open_again(run: Run, tmp_path: Path) -> None:
    assert run.verbs.answers.unsettle(("failed",)) == 1
    (status,) = api.status("night", runs=tmp_path)
    assert (status.total("failed"), status.total("pending"), status.causes) == (0, 2, {})
    assert status.asked_again == {"invalid_request": 1}
