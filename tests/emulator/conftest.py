"""Fixtures for driving the emulator with the official SDK."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from openai import OpenAI

from emulator_process import EmulatorProcess

FAST = {"time_scale": 20_000, "latency": {"batch": [60, 600], "live": [0, 0]}}


@pytest.fixture
def emulate() -> Iterator[Callable[..., EmulatorProcess]]:
    """Starts emulators with a truth of one's own; all are closed at the end."""
    started: list[EmulatorProcess] = []

    def start(truth: Mapping[str, Any] | None = None, *arguments: str) -> EmulatorProcess:
        emulator = EmulatorProcess({**FAST, **(truth or {})}, None, *arguments)
        started.append(emulator)
        return emulator.start()

    yield start
    for emulator in started:
        emulator.stop()
    complaints = [emulator.complaints() for emulator in started]
    for emulator in started:
        emulator.close()
    assert not any(complaints), complaints


@pytest.fixture(scope="session")
def shared() -> Iterator[EmulatorProcess]:
    """One emulator for all tests that arm no faults and ask nothing of the log."""
    with EmulatorProcess(FAST) as emulator:
        yield emulator
        assert emulator.complaints() == ""


@pytest.fixture
def connect() -> Iterator[Callable[..., OpenAI]]:
    """Makes clients that do not retry; all are closed at the end."""
    clients: list[OpenAI] = []

    def open_client(emulator: EmulatorProcess, **options: Any) -> OpenAI:
        made = OpenAI(**{"base_url": emulator.openai_url, "api_key": "sk-test", "max_retries": 0, **options})
        clients.append(made)
        return made

    yield open_client
    for made in clients:
        made.close()


@pytest.fixture
def client(shared: EmulatorProcess, connect: Callable[..., OpenAI]) -> OpenAI:
    return connect(shared)


@pytest.fixture(scope="module")
def faulty() -> Iterator[EmulatorProcess]:
    """One emulator for the tests of a module that arm faults; time passes as on the wall, or by command."""
    truth = {"time_scale": 1, "latency": {"batch": [1000, 1000], "live": [0, 0]}}
    with EmulatorProcess(truth) as emulator:
        yield emulator
        assert emulator.complaints() == ""


@pytest.fixture
def emulator(faulty: EmulatorProcess) -> Iterator[EmulatorProcess]:
    """The same, with its faults disarmed after each test."""
    yield faulty
    faulty.arm([])
