"""The promise that sells the product: killed at every single checkpoint, resumed, and the same bytes come out."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.conftest import OWN_NAMES, PROVIDERS, Scenario
from scenarios.matrix import kills, parts

# A lost answer to a create, rows that fail once, a batch that expires half done: every way through the engine.
FAULTS = (
    {"on": "create", "do": "drop_answer", "times": 1},
    {"on": "batch", "do": "expire", "share": 0.5, "times": 1},
    {"on": "content", "do": "cut", "at": 0.6, "times": 1},
)
# Shards of the study: a kill takes the answers of all uploads that are under way.
UPLOADS = 3
PARTS = parts(8, sampled=1)
# Shared by all providers, so that a further one does not lengthen the suite.
SAMPLE = 33 // len(PROVIDERS)


def checkpoints(night: Scenario, study: str, log: Path) -> list[str]:
    ending = night.run(study, environ={"OVERNIGHT_CHECKPOINTS": str(log)})
    assert ending.state == "done", ending
    return log.read_text().splitlines()


def assert_killed_and_resumed(one: Scenario, number: int, where: str, expected: str, uploads: int) -> None:
    """Killed at this checkpoint, and begun once more: the same bytes, paid once, nothing left over."""
    study = one.study()
    killed = one.run(study, environ={"OVERNIGHT_KILL_AT": str(number)})
    assert killed.signal in (signal.SIGKILL, None), (number, killed)
    ending = one.run(study)
    assert ending.state == "done", (where, ending)
    assert one.table_digest() == expected, where
    one.assert_paid_once()
    one.assert_nothing_left_over(uploads)
    one.close()


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("provider", PROVIDERS)
def test_any_kill_any_resume_same_bytes(
    scenario: Callable[..., Scenario], provider: str, part: int, tmp_path: Path
) -> None:
    undisturbed = scenario(faults=FAULTS, provider=provider)
    names = checkpoints(undisturbed, undisturbed.study(), tmp_path / "checkpoints")
    undisturbed.assert_paid_once()
    expected = undisturbed.table_digest()
    undisturbed.close()
    assert {name.split()[0] for name in names} >= {"fsync", "kept", "commit", "committed"}
    assert len(names) > 60
    for number in kills(len(names), part, len(PARTS), SAMPLE):
        one = scenario(faults=FAULTS, provider=provider)
        where = f"killed at checkpoint {number} ({names[number - 1]})"
        assert_killed_and_resumed(one, number, where, expected, 0 if provider in OWN_NAMES else UPLOADS)
