"""Shared flags: what our own advice looks like when it is typed for another place."""

from pathlib import Path

import pytest

from overnight.cli.flags import Flags, Voice


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (Flags(), "overnight resume fruit"),
        (Voice(), "overnight resume fruit"),
        (Flags(emulate=True), "overnight resume --emulate fruit"),
        (Flags(emulate=False), "overnight resume --no-emulate fruit"),
        (Flags(runs=Path("my runs")), "overnight resume --runs 'my runs' fruit"),
        (Flags(emulate=True, runs=Path("r")), "overnight resume --emulate --runs r fruit"),
    ],
)
def test_advice_as_it_must_be_typed(flags: Voice, expected: str):
    assert flags.typed("To go on: overnight resume fruit") == f"To go on: {expected}"


def test_only_commands_are_changed():
    text = "overnight runs and overnight resumes; an overnight success"
    assert Flags(emulate=True).typed(text) == text


def test_settings_follow_the_flags(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OVERNIGHT_EMULATE", "1")
    assert Flags().settings().emulate
    assert not Flags(emulate=False).settings().emulate
    assert Flags(runs=Path("elsewhere")).settings().root == Path("elsewhere/.rehearsal")
