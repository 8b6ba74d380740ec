"""The limit on open files, as this system has it: raised where that can be, and kept to where it cannot."""

import resource
from collections.abc import Iterator

import pytest

from overnight.engine.live.open_files import OTHERS, Room, room_for, too_few


@pytest.fixture(autouse=True)
def limits() -> Iterator[tuple[int, int]]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_limit_that_can_be_raised_is_raised_as_far_as_needed(limits: tuple[int, int]) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, limits[1]))
    assert room_for(400) == Room(400, 400 + OTHERS)
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 400 + OTHERS
    assert room_for(100).calls == 100
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 400 + OTHERS  # and never lowered


def test_what_cannot_be_had_is_shared_by_the_models(limits: tuple[int, int]) -> None:
    hard = limits[1]
    if hard in (resource.RLIM_INFINITY, 0):
        pytest.skip("this system has no limit")
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))
    room = room_for(hard, places=4)
    assert room == Room((hard - OTHERS) // 4, hard)
    assert 4 * room.calls + OTHERS <= hard
    told = too_few(hard, room, 4)
    assert f"for each of 4 models need {4 * hard + OTHERS:,} open files" in told
    assert f"`ulimit -n {4 * hard + OTHERS}`" in told


def test_one_call_at_a_time_is_always_possible(limits: tuple[int, int]) -> None:
    assert room_for(10, places=10**9).calls == 1
    assert limits
