from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overnight.core.attempt import Attempt, Creating, Examined, Looked, Refused, Unknown, Uploaded, Withdrawn, apply
from overnight.core.result import PASSING, UNASKED, Result, failed
from overnight.engine.decisions import (
    DENIALS,
    LOOKS,
    REFUSED_LOOKS,
    TRIES,
    Learned,
    Load,
    WaitingRows,
    adjudicate,
    after_denials,
    backoff,
    create_outcome,
    fence_of,
    group,
    how_far,
    learn_limit,
    may_follow,
    may_go,
    must_be_cut,
    poll_how,
    retry_delay,
    row_fate,
)
from overnight.providers import Batch, CreateAnswer, Fence, Limits, Refusal, Sightings

BATCH = Batch(id="batch_1", phase="running", status="validating")
NO = Refusal(kind="invalid", message="no")

# --- create_outcome


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (CreateAnswer(sent=False, problem="refused"), "unsent"),
        (CreateAnswer(sent=True), "unknown"),
        (CreateAnswer(sent=True, status=200, batch=BATCH), "accepted"),
        (CreateAnswer(sent=True, status=201, batch=BATCH), "accepted"),
        (CreateAnswer(sent=True, status=200), "unknown"),
        (CreateAnswer(sent=True, status=400, refusal=NO), "refused"),
        (CreateAnswer(sent=True, status=429, refusal=NO), "refused"),
        (CreateAnswer(sent=True, status=529, refusal=NO), "refused"),
        (CreateAnswer(sent=True, status=408, refusal=NO), "unknown"),
        (CreateAnswer(sent=True, status=409, refusal=NO), "unknown"),
        (CreateAnswer(sent=True, status=500, refusal=NO), "unknown"),
        (CreateAnswer(sent=True, status=502), "unknown"),
        (CreateAnswer(sent=True, status=504), "unknown"),
        (CreateAnswer(sent=True, status=302), "unknown"),
    ],
)
def test_create_outcomes(answer: CreateAnswer, outcome: str) -> None:
    assert create_outcome(answer) == outcome


@given(sent=st.booleans(), status=st.none() | st.integers(100, 599), batch=st.sampled_from([None, BATCH]))
def test_doubt_is_never_taken_for_a_no(sent: bool, status: int | None, batch: Batch | None) -> None:
    refusal = NO if status is not None and status >= 400 else None
    outcome = create_outcome(CreateAnswer(sent=sent, status=status, batch=batch, refusal=refusal))
    if outcome == "refused":
        assert status is not None
        assert 400 <= status < 500 or status == 529
    if outcome == "unsent":
        assert not sent


# --- adjudicate


def unsure(since: float = 100.0) -> Attempt:
    attempt = Attempt(
        id=1, shard=1, n=1, arm=1, token="t", account=1, rows=3, bytes=10, estimate=5, sha256="", intended_at=0.0
    )
    attempt = apply(attempt, Uploaded("f"), 1.0)
    attempt = apply(attempt, Creating(None, 1.0), 2.0)
    return apply(attempt, Unknown("cut off"), since)


def look(attempt: Attempt, at: float, *candidates: str, whole: bool = True) -> Attempt:
    return apply(attempt, Looked(whole, candidates), at)


def test_the_looks_are_at_0_30_120_and_600_seconds() -> None:
    attempt = unsure()
    seen: list[float] = []
    now = 100.0
    for _ in range(50):
        decision = adjudicate(attempt, now)
        if decision.verdict == "look":
            seen.append(now)
            attempt = look(attempt, now)
        elif decision.verdict == "wait":
            now = decision.at
        elif decision.verdict == "withdraw":
            attempt = apply(attempt, Withdrawn(), now)
            now += 1.0
        else:
            break
    assert adjudicate(attempt, now).verdict == "absent"
    assert [at - 100.0 for at in seen[:4]] == list(LOOKS)
    assert len(seen) == 5  # one more after the input was withdrawn


def test_one_match_is_adopted_at_once_and_two_are_the_users() -> None:
    assert adjudicate(look(unsure(), 100.0, "batch_1"), 100.0).batch_id == "batch_1"
    assert adjudicate(look(unsure(), 100.0, "batch_1", "batch_2"), 100.0).verdict == "stuck"


@given(
    looks=st.lists(st.tuples(st.floats(0, 2000), st.booleans()), max_size=12),
    now=st.floats(0, 5000),
    withdrawn=st.booleans(),
)
def test_absence_needs_every_look_and_a_withdrawn_input(
    looks: list[tuple[float, bool]], now: float, withdrawn: bool
) -> None:
    attempt = unsure(since=100.0)
    for after, whole in sorted(looks):
        attempt = look(attempt, 100.0 + after, whole=whole)
    if withdrawn:
        attempt = apply(attempt, Withdrawn(), 100.0 + max((after for after, _ in looks), default=0.0))
    verdict = adjudicate(attempt, 100.0 + now).verdict
    whole_looks = [after for after, whole in looks if whole]
    if verdict in ("withdraw", "absent"):
        assert max(whole_looks) >= LOOKS[-1]
    if verdict == "absent":
        assert withdrawn
        assert attempt.withdrawn_at is not None
        assert max(attempt.looks) > attempt.withdrawn_at


