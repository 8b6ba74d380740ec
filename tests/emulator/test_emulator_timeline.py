"""The life of a batch, as a pure function of its facts and the time."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from overnight_emulator.batches.batch import TERMINAL, Batch, Check, Flaw, Tally, progress, status, timeline
from overnight_emulator.dialects.openai.objects import batch_object
from overnight_emulator.faults.kinds import Fault

ORDER = {"validating": 0, "pondering": 1, "in_progress": 1, "finalizing": 2, "cancelling": 3}

faults = st.sampled_from(
    [
        None,
        Fault("batch", "expire", share=0.4),
        Fault("batch", "expire", share=0.4, seconds=50_000),
        Fault("batch", "stuck", status="validating"),
        Fault("batch", "stuck", status="in_progress"),
        Fault("batch", "stuck"),
        Fault("batch", "slow", seconds=100_000),
        Fault("batch", "status_word", word="pondering"),
        Fault("batch", "cancel"),
    ]
)
moments = st.floats(0, 300_000)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    flaw = draw(st.none() | st.just(Flaw("x", "y")))
    return Batch(
        "batch_x",
        "openai",
        "/v1/responses",
        "file-x",
        created_at=1000.0,
        listed_from=1000.0,
        details={"completion_window": "24h"},
        check=Check(draw(st.floats(0, 200_000)), total=10, model="gpt-4.1", flaw=flaw),
        fault=draw(faults),
        cancel_at=draw(st.none() | moments.map(lambda moment: 1000 + moment)),
        hurried_at=draw(st.none() | moments.map(lambda moment: 1000 + moment)),
    )


@given(batches(), st.lists(moments, min_size=2, max_size=12), st.booleans())
def test_a_batch_only_goes_forward(batch: Batch, after: list[float], done: bool):
    course = timeline(batch)
    assert course is not None
    if done:
        batch = Batch(**{**{name: getattr(batch, name) for name in batch.__struct_fields__}, "tally": Tally()})
    times = sorted(1000 + moment for moment in after)
    states = [status(batch, now) for now in times]
    for earlier, later in itertools.pairwise(states):
        if earlier in TERMINAL:
            assert later == earlier
        elif later not in TERMINAL:
            assert ORDER[earlier] <= ORDER[later]
    shares = [progress(course, now) for now in times]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    if not done and course.end != "failed":
        assert not TERMINAL & set(states), "nothing ends before its rows are done"


@given(batches())
def test_the_end_and_the_work_are_in_order(batch: Batch):
    course = timeline(batch)
    assert course is not None
    assert course.work_at <= course.ends_at or course.end == "failed"
    assert batch.created_at <= course.ends_at or batch.hurried_at is not None
    if batch.hurried_at is not None:
        assert course.ends_at <= batch.hurried_at
    if batch.cancel_at is None and batch.hurried_at is None and batch.fault is None and batch.check.flaw is None:
        assert course.ends_at <= batch.expires_at
        assert (course.end == "expired") == (course.share < 1) or course.ends_at == batch.expires_at


@given(batches(), moments)
def test_any_batch_can_be_shown_at_any_time(batch: Batch, after: float):
    now = 1000 + after
    shown = batch_object(batch, now)
    assert shown["status"] == status(batch, now)
    times = [shown[name] for name in ("in_progress_at", "finalizing_at", "cancelling_at") if shown[name] is not None]
    assert all(time <= now for time in times)
    counts = shown["request_counts"]
    assert counts["completed"] + counts["failed"] <= counts["total"] or counts["total"] == 0
