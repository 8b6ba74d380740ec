from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.attempt import (
    LEGAL,
    Accepted,
    Attempt,
    AttemptEvent,
    Believed,
    Calling,
    Closed,
    Creating,
    Denied,
    Ended,
    Examined,
    Fetched,
    Intended,
    Looked,
    Overtaken,
    Refused,
    Reopened,
    Seen,
    Stuck,
    Unknown,
    Unsent,
    Uploaded,
    Vanished,
    Withdrawn,
    apply,
    legal_from,
)
from overnight.core.errors import LedgerError

FRESH = Attempt(
    id=1, shard=1, n=1, arm=1, token="t", account=1, rows=3, bytes=10, estimate=5, sha256="", intended_at=0.0
)
ONE_OF_EACH: tuple[Any, ...] = (
    Intended(3, "aa"),
    Uploaded("file-1"),
    Creating("batch_0", 5.0),
    Accepted("batch_1"),
    Accepted("batch_1", "listing"),
    Reopened("batch_1"),
    Refused("throttled", "slow down", 9.0),
    Believed(),
    Vanished("file-1"),
    Unsent("no route", 9.0),
    Unknown("cut off"),
    Looked(complete=True),
    Looked(complete=False),
    Looked(complete=True, candidates=("batch_1", "batch_2")),
    Looked(complete=True, possible=("batch_3",)),
    Looked(complete=False, endless=True),
    Denied("batch_1"),
    Examined("batch_3", ours=False),
    Examined("batch_3", ours=True),
    Withdrawn(),
    Stuck(("batch_1", "batch_2")),
    Seen("in_progress", 3, 1, 0),
    Ended("completed", "completed", (("output", "file-2"),), 3, 0),
    Fetched((4,)),
    Overtaken(),
    Calling(5),
    Closed("ingested"),
)


def fold(*events: AttemptEvent) -> Attempt:
    attempt = FRESH
    for number, event in enumerate(events):
        attempt = apply(attempt, event, float(number))
    return attempt


def test_the_whole_way() -> None:
    attempt = fold(
        Intended(3, ""), Uploaded("f"), Creating(None, 1.0), Accepted("b"), Seen("in_progress", 3, 1, 0),
        Ended("completed", "completed", (), 3, 0), Fetched((1,)), Closed("ingested"),
    )  # fmt: skip
    assert attempt.state == "closed"
    assert (attempt.file_id, attempt.batch_id, attempt.completed) == ("f", "b", 3)
    assert not attempt.holds_queue_room


def test_every_event_has_its_rule_and_an_example() -> None:
    kinds = set(get_args(AttemptEvent))
    assert kinds == set(LEGAL)
    assert kinds == {type(event) for event in ONE_OF_EACH}


@given(events=st.lists(st.sampled_from(ONE_OF_EACH), max_size=25))
def test_only_legal_moves_are_ever_made(events: list[AttemptEvent]) -> None:
    attempt = FRESH
    for at, event in enumerate(events):
        if attempt.state in legal_from(event):
            attempt = apply(attempt, event, float(at))
            assert attempt.state != "running" or attempt.batch_id is not None
        else:
            with pytest.raises(LedgerError, match="cannot follow"):
                apply(attempt, event, float(at))


@given(events=st.lists(st.sampled_from(ONE_OF_EACH), max_size=25))
def test_a_closed_attempt_stays_closed_unless_its_batch_is_found(events: list[AttemptEvent]) -> None:
    closed = fold(Closed("abandoned"))
    assert apply(closed, Reopened("batch_1"), 1.0).batch_id == "batch_1"
    for event in events:
        if isinstance(event, Reopened):
            continue
        with pytest.raises(LedgerError):
            apply(closed, event, 1.0)


@given(event=st.sampled_from(ONE_OF_EACH))
def test_events_come_back_from_json_as_they_were(event: AttemptEvent) -> None:
    assert msgspec.json.decode(msgspec.json.encode(event), type=AttemptEvent) == event


def test_a_create_is_never_sent_without_its_fence_on_record() -> None:
    for state in ("intended", "unsure", "running", "ended"):
        assert state not in LEGAL[Creating]
    listed = {"intended", "uploaded", "creating", "unsure", "stuck", "running"}
    assert legal_from(Accepted("b", "listing")) == listed
    assert legal_from(Accepted("b", "answer")) == {"creating"}


def test_a_refusal_is_looked_into_before_the_same_is_sent_again() -> None:
    refused = fold(Uploaded("f"), Creating("b0", 5.0), Refused("throttled", "slow down", 9.0))
    assert (refused.state, refused.refusals, refused.retry_at, refused.in_doubt) == ("unsure", 1, 0.0, True)
    assert not refused.holds_queue_room
    again = apply(refused, Believed(), 3.0)
    assert (again.state, again.retry_at, again.refused) == ("uploaded", 9.0, None)


def test_the_fence_of_the_first_create_stays_after_a_refusal_and_only_then() -> None:
    first, second = Creating("b0", 5.0), Creating("b9", 50.0)
    refused = fold(Uploaded("f"), first, Refused("throttled", "slow down", 9.0), Believed(), second)
    assert refused.fence == first
    assert fold(Uploaded("f"), first, Unsent("no route", 9.0), second).fence == second


def test_denials_add_up_until_the_batch_is_seen() -> None:
    denied = fold(Uploaded("f"), Creating(None), Accepted("b"), Denied("b"), Denied("b"))
    assert denied.denials == (3.0, 4.0)
    assert apply(denied, Seen("in_progress"), 5.0).denials == ()


def test_an_upload_that_vanished_is_made_again() -> None:
    again = fold(Uploaded("f"), Creating(None), Refused("file_not_ready", "no file", 9.0), Believed(), Vanished("f"))
    assert (again.state, again.file_id, again.last_refusal) == ("intended", None, None)
