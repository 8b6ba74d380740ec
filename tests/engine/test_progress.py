from __future__ import annotations

import msgspec

from overnight.core.attempt import Attempt
from overnight.engine.progress import Tally

ATTEMPT = Attempt(
    id=1, shard=1, n=1, arm=1, token="t", account=1, rows=50, bytes=10, estimate=5, sha256="", intended_at=0.0,
    state="running", completed=20, failed=5, batch_id="b",
)  # fmt: skip


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_counts_move_with_what_lands_and_the_rest_is_guessed() -> None:
    time = Time()
    tally = Tally("run", time)
    tally.begin({(1, "pending", None): 90, (1, "answered", None): 10}, (100, 200))
    time.now = 10.0
    tally.landed({"answered": 40, "failed": 5}, 400, 500)
    shown = tally.snapshot([ATTEMPT], {1: "arm"})
    assert (shown.total, shown.answered, shown.failed, shown.pending, shown.settled) == (100, 50, 5, 45, 55)
    assert (shown.input_tokens, shown.output_tokens) == (500, 700)
    assert shown.ahead == 25
    # 45 landed and 25 lie ready after 10 seconds: 20 more need about 2.9.
    assert shown.seconds_left is not None
    assert 2.8 < shown.seconds_left < 2.9


def test_no_guess_before_anything_came() -> None:
    tally = Tally("run", Time())
    tally.begin({(1, "pending", None): 5}, (0, 0))
    assert tally.snapshot([], {}).seconds_left is None


def test_an_old_run_is_not_measured_by_what_it_had_before() -> None:
    time = Time()
    tally = Tally("run", time)
    tally.begin({(1, "answered", None): 95, (1, "pending", None): 5}, (0, 0))
    time.now = 100.0
    idle = msgspec.structs.replace(ATTEMPT, completed=0, failed=0)
    assert tally.snapshot([idle], {1: "arm"}).seconds_left is None


def test_rows_that_share_an_answer_at_hand_are_settled_as_they_come() -> None:
    tally = Tally("run", lambda: 0.0)
    tally.begin({(1, "answered", None): 2, (1, "pending", None): 1}, (0, 0))
    tally.grew(5, {"answered": 2, "refused": 1})
    snapshot = tally.snapshot((), {})
    assert (snapshot.total, snapshot.answered, snapshot.refused, snapshot.pending) == (8, 4, 1, 3)


def test_what_was_done_while_nobody_looked_says_nothing_about_the_speed() -> None:
    """Resumed after a night: the first look shows 4,000 rows done, and then ten come in each second."""
    time = Time()
    tally = Tally("run", time)
    batch = msgspec.structs.replace(ATTEMPT, rows=10_000, completed=100, failed=0, intended_at=-40_000.0)
    tally.begin({(1, "pending", None): 10_000}, (0, 0))
    assert tally.snapshot([batch], {1: "arm"}).seconds_left is None
    time.now = 2.0
    found = msgspec.structs.replace(batch, completed=4_000)
    tally.snapshot([found], {1: "arm"})
    tally.looked(batch.id)
    assert tally.snapshot([found], {1: "arm"}).seconds_left is None
    time.now = 12.0
    later = tally.snapshot([msgspec.structs.replace(found, completed=4_100)], {1: "arm"})
    assert later.seconds_left == 590.0


def test_a_batch_that_ended_meanwhile_is_not_speed_either() -> None:
    time = Time()
    tally = Tally("run", time)
    old = msgspec.structs.replace(ATTEMPT, id=1, rows=50, completed=50, failed=0, state="ended", intended_at=-9.0)
    new = msgspec.structs.replace(ATTEMPT, id=2, rows=50, completed=0, failed=0, intended_at=0.5)
    tally.begin({(1, "pending", None): 100}, (0, 0))
    tally.snapshot([old, new], {1: "arm"})
    time.now = 1.0
    tally.landed({"answered": 50}, 0, 0)
    assert tally.snapshot([new], {1: "arm"}).seconds_left is None
    time.now = 11.0
    shown = tally.snapshot([msgspec.structs.replace(new, completed=10)], {1: "arm"})
    assert (shown.settled, shown.ahead, shown.seconds_left) == (50, 10, 44.0)


def test_rows_of_a_batch_that_has_ended_are_still_done_there() -> None:
    tally = Tally("run", lambda: 0.0)
    tally.begin({(1, "pending", None): 50}, (0, 0))
    assert tally.snapshot([msgspec.structs.replace(ATTEMPT, state="ended")], {1: "arm"}).ahead == 25
