"""The collector looks seldom while rows go by, and as often as before when they have."""

import gc
import subprocess
import sys

import pytest

from overnight.core.garbage import seldom_collected


def test_the_collector_is_left_as_it_was() -> None:
    before = gc.get_threshold()
    with seldom_collected():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_threshold()[1:] == before[1:]
    assert gc.get_threshold() == before
    with pytest.raises(KeyError), seldom_collected():
        raise KeyError
    assert gc.get_threshold() == before


def test_a_collector_that_was_turned_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with seldom_collected():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_a_command_that_ends_is_not_looked_through_once_more() -> None:
    script = (
        "import gc, sys\n"
        "from overnight.cli import main\n"
        "sys.argv = ['overnight', '--version']\n"
        "code = main()\n"
        "print(code, gc.get_freeze_count() > 0, len(gc.get_objects()) < 1_000)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 True True"