@given(st.lists(st.floats(0, 10_000), max_size=10))
def test_an_incomplete_listing_proves_nothing(times: list[float]) -> None:
    attempt = unsure()
    for at in sorted(times):
        attempt = look(attempt, 100.0 + at, whole=False)
    assert adjudicate(attempt, 20_000.0).verdict == "look"


# --- batches without a tag


def maybe(attempt: Attempt, at: float, *possible: str, whole: bool = True) -> Attempt:
    return apply(attempt, Looked(whole, (), possible), at)


def test_what_may_be_ours_is_examined_and_what_proves_ours_is_adopted() -> None:
    attempt = maybe(unsure(), 100.0, "b1", "b2")
    assert adjudicate(attempt, 100.0).verdict == "examine"
    attempt = apply(attempt, Examined("b1", ours=False), 200.0)
    assert (attempt.possible, attempt.strangers) == (("b2",), ("b1",))
    assert adjudicate(attempt, 200.0).verdict == "examine"
    proved = adjudicate(apply(attempt, Examined("b2", ours=True), 300.0), 300.0)
    assert (proved.verdict, proved.batch_id) == ("adopt", "b2")


def test_a_strangers_batch_is_asked_once_and_then_the_looks_begin() -> None:
    attempt = apply(maybe(unsure(), 100.0, "b1"), Examined("b1", ours=False), 90_000.0)
    assert adjudicate(attempt, 90_000.0).verdict == "look"
    attempt = maybe(attempt, 90_000.0, "b1")
    assert attempt.possible == ()
    assert adjudicate(attempt, 90_000.0).verdict == "withdraw"
    attempt = apply(attempt, Withdrawn(), 90_000.0)
    assert adjudicate(attempt, 90_000.0).verdict == "look"
    assert adjudicate(maybe(attempt, 90_001.0, "b1"), 90_001.0).verdict == "absent"


SIGHTS = st.lists(st.tuples(st.booleans(), st.sets(st.sampled_from(["b1", "b2", "b3"]))), max_size=8)


@given(sights=SIGHTS, mine=st.sampled_from(["b1", "b2", "b3", None]), step=st.floats(0, 700))
def test_only_a_proof_adopts_and_nothing_possible_is_ever_absent(
    sights: list[tuple[bool, set[str]]], mine: str | None, step: float
) -> None:
    attempt, now, shown = unsure(), 100.0, set()
    for whole, seen in sights:
        attempt, now = maybe(attempt, now, *sorted(seen), whole=whole), now + step
        shown |= seen
        verdict = adjudicate(attempt, now).verdict
        assert (verdict == "examine") == bool(shown - set(attempt.strangers))
        if verdict == "examine":
            one = attempt.possible[0]
            attempt = apply(attempt, Examined(one, ours=one == mine), now)
            if one == mine:
                assert adjudicate(attempt, now).batch_id == mine
                return
        elif verdict == "withdraw":
            attempt = apply(attempt, Withdrawn(), now)
        elif verdict == "absent":
            assert mine not in shown
            return


def made(batch_id: str, at: float | None) -> Batch:
    return Batch(id=batch_id, phase="running", status="in_progress", created_at=at)


def listing(*batches: Batch, whole: bool = True, date: float | None = None) -> Sightings:
    return Sightings(batches, whole, date)


def test_the_fence_is_told_by_the_times_that_batches_bear() -> None:
    seen = listing(made("b2", 50.0), made("b1", 70.0), made("?", None), whole=False, date=9_000.0)
    assert fence_of(seen, tags=True) == Creating("b2", 70.0, 9_000.0)
    assert fence_of(seen, tags=False) == Creating("b2", 70.0, 9_000.0, ("b2", "b1", "?"), 50.0)
    assert fence_of(listing(made("b2", 50.0)), tags=False).since is None
    assert fence_of(listing(date=9.0), tags=True) == Creating(None, None, 9.0)


def test_a_listing_goes_back_further_than_the_fence_or_to_its_end() -> None:
    # A day: servers have been wrong by hours about their own batches.
    assert how_far(Creating("b", 100_000.0, 5.0)) == Fence(100_000.0 - 86_400.0, 5.0)
    assert how_far(Creating(None, None, 5.0)) == Fence(None, 5.0)
    assert how_far(None) == Fence(None)


TIMES = st.lists(st.floats(0, 5000), max_size=20)


