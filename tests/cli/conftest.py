"""Folders with a study in them, and without anybody's keys."""

import os
from pathlib import Path

import pytest

from cli.shell import clean_environment, write_study
from overnight.cli import main


@pytest.fixture(autouse=True)
def _no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in set(os.environ) - set(clean_environment()):
        monkeypatch.delenv(name)
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "6000")
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `fruit.yaml` in it."""
    monkeypatch.chdir(write_study(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished rehearsals, one of which has a row that failed. Only to be looked at."""
    folder = write_study(tmp_path_factory.mktemp("finished"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("OVERNIGHT_TIME_SCALE", "6000")
        assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
        assert main(["run", "fruit.yaml", "--emulate", "-q", "--truth", "pears_fail.yaml", "--runs", "bad"]) == 3
    return folder


@pytest.fixture
def looking(finished: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder is the one with finished rehearsals."""
    monkeypatch.chdir(finished)
    return finished
