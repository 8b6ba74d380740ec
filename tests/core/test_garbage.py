"""The collector looks seldom while rows go by, and as often as before when they have."""

import gc

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