@given(before=TIMES, after=TIMES, page=st.integers(1, 30), set_back=st.floats(0, 10_000))
def test_what_was_made_after_the_fence_may_follow_whatever_the_clock_says(
    before: list[float], after: list[float], page: int, set_back: float
) -> None:
    """Up to where the fence's page went, not even a clock that was set back hides a batch."""
    old = [made(f"old {n}", at) for n, at in enumerate(sorted(before, reverse=True))]
    fence = fence_of(listing(*old[:page], whole=len(old) <= page), tags=False)
    new = [made(f"new {n}", at + 5000 - set_back) for n, at in enumerate(after)]
    kept = {batch.id for batch in may_follow(fence, [*new, *old])}
    assert kept >= {b.id for b in new if fence.since is None or (b.created_at or 0) >= fence.since}
    assert not kept & {batch.id for batch in old[:page]}


# --- denials


def test_a_batch_is_gone_after_hours_of_denials_and_not_before() -> None:
    now, denials = 1000.0, [1000.0]
    while not (decided := after_denials(denials)).gone:
        assert decided.at > now
        now = decided.at
        denials.append(now)
    assert [at - 1000.0 for at in denials] == list(DENIALS)


@given(st.lists(st.floats(0, 100_000), max_size=12))
def test_no_batch_is_gone_before_it_was_denied_for_hours(times: list[float]) -> None:
    denials = sorted(times)
    decided = after_denials(denials)
    if decided.gone:
        assert len(denials) >= 3
        assert denials[-1] - denials[0] >= 6 * 3_600
    elif denials:
        assert decided.at > denials[-1]


# --- refusals


def refused(since: float = 100.0) -> Attempt:
    attempt = Attempt(
        id=1, shard=1, n=1, arm=1, token="t", account=1, rows=3, bytes=10, estimate=5, sha256="", intended_at=0.0
    )
    for event in (Uploaded("f"), Creating(None, 1.0)):
        attempt = apply(attempt, event, 2.0)
    return apply(attempt, Refused("throttled", "slow down", 105.0), since)


@given(looks=st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=6), now=st.floats(0, 200))
def test_a_refusal_is_believed_after_its_looks_and_a_batch_that_shows_is_adopted(
    looks: list[tuple[float, bool]], now: float
) -> None:
    attempt = refused()
    for after, whole in sorted(looks):
        attempt = look(attempt, 100.0 + after, whole=whole)
    verdict = adjudicate(attempt, 100.0 + now).verdict
    assert verdict in ("look", "wait", "believe")
    if verdict == "believe":
        assert max(after for after, whole in looks if whole) >= REFUSED_LOOKS[-1]
    assert adjudicate(look(attempt, 300.0, "batch_1"), 300.0).batch_id == "batch_1"


def test_a_listing_without_an_end_is_left_to_the_user() -> None:
    assert adjudicate(apply(unsure(), Looked(complete=False, endless=True), 100.0), 100.0).verdict == "stuck"
    found = apply(unsure(), Looked(False, ("batch_1",), endless=True), 100.0)
    assert adjudicate(found, 100.0).batch_id == "batch_1"


# --- row_fate


@given(tries=st.integers(0, 10), cause=st.sampled_from(sorted(PASSING | UNASKED | {"invalid_request", "gone"})))
def test_rows_are_asked_again_only_for_causes_that_may_pass(tries: int, cause: Any) -> None:
    fate = row_fate(failed(cause), tries, live=True)
    if cause != "unreadable":
        assert fate == row_fate(failed(cause), tries)
    if cause in UNASKED:
        assert not fate.final
        assert fate.tries == tries
    elif cause in PASSING:
        assert fate.final == (tries + 1 >= TRIES)
    else:
        assert fate.final


def test_a_batchs_answer_that_cannot_be_read_is_not_bought_again() -> None:
    assert row_fate(failed("unreadable"), 0).final
    assert not row_fate(failed("unreadable"), 0, live=True).final


@pytest.mark.parametrize("outcome", ["answered", "refused", "truncated"])
def test_an_outcome_is_final(outcome: Any) -> None:
    assert row_fate(Result(outcome=outcome), 0).final


# --- may_go and the queue's limit

LIMITS = Limits(requests=10, bytes=10, creates_per_hour=100, batches_at_once=3)


@pytest.mark.parametrize(
    ("load", "learned", "goes"),
    [
        (Load(), Learned(), True),
        (Load(creates_last_hour=100), Learned(), False),
        (Load(batches=3), Learned(), False),
        (Load(batches=1, tokens=50), Learned(token_limit=100), True),
        (Load(batches=1, tokens=51), Learned(token_limit=100), False),
        (Load(batches=1, tokens=0), Learned(token_limit=10), True),
        (Load(batches=2, tokens=10**9), Learned(), True),
    ],
)
def test_admission(load: Load, learned: Learned, goes: bool) -> None:
    assert may_go(50, LIMITS, load, learned) == goes


