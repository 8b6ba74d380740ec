"""What to do next, decided from facts alone. Nothing here waits, writes or calls anybody."""

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from overnight.core.attempt import Attempt, Creating
from overnight.core.result import PASSING, UNASKED, Result
from overnight.core.stage import GATHER
from overnight.ledger.landed import Fate
from overnight.prices import Processing
from overnight.providers.contract import Batch, CreateAnswer, Fence, Limits, Refusal, Sightings
from overnight.providers.provider import Formatted, takes_batches

# Refusals of one shard after which our count of its tokens is no longer trusted.
_REFUSED_ENOUGH = 4
# When to look for a batch that may or may not have been made: at once, and until any create has surely arrived.
LOOKS = (0.0, 30.0, 120.0, 600.0)
# The same after a refusal. The create has been answered, so that none is under way: only a listing that is a little
# behind could hide a batch.
REFUSED_LOOKS = (0.0, 30.0)
# When to ask again for a batch that the provider says it does not have, before it is believed.
DENIALS = (0.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0)
_FEWEST_DENIALS = 3
# How far a provider may be wrong about the times of its own batches: listings are read back this much further.
TIMES_WRONG = 86400.0
# The same for batches that the fence did not see and that have no tag: each such one with as many rows has to be looked
# into, and to have ended before, so that not all of a day's are.
UNSEEN_TIMES_WRONG = 3600.0
# Refusals because of an input that the provider does not find, until it is asked whether it has it.
UPLOAD_DOUBTED = 2
# A row is asked this many times before it has failed for good.
TRIES = 4
BACKOFF_FIRST = 5.0
BACKOFF_LONGEST = 600.0
# More of them would pass the longest wait, and in the end the numbers themselves.
_DOUBLINGS = 20

# How the user wants rows to travel.
Mode = Literal["batch", "live", "auto"]
CreateOutcome = Literal["accepted", "refused", "unsent", "unknown"]
Verdict = Literal["adopt", "wait", "look", "examine", "withdraw", "absent", "believe", "stuck"]
# A create refused for these reasons may be sent again as it is.
TRANSIENT_REFUSALS = frozenset({"throttled", "file_not_ready"})
# No further create of this account can succeed until somebody does something about it.
BREAKING_REFUSALS = frozenset({"unauthorized", "no_credit"})


def create_outcome(answer: CreateAnswer) -> CreateOutcome:
    """What became of a create. Only a definite no is a no: every doubt is `unknown`, and is looked into."""
    if not answer.sent:
        return "unsent"
    if answer.status is None:
        return "unknown"
    if 200 <= answer.status < 300:
        return "accepted" if answer.batch is not None else "unknown"
    definite = 400 <= answer.status < 500 and answer.status not in (408, 409, 425, 499)
    if (definite or answer.status == 529) and answer.refusal is not None:
        return "refused"
    return "unknown"


def first_processing(mode: Mode, vendor: Formatted) -> Processing:
    """How rows are asked before any deadline: `auto` uses batches wherever there are any."""
    if mode == "auto":
        return "batch" if takes_batches(vendor) else "live"
    return mode


def backoff(times: int, advised: float | None = None) -> float:
    """How long to wait after being turned away `times` times."""
    own = min(BACKOFF_LONGEST, BACKOFF_FIRST * 2.0 ** min(max(0, times), _DOUBLINGS))
    return max(own, advised) if advised is not None else own


class Adjudication(msgspec.Struct, frozen=True):
    verdict: Verdict
    batch_id: str | None = None
    at: float = 0.0


def adjudicate(attempt: Attempt, now: float) -> Adjudication:
    """An attempt whose create may have made a batch: what do the looks so far say?

    `attempt.looks` are the times of complete listings without a candidate; `attempt.candidates` are the
    batches that the newest listing showed as ours; `attempt.possible` are those that only their rows can tell apart.
    """
    if len(attempt.candidates) == 1:
        return Adjudication("adopt", attempt.candidates[0])
    if len(attempt.candidates) > 1:
        return Adjudication("stuck")
    if attempt.possible:
        return Adjudication("examine")
    if attempt.endless:
        return Adjudication("stuck")
    since = attempt.unsure_since if attempt.unsure_since is not None else now
    last = max(attempt.looks, default=since - 1.0)
    schedule = LOOKS if attempt.refused is None else REFUSED_LOOKS
    due = [since + delay for delay in schedule if since + delay > last]
    if due:
        return Adjudication("look", at=due[0]) if now >= due[0] else Adjudication("wait", at=due[0])
    if attempt.refused is not None:
        return Adjudication("believe")
    if attempt.withdrawn_at is None:
        return Adjudication("withdraw")
    # One complete look after the input was deleted: a create that is still under way can only fail now.
    return Adjudication("absent") if attempt.absent_since_withdrawal else Adjudication("look", at=now)


def fence_of(seen: Sightings, *, tags: bool) -> Creating:
    """What is put on record before a create, from the first page of the listing.

    The server's clock may differ from the times that its batches bear, so that only these are compared with them.
    """
    times = [batch.created_at for batch in seen.batches if batch.created_at is not None]
    newest = seen.batches[0].id if seen.batches else None
    at = max(times, default=None)
    if tags:
        return Creating(newest, at, seen.date)
    since = None if seen.complete else min(times, default=None)
    return Creating(newest, at, seen.date, tuple(batch.id for batch in seen.batches), since)


