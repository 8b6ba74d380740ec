"""One dashboard over finished runs, for all tests that only look."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from overnight.serving.dashboard import Dashboard
from overnight.settings import settings
from serving.runs_to_show import Looker, make_runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_runs(tmp_path_factory.mktemp("shown"))


@pytest.fixture(scope="session")
def dashboard(runs: Path) -> Iterator[Dashboard]:
    with Dashboard(settings(runs=runs, emulate=True), port=0) as found:
        yield found


@pytest.fixture(scope="session")
def looker(dashboard: Dashboard) -> Looker:
    return Looker(dashboard.address)
