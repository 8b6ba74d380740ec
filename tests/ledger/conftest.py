from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.stores import STORES, Run, open_new
from overnight.ledger.ledger import Ledger


@pytest.fixture(params=sorted(STORES))
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Run]:
    """A new run on each database that there is."""
    ledger, folder = open_new(request.param, tmp_path / "run ? # %")
    yield Run(ledger, folder)
    ledger.close()


@pytest.fixture
def ledger(run: Run) -> Ledger:
    return run.ledger
