"""What downloads prove about rows that did not come."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from overnight.core.attempt import Ended, Fetched
from overnight.engine.batch.evidence import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PATIENT,
    USUAL_RETENTION,
    Absent,
    Again,
    Download,
    Standing,
    conclude,
    doubt_of,
    part_names,
    pause,
    was_not_run,
)

WHOLE = Download(kind="output", bytes=100, announced=100, readable=5)
PAGE = Fetched((), doubt="what came in place of the output file is not in the provider's format", news=False)
NEWS = Fetched((1,))
SAME = Fetched((1,), news=False)
GONE = Fetched((), gone=True, news=False)
AGREED = Standing(phase="completed", rows=10, came=9, ran=9, completed=9)


def changed(standing: Standing = AGREED, **fields: Any) -> Standing:
    return msgspec.structs.replace(standing, **fields)


def after(standing: Standing, *looks: tuple[float, Fetched], now: float | None = None) -> Again | Absent:
    return conclude(standing, looks, looks[-1][0] if now is None else now, 0.0, USUAL_RETENTION)


@pytest.mark.parametrize(
    ("fields", "doubt"),
    [
        ({}, None),
        ({"announced": None}, None),
        ({"unreadable": 2}, None),
        ({"bytes": 60}, "60 of 100 bytes of the output file came"),
        ({"bytes": 0, "announced": 0, "readable": 0}, "nothing of the output file came"),
        ({"bytes": 0, "announced": None, "readable": 0}, "nothing of the output file came"),
        ({"readable": 0, "unreadable": 4}, "what came in place of the output file is not in the provider's format"),
        (
            {"readable": 0, "unreadable": 4, "named": 3},
            "what came in place of the output file is not in the provider's format",
        ),
        ({"readable": 0, "unreadable": 4, "named": 4}, None),
        ({"ends_whole": False}, "the last line of the output file is cut off"),
    ],
)
def test_doubts_about_a_download(fields: dict[str, Any], doubt: str | None) -> None:
    assert doubt_of(msgspec.structs.replace(WHOLE, **fields), Ended("completed", "completed", completed=5)) == doubt


@pytest.mark.parametrize(("failed", "doubt"), [(0, None), (1, "nothing of the error file came")])
def test_an_error_file_may_be_empty_where_nothing_has_failed(failed: int, doubt: str | None) -> None:
    empty = Download(kind="error", bytes=0, announced=0, readable=0)
    assert doubt_of(empty, Ended("completed", "completed", completed=5, failed=failed)) == doubt
    nothing = Ended("completed", "completed", failed=failed)
    assert doubt_of(empty, nothing) == "nothing of the error file came"


def test_a_row_that_was_not_run_is_missing_when_two_downloads_agree() -> None:
    assert after(AGREED, (0.0, NEWS)) == Again(0.0, "rows are in no file, though the provider counts them")
    assert after(AGREED, (0.0, NEWS), (0.0, SAME)) == Absent("missing", ran=False)
    assert after(changed(phase="expired"), (0.0, NEWS), (0.0, SAME)) == Absent("expired", ran=False)


def test_what_is_not_the_file_proves_nothing_however_often_it_comes() -> None:
    lost = changed(came=0, ran=0, completed=10)
    looks = [(float(n), PAGE) for n in range(1000)]
    assert isinstance(after(lost, *looks), Again)
    silent = changed(came=0, ran=0, completed=0)
    assert isinstance(after(silent, *looks, (90_000.0, PAGE)), Again)


def test_an_answer_that_the_provider_counts_is_looked_for_as_long_as_it_is_kept() -> None:
    short = changed(came=6, ran=6, completed=10)
    looks = ((0.0, NEWS), (5.0, SAME), (PATIENT * 20, SAME))
    verdict = after(short, *looks)
    assert isinstance(verdict, Again)
    assert verdict.why == "the provider counts 10 answered rows, and 6 came"
    end = after(short, *looks, now=USUAL_RETENTION + 1)
    assert (end.cause, end.ran) == ("gone", True)  # type: ignore[union-attr]


def test_lines_that_cannot_be_read_account_for_answers_after_a_while() -> None:
    short = changed(came=9, ran=9, completed=10)
    garbled = msgspec.structs.replace(SAME, unreadable=1)
    assert isinstance(after(short, (0.0, NEWS), (5.0, garbled)), Again)
    end = after(short, (0.0, NEWS), (5.0, garbled), (PATIENT + 1, garbled))
    assert (end.cause, end.ran) == ("unreadable", True)  # type: ignore[union-attr]
    both = changed(came=8, ran=8, completed=10)
    assert isinstance(after(both, (0.0, NEWS), (5.0, garbled), (PATIENT + 1, garbled)), Again)


def test_refusals_that_are_counted_and_did_not_come_are_looked_for_a_while() -> None:
    short = changed(came=8, ran=8, completed=8, failed=2)
    assert isinstance(after(short, (0.0, NEWS), (5.0, SAME)), Again)
    assert after(short, (0.0, NEWS), (5.0, SAME), (PATIENT, SAME)) == Absent("missing", ran=False)


@pytest.mark.parametrize(
    ("phase", "cause"), [("completed", "gone"), ("cancelled", "cancelled"), ("expired", "expired")]
)
def test_without_counts_downloads_must_agree_for_a_while_and_the_rows_count_as_run(phase: str, cause: str) -> None:
    silent = changed(phase=phase, completed=0)
    assert isinstance(after(silent, (0.0, NEWS), (10.0, SAME)), Again)
    end = after(silent, (0.0, NEWS), (10.0, SAME), (PATIENT, SAME))
    assert (end.cause, end.ran) == (cause, True)  # type: ignore[union-attr]


def test_a_line_that_cannot_be_read_explains_a_row_also_without_counts() -> None:
    silent = changed(phase="cancelled", completed=0)
    garbled = msgspec.structs.replace(SAME, unreadable=1)
    end = after(silent, (0.0, NEWS), (10.0, garbled), (PATIENT, garbled))
    assert (end.cause, end.ran) == ("unreadable", True)  # type: ignore[union-attr]


def test_counts_that_were_reset_are_known_from_before() -> None:
    reset = changed(phase="cancelled", completed=0, seen_completed=10, came=6, ran=6)
    assert reset.lost == 4
    assert isinstance(after(reset, (0.0, NEWS), (10.0, SAME), (PATIENT, SAME)), Again)


def test_a_batch_that_gives_up_nothing_has_not_run_its_rows() -> None:
    nothing = Standing(phase="expired", rows=5, came=0, ran=0, seen_completed=3, parts=False)
    assert isinstance(after(nothing, (0.0, SAME)), Again)
    assert after(nothing, (0.0, SAME), (0.0, SAME)) == Absent("expired", ran=False)


@pytest.mark.parametrize(
    ("fields", "seen", "not_run"),
    [
        ({}, 0, True),
        ({"failed": 5}, 0, True),
        ({"completed": 3}, 0, False),
        ({}, 3, False),
        ({"parts": (("output", "file-1"),)}, 0, False),
        ({"phase": "expired"}, 0, False),
    ],
)
def test_a_batch_that_failed_half_way_was_run(fields: dict[str, Any], seen: int, *, not_run: bool) -> None:
    ended = msgspec.structs.replace(Ended("failed", "failed"), **fields)
    assert was_not_run(ended, seen) == not_run


def test_what_a_failed_batch_ran_is_presumed_spent_and_not_asked_again() -> None:
    failed = Standing(phase="failed", rows=5, came=0, ran=0, completed=3, parts=False)
    assert isinstance(after(failed, (0.0, SAME), (60.0, SAME)), Again)
    end = after(failed, (0.0, SAME), (60.0, SAME), (PATIENT, SAME))
    assert isinstance(end, Absent)
    assert (end.cause, end.ran) == ("gone", True)


def test_counts_that_what_came_contradicts_are_not_believed() -> None:
    """The provider counts ten failures, and six answers came: nobody knows whether the other four were run."""
    liar = changed(completed=0, failed=10, came=6, ran=6)
    assert not liar.told
    assert isinstance(after(liar, (0.0, NEWS), (10.0, SAME)), Again)
    end = after(liar, (0.0, NEWS), (10.0, SAME), (PATIENT, SAME))
    assert isinstance(end, Absent)
    assert (end.cause, end.ran) == ("gone", True)


def test_rows_that_vertex_says_it_did_not_run_are_not_lost() -> None:
    early = Standing(phase="cancelled", rows=5, came=0, ran=0, unrun=5)
    assert early.told
    assert early.lost == 0


def test_results_that_are_no_longer_there_are_believed_after_a_while() -> None:
    lost = changed(came=0, ran=0, completed=10)
    assert isinstance(after(lost, (0.0, GONE), (60.0, GONE)), Again)
    assert after(lost, (0.0, GONE), (60.0, GONE), (PATIENT, GONE)) == Absent("gone", ran=True)
    assert isinstance(after(lost, (0.0, GONE), (60.0, PAGE), (PATIENT, GONE)), Again)


LOOKS = st.lists(st.tuples(st.floats(0, 1e6), st.sampled_from([PAGE, NEWS, SAME, GONE])), min_size=1, max_size=12).map(
    lambda looks: sorted(looks, key=lambda look: look[0])
)
COUNT = st.integers(0, 20)


@given(LOOKS, st.sampled_from(["completed", "expired", "cancelled", "failed"]), COUNT, COUNT, COUNT, COUNT, COUNT)
def test_a_paid_answer_is_never_asked_for_again_unbidden(
    looks: list[tuple[float, Fetched]], phase: str, came: int, ran: int, completed: int, failed: int, seen: int
) -> None:
    assume(ran <= came)
    standing = Standing(
        phase=phase, rows=21, came=came, ran=ran, completed=completed, failed=failed, seen_completed=seen
    )
    verdict = after(standing, *looks)
    if isinstance(verdict, Again):
        assert looks[-1][0] <= verdict.at <= looks[-1][0] + LONGEST_PAUSE
    elif standing.lost:
        assert verdict.ran
        assert verdict.cause in ("gone", "unreadable")
    elif not verdict.ran:
        assert standing.told


@given(LOOKS)
def test_pauses_grow_and_have_an_end(looks: list[tuple[float, Fetched]]) -> None:
    assert FIRST_PAUSE <= pause(looks) <= LONGEST_PAUSE
    assert pause(looks) >= min(LONGEST_PAUSE, looks[-1][0] - looks[0][0])


def test_each_part_of_a_batch_has_a_name_of_its_own() -> None:
    parts = [("output", "a"), ("error", "b"), ("output", "c"), ("output", "d")]
    assert part_names(parts) == [
        ("output", "output", "a"),
        ("error", "error", "b"),
        ("output.2", "output", "c"),
        ("output.3", "output", "d"),
    ]
