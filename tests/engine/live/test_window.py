"""The window of live calls: it grows while that helps, gives back what does not, and halves on trouble."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from overnight.engine.live.window import MOST, Window


def work(window: Window, rate_of: dict[int, float] | None, rounds: int, best: int) -> list[int]:
    """Answers come at a rate that grows with the window up to `best`, or as a table says."""
    now, sizes = 0.0, []
    for _ in range(rounds):
        size = window.size
        rate = (rate_of or {}).get(size, float(min(size, best)))
        for _ in range(max(16, size)):
            now += 1 / rate
            window.pressed = True
            window.landed(now)
            if window.size != size:
                break
        sizes.append(window.size)
    return sizes


@pytest.mark.parametrize("best", [1, 2, 8, 20, 50, 200, 1_000])
def test_it_settles_near_what_the_server_can_do(best: int) -> None:
    sizes = work(Window(), None, 60, best)
    usual = sorted(sizes[20:])[len(sizes[20:]) // 2]
    assert min(best, MOST) * 0.5 <= usual <= min(MOST, max(2, best * 2))


def test_one_slow_round_is_not_taken_for_the_servers_limit() -> None:
    """A stall of either side makes one round slow; the window goes on growing after it."""
    window, now = Window(), 0.0
    stalled = False
    for _ in range(2_000):
        now += 1 / window.size
        if window.size == 32 and not stalled:
            stalled, now = True, now + 60.0
        window.pressed = True
        window.landed(now)
        assert window.size >= 32 or not stalled
    assert window.size == MOST


def test_a_window_that_nobody_presses_against_stays() -> None:
    window = Window()
    for second in range(100):
        window.landed(float(second))
    assert window.size == 1


def test_what_the_user_sets_is_opened_by_the_first_answer_and_not_passed() -> None:
    window = Window(40)
    assert window.size == 1
    window.landed(1.0)
    assert window.size == 40
    window.cut(2.0, 3.0)
    assert window.size == 20
    for second in range(200):
        window.pressed = True
        window.landed(4.0 + second)
    assert window.size == 40


@pytest.mark.parametrize("fixed", [None, 400])
def test_it_stays_within_the_room_that_there_is(fixed: int | None) -> None:
    window, now = Window(fixed, 100), 0.0
    for _ in range(5_000):
        now += 0.1 / window.size  # each doubling pays
        window.pressed = True
        window.landed(now)
    assert window.size == 100


@given(events=st.lists(st.tuples(st.booleans(), st.floats(0.001, 5)), max_size=300))
def test_it_is_never_shut_and_never_boundless(events: list[tuple[bool, float]]) -> None:
    window, now = Window(), 0.0
    for good, later in events:
        now += later
        if good:
            window.pressed = True
            window.landed(now)
        else:
            window.cut(now - 0.0005, now)
        assert 1 <= window.size <= MOST
