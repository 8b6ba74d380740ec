from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.stores import STORES, Run, open_new
from overnight.ledger.ledger import Ledger


@pytest.fixture(params=sorted(STORES))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """A new run on each database that there is."""
    with open_new(request.param, tmp_path / "run ? # %") as (ledger, folder):
        yield Run(ledger, folder)


@pytest.fixture
def ledger(run: Run) -> Ledger:
    return run.ledger
