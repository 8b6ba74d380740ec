"""For all tests: a busy machine is slow, and that is no failure."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

from own_database import WANTED, use_own_database
from own_time import use_own_time

# The same examples in every run, so that a failure is the change's own; `make properties` draws new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("searching", deadline=None)
settings.load_profile("searching" if os.environ.get("OVERNIGHT_NEW_EXAMPLES") else "repeatable")
use_own_time()
use_own_database()


def pytest_runtest_setup(item: pytest.Item) -> None:
    of_folder = item.get_closest_marker("in_folder")
    if of_folder is not None and os.environ.get(WANTED) == "postgres":
        pytest.skip(f"of a run's folder: {of_folder.args[0]}")


@pytest.fixture(autouse=True, scope="session")
def no_word_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the person who runs the tests has allowed, and what tests allow, is kept apart."""
    os.environ["XDG_CONFIG_HOME"] = str(tmp_path_factory.mktemp("config"))