def how_far(fence: Creating | None) -> Fence:
    """How far back a listing must go to show every batch that was made after the fence."""
    if fence is None or fence.at is None:
        return Fence(None, fence.date if fence is not None else None)
    return Fence(fence.at - TIMES_WRONG, fence.date)


def may_follow(fence: Creating | None, batches: Iterable[Batch]) -> list[Batch]:
    """The batches that can have been made after the fence: those that were not there, as far as the fence saw."""
    if fence is None:
        return list(batches)
    since = fence.since - UNSEEN_TIMES_WRONG if fence.since is not None else float("-inf")
    new = (batch for batch in batches if batch.id not in fence.seen and batch.id != fence.newest)
    return [batch for batch in new if batch.created_at is None or batch.created_at >= since]


class Denial(msgspec.Struct, frozen=True):
    """Whether a batch that the provider denies is gone; if not yet, when to ask again."""

    gone: bool
    at: float = 0.0


def after_denials(denials: Sequence[float]) -> Denial:
    """A batch that ran is not gone because a server says so for a while: it must say so for hours, on and on."""
    if not denials:
        return Denial(gone=False)
    first, last = denials[0], denials[-1]
    due = [first + delay for delay in DENIALS if first + delay > last]
    if not due and len(denials) >= _FEWEST_DENIALS:
        return Denial(gone=True)
    return Denial(gone=False, at=due[0] if due else last + DENIALS[1])


def row_fate(result: Result, tries: int, most: int = TRIES, *, live: bool = False) -> Fate:
    """Settle the row, or ask it again? `tries` were made before this one, of `most` in all.

    A batch's answer that cannot be read is paid for, and stays what it is until the user says otherwise. A live call's
    may only have been cut off on its way, as those are that do not come at all.
    """
    if result.outcome != "failed" or (result.cause == "unreadable" and not live):
        return Fate(final=True, tries=tries + 1)
    if result.cause in UNASKED:
        return Fate(final=False, tries=tries)
    if result.cause in PASSING and tries + 1 < most:
        return Fate(final=False, tries=tries + 1)
    return Fate(final=True, tries=tries + 1)


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What one account has at the provider now. Tokens are in our own estimate, by model."""

    batches: int = 0
    creates_last_hour: int = 0
    tokens: int = 0


class Learned(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider's refusals have taught about one model's queue."""

    token_limit: int | None = None


def may_go(estimate: int, limits: Limits, load: Load, learned: Learned) -> bool:
    """Whether one more shard may be created now.

    A shard over the whole learned limit goes alone into an empty queue: if it is refused there, it is cut.
    """
    if limits.creates_per_hour is not None and load.creates_last_hour >= limits.creates_per_hour:
        return False
    if limits.batches_at_once is not None and load.batches >= limits.batches_at_once:
        return False
    if learned.token_limit is None or load.tokens == 0:
        return True
    return load.tokens + estimate <= learned.token_limit


def learn_limit(refusal: Refusal, in_queue: int, estimate: int) -> int | None:
    """The queue's size in our own tokens, after it was too small for `estimate` more.

    The provider states its limit in its own count. If by our count there was room, our count is too low:
    what was refused is then the better measure.
    """
    refused_at = in_queue + estimate
    if refusal.token_limit is None:
        return max(1, refused_at - 1) if in_queue else None
    if refused_at <= refusal.token_limit and in_queue:
        return max(1, refused_at - 1)
    return refusal.token_limit


def must_be_cut(refusal: Refusal, estimate: int, rows: int, in_queue: int, tries: int = 1) -> bool:
    """Whether a shard that was refused, this time as its `tries`-th, can only ever go in smaller pieces."""
    if rows < 2:
        return False
    if refusal.kind == "too_large":
        return True
    if refusal.kind != "token_limit":
        return False
    if refusal.token_limit is not None and estimate > refusal.token_limit:
        return True
    # Nothing of ours was queued and still there was no room, though by our count it fits: we count too low,
    # or somebody else fills the queue. A shard that takes most of the limit is worth cutting, and any that was
    # refused so again and again: somebody else's batches end, a wrong count stays.
    if in_queue or refusal.token_limit is None:
        return False
    return estimate * 2 > refusal.token_limit or tries >= _REFUSED_ENOUGH


def poll_how(running: int, page: int = 100) -> Literal["list", "each"]:
    """One listing call shows a page of batches; below three, asking for each is as cheap and more certain."""
    return "list" if running >= 3 and page > 1 else "each"


class WaitingRows(msgspec.Struct, frozen=True):
    """An arm's rows in the queue: how many, the fewest tries of any, and whether all follow from answers."""

    rows: int
    tries: int
    follow: bool


def group(waiting: WaitingRows, in_flight: int, usual: int, waited: float, gather: float = GATHER) -> float:
    """How much longer an arm's rows wait before they are packed.

    First askings go at once. Rows that follow from answers go when there are enough of them (half of a usual
    shard), and a few wait for siblings that are still under way, up to the gathering time. Rows asked again also
    give passing trouble time to pass. So few large batches are made, and not many small ones.
    """
    if waiting.tries == 0:
        enough = not waiting.follow or in_flight == 0 or waiting.rows * 2 >= usual
        return 0.0 if enough else max(0.0, gather - waited)
    wanted = gather if in_flight else retry_delay(waiting.tries)
    return max(0.0, wanted - waited)


def retry_delay(tries: int) -> float:
    """How long rows that failed for passing reasons wait before they are sent again."""
    return 0.0 if tries <= 0 else min(BACKOFF_LONGEST, 30.0 * 2.0 ** (tries - 1))