@given(estimates=st.lists(st.integers(1, 100), min_size=1, max_size=30), limit=st.integers(1, 300), data=st.data())
def test_the_learned_limit_is_never_passed_and_everything_gets_its_turn(
    estimates: list[int], limit: int, data: st.DataObject
) -> None:
    open_limits = Limits(requests=1, bytes=1)
    waiting, queue = list(estimates), []
    for _ in range(1000):
        if not waiting and not queue:
            break
        if waiting and may_go(waiting[0], open_limits, Load(tokens=sum(queue)), Learned(token_limit=limit)):
            queue.append(waiting.pop(0))
            assert sum(queue) <= limit or len(queue) == 1
        else:
            queue.pop(data.draw(st.integers(0, len(queue) - 1)))
    assert not waiting


def full(limit: int | None) -> Refusal:
    return Refusal(kind="token_limit", message="full", token_limit=limit)


@pytest.mark.parametrize(
    ("limit", "in_queue", "estimate", "learned"),
    [
        (100, 90, 20, 100),
        (100, 60, 20, 79),  # by our count there was room: we count too low
        (100, 0, 20, 100),
        (None, 60, 20, 79),
        (None, 0, 20, None),
    ],
)
def test_what_a_full_queue_teaches(limit: int | None, in_queue: int, estimate: int, learned: int | None) -> None:
    assert learn_limit(full(limit), in_queue, estimate) == learned


@pytest.mark.parametrize(
    ("refusal", "estimate", "rows", "in_queue", "cut"),
    [
        (full(100), 200, 10, 50, True),
        (full(100), 50, 10, 50, False),
        (full(100), 60, 10, 0, True),
        (full(100), 20, 10, 0, False),
        (full(100), 200, 1, 0, False),
        (Refusal(kind="too_large", message=""), 1, 2, 0, True),
        (Refusal(kind="too_large", message=""), 1, 1, 0, False),
        (NO, 1000, 10, 0, False),
    ],
)
def test_what_must_be_cut(refusal: Refusal, estimate: int, rows: int, in_queue: int, cut: bool) -> None:
    assert must_be_cut(refusal, estimate, rows, in_queue) == cut


def test_a_shard_refused_again_and_again_by_an_empty_queue_is_cut() -> None:
    """By our count it fits twice over: then it is our count that is wrong."""
    full = Refusal(kind="token_limit", message="full", token_limit=400)
    cut = [must_be_cut(full, estimate=150, rows=5, in_queue=0, tries=tries) for tries in range(1, 7)]
    assert cut == [False, False, False, True, True, True]
    assert not must_be_cut(full, estimate=150, rows=5, in_queue=300, tries=9)
    assert not must_be_cut(full, estimate=150, rows=1, in_queue=0, tries=9)


# --- waiting


@given(times=st.integers(0, 100_000), advised=st.none() | st.floats(0, 5000))
def test_backing_off_is_bounded_and_heeds_advice(times: int, advised: float | None) -> None:
    wait = backoff(times, advised)
    assert wait >= 5.0
    assert wait <= max(600.0, advised or 0.0)
    assert advised is None or wait >= advised


@pytest.mark.parametrize(
    ("waiting", "in_flight", "waited", "wait"),
    [
        (WaitingRows(5, 0, follow=False), 5, 0.0, 0.0),
        (WaitingRows(5, 1, follow=False), 5, 0.0, 600.0),
        (WaitingRows(5, 1, follow=False), 5, 700.0, 0.0),
        (WaitingRows(5, 1, follow=False), 0, 0.0, 30.0),
        (WaitingRows(5, 2, follow=False), 0, 10.0, 50.0),
        (WaitingRows(5, 0, follow=True), 3, 0.0, 600.0),  # few, and siblings are under way
        (WaitingRows(50, 0, follow=True), 3, 0.0, 0.0),  # half of a usual shard is enough
        (WaitingRows(5, 0, follow=True), 0, 0.0, 0.0),  # nobody to wait for
        (WaitingRows(5, 0, follow=True), 3, 600.0, 0.0),
    ],
)
def test_rows_gather_unless_they_are_first_askings(
    waiting: WaitingRows, in_flight: int, waited: float, wait: float
) -> None:
    assert group(waiting, in_flight, 100, waited) == wait


def test_trouble_gets_longer_to_pass_each_time() -> None:
    assert [retry_delay(tries) for tries in (0, 1, 2, 3)] == [0.0, 30.0, 60.0, 120.0]
    assert retry_delay(50) == 600.0


@pytest.mark.parametrize(("running", "how"), [(1, "each"), (2, "each"), (3, "list"), (500, "list")])
def test_polling_by_the_cheaper_way(running: int, how: str) -> None:
    assert poll_how(running) == how
