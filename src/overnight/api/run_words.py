"""How a run and its batches stand, in plain words: the same at the command line and in the dashboard."""

from collections.abc import Iterable

from overnight.api.status import RunStatus
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine
from overnight.terminal.plain_text import one_line

_STATES = {
    "intended": "about to be sent",
    "uploaded": "uploaded",
    "creating": "being handed over",
    "unsure": "handed over, but the answer was lost; looking for it",
    "stuck": "needs your decision",
    "fetched": "being read",
    "calling": "being asked live",
}
# The providers' own words for a batch that is under way.
STATUSES = {
    "validating": "being checked",
    "in_progress": "running",
    "finalizing": "being finished",
    "cancelling": "being cancelled",
}


def batches(count: int) -> str:
    return number_of(count, "batch", "batches")


def batch_words(batch: BatchLine) -> str:
    """Where a batch is, as one would say it."""
    if batch.state == "running":
        status = batch.status or "validating"
        return STATUSES.get(status, one_line(status))
    if batch.state == "ended":
        return f"ended ({one_line(batch.status or 'unknown')}), being fetched"
    if batch.state == "uploaded" and batch.message:
        return f"waits: {one_line(batch.message)}"
    if batch.state == "unsure" and batch.possible:
        names = ", ".join(batch.possible)
        return f"handed over, but the answer was lost; {names} may be it, which shows when it has ended"
    if batch.state == "fetched" and batch.doubt:
        return f"ended, but {one_line(batch.doubt)}; looked for again"
    if batch.state == "closed":
        return "done" if batch.message is None else one_line(batch.message)
    return _STATES.get(batch.state, batch.state)


def open_batches(found: Iterable[BatchLine]) -> list[BatchLine]:
    """Those that are not done, the ones that need a person first."""
    still = [batch for batch in found if batch.state != "closed"]
    return sorted(still, key=lambda batch: (batch.state not in ("stuck", "unsure"), batch.shard, batch.attempt))


def is_open(status: RunStatus) -> bool:
    """Whether anything of the run is still to come. A run without rows is only just being begun."""
    if status.trouble is not None:
        return False
    if open_batches(status.batches) or not status.total("rows"):
        return True
    return status.total("pending") > 0 and not status.cancelled


def state_words(status: RunStatus) -> str:
    """How a run stands, in few words."""
    if status.trouble is not None:
        return "cannot be read"
    carried = open_batches(status.batches)
    if any(batch.state == "stuck" for batch in carried):
        return "needs your decision"
    if carried:
        return f"{batches(len(carried))} open"
    if status.cancelled:
        return "cancelled"
    if not status.total("rows"):
        return "being begun"
    if status.total("pending"):
        return "not sent yet" if not status.batches else "rows are open"
    failed = status.total("failed")
    return f"done, {failed:,} failed" if failed else "done"
