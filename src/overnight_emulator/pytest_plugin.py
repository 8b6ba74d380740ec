"""The fixtures of pytest: `emulator`, one for each test, and `emulator_env`, with every SDK pointed at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from overnight_emulator.testing import Emulator


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "emulator(truth): what is true in the emulator of this test, as a truth file has it"
    )


@pytest.fixture
def emulator(request: pytest.FixtureRequest) -> Iterator[Emulator]:
    """An emulator of the test's own; `@pytest.mark.emulator({...})` gives its truth."""
    mark = request.node.get_closest_marker("emulator")
    given = (mark.args[0] if mark.args else mark.kwargs.get("truth")) if mark is not None else None
    with Emulator(given) as one:
        yield one


@pytest.fixture
def emulator_env(emulator: Emulator, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """The same, with the environment variables of every SDK set for this test."""
    for name, value in emulator.env.items():
        monkeypatch.setenv(name, value)
    return emulator
