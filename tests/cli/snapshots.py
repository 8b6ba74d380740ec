"""Snapshots and batches for tests of what is drawn from them."""

from typing import Any

from hypothesis import strategies as st

from overnight.engine.progress import BatchLine, Snapshot

ARMS = tuple(
    f"{template}__openai__{model}__{thinking}__forward"
    for template in ("prompt", "terse")
    for model in ("gpt-4.1-mini", "gpt-5-nano-with-a-rather-long-name")
    for thinking in ("default", "high")
)
STATES = ("intended", "uploaded", "creating", "unsure", "stuck", "running", "ended", "fetched", "closed")


def batch(shard: int = 1, **changes: Any) -> BatchLine:
    fields: dict[str, Any] = {
        "shard": shard,
        "attempt": 1,
        "arm": ARMS[0],
        "state": "running",
        "status": "in_progress",
        "batch_id": f"batch_{shard:032d}",
        "rows": 100,
        "completed": 40,
        "failed": 0,
        "message": None,
        "submitted_at": 1_794_000_000.0,
    }
    return BatchLine(**{**fields, **changes})


def snapshot(**changes: Any) -> Snapshot:
    """300 rows of which 120 are settled; the counts add up whatever is changed."""
    fields: dict[str, Any] = {
        "run": "fruit",
        "answered": 118,
        "refused": 0,
        "truncated": 0,
        "failed": 2,
        "pending": 180,
        "ahead": 0,
        "batches": (),
        "input_tokens": 1_234,
        "output_tokens": 56_789,
        "seconds_left": None,
    }
    fields |= changes
    fields["total"] = sum(fields[name] for name in ("answered", "refused", "truncated", "failed", "pending"))
    return Snapshot(**fields)


_count = st.integers(min_value=0, max_value=10_000_000)

any_batch = st.builds(
    BatchLine,
    shard=st.integers(1, 9_999),
    attempt=st.integers(1, 5),
    arm=st.sampled_from(ARMS),
    state=st.sampled_from(STATES),
    status=st.none() | st.sampled_from(["validating", "in_progress", "finalizing", "new\x1b[2Jword"]),
    batch_id=st.none() | st.just("batch_0123456789"),
    rows=_count,
    completed=_count,
    failed=_count,
    message=st.none() | st.text(max_size=200),
    submitted_at=st.none() | st.floats(0, 2e9),
)


@st.composite
def any_snapshot(draw: st.DrawFn) -> Snapshot:
    pending = draw(_count)
    return snapshot(
        run=draw(st.text(alphabet="abcdefghij-.", min_size=1, max_size=60)),
        answered=draw(_count),
        refused=draw(_count),
        truncated=draw(_count),
        failed=draw(_count),
        pending=pending,
        ahead=draw(st.integers(0, pending)),
        batches=tuple(draw(st.lists(any_batch, max_size=12))),
        seconds_left=draw(st.none() | st.floats(0, 1e7)),
        trouble=draw(st.none() | st.text(max_size=300)),
    )
