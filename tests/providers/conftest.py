"""The emulator, and every vendor at it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from emulator_process import EmulatorProcess
from providers.emulated import MODELS, TRUTH, EmulatedVendor


@pytest.fixture(scope="module")
def emulator() -> Iterator[EmulatorProcess]:
    with EmulatorProcess(TRUTH) as running:
        yield running


@pytest.fixture(params=sorted(MODELS))
def emulated(request: pytest.FixtureRequest, emulator: EmulatorProcess, tmp_path: Path) -> Iterator[EmulatedVendor]:
    emulator.arm([])
    yield EmulatedVendor(request.param, emulator, tmp_path)
    emulator.arm([])


@pytest.fixture(params=sorted(MODELS))
def slowly_emulated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmulatedVendor]:
    """An emulator of its own, on which batches take minutes: for what must happen while one runs."""
    with EmulatorProcess(TRUTH | {"time_scale": 100, "latency": {"batch": [20_000, 20_000]}}) as slow:
        yield EmulatedVendor(request.param, slow, tmp_path)
