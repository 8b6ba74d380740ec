"""One try at sending a shard, as the sum of its events.

    intended -> uploaded -> creating -> running -> ended -> fetched -> closed
       |           ^           |  \\-> unsure -^        \\-> closed (failed at validation)
       |           \\- believed ----------/ \\-> closed (absent, refused), or stuck until the user decides
       \\-> calling -> closed      (live: each row is a call of its own)

A refusal makes an attempt `unsure` too, until looks at the listing have confirmed it. A batch that a listing shows as
ours is accepted from any state before `running`: what the ledger believes may be older than what was done.

Where a provider keeps no tag, `unsure` lasts until the batches that may be ours have ended and were examined.

Events are facts in the ledger; the state is whatever they add up to.
"""

from typing import Literal

import msgspec

from overnight.core.errors import LedgerError

State = Literal[
    "intended", "uploaded", "creating", "unsure", "stuck", "running", "ended", "fetched", "calling", "closed"
]
Ending = Literal["ingested", "absent", "rejected", "refused", "abandoned", "answered", "stopped", "interrupted"]


class Intended(msgspec.Struct, frozen=True, tag="intended"):
    """The input file is whole on disk; nobody has been told yet."""

    rows: int
    sha256: str


class Uploaded(msgspec.Struct, frozen=True, tag="uploaded"):
    file_id: str


class Creating(msgspec.Struct, frozen=True, tag="creating"):
    """About to send the create. The fence is what the listing showed just before.

    `at` is the newest time that a batch there bore, `date` the server's clock. Where batches bear no tag, `seen` are
    those that were there, and `since` is how far back that page went: what is not among them may be ours.
    """

    newest: str | None
    at: float | None = None
    date: float | None = None
    seen: tuple[str, ...] = ()
    since: float | None = None


class Accepted(msgspec.Struct, frozen=True, tag="accepted"):
    batch_id: str
    how: Literal["answer", "listing", "user"] = "answer"
    # The account of the pool that has it, where that is another one than this ledger had chosen.
    account: int | None = None


class Reopened(msgspec.Struct, frozen=True, tag="reopened"):
    """An attempt that was given up has made a batch after all."""

    batch_id: str


class Refused(msgspec.Struct, frozen=True, tag="refused"):
    """A no to the create, which the listing has yet to confirm. `retry_at` is when the same may be sent again."""

    reason: str
    message: str
    retry_at: float
    token_limit: int | None = None
    line: int | None = None
    # Tokens of ours that were queued already, as we count them.
    in_queue: int = 0


class Believed(msgspec.Struct, frozen=True, tag="believed"):
    """The listing shows no batch after the refusal: the same may be sent again."""


class Vanished(msgspec.Struct, frozen=True, tag="vanished"):
    """The provider no longer has the uploaded input: it is uploaded again."""

    file_id: str


class Unsent(msgspec.Struct, frozen=True, tag="unsent"):
    message: str
    retry_at: float


class Unknown(msgspec.Struct, frozen=True, tag="unknown"):
    message: str


class Looked(msgspec.Struct, frozen=True, tag="looked"):
    """One look through the provider's listing for a batch that may be ours."""

    complete: bool
    candidates: tuple[str, ...] = ()
    # Batches that may be ours or not: their own rows tell, once they have ended.
    possible: tuple[str, ...] = ()
    # The listing comes to no end: looking again would not help.
    endless: bool = False


class Denied(msgspec.Struct, frozen=True, tag="denied"):
    """The provider said that it does not know a batch that it had."""

    batch_id: str


class Examined(msgspec.Struct, frozen=True, tag="examined"):
    """A batch that might have been ours has ended, and its rows have told whose it is; None when none could be seen."""

    batch_id: str
    ours: bool | None


class Withdrawn(msgspec.Struct, frozen=True, tag="withdrawn"):
    """The uploaded input is deleted: a create that arrives late can no longer run."""


class Stuck(msgspec.Struct, frozen=True, tag="stuck"):
    candidates: tuple[str, ...]


class Seen(msgspec.Struct, frozen=True, tag="seen"):
    status: str
    total: int = 0
    completed: int = 0
    failed: int = 0


class Ended(msgspec.Struct, frozen=True, tag="ended"):
    phase: Literal["completed", "failed", "expired", "cancelled", "gone"]
    status: str
    parts: tuple[tuple[str, str], ...] = ()
    completed: int = 0
    failed: int = 0
    reason: str | None = None
    message: str | None = None
    token_limit: int | None = None
    line: int | None = None
    # Rows that it says it did not run.
    unrun: int = 0


class Fetched(msgspec.Struct, frozen=True, tag="fetched"):
    """One look at the results of a batch that has ended: what it brought, and what it proves of rows that it did not.

    `files` are the raw files on disk by now, by ledger number: those downloads that held rows.
    """

    files: tuple[int, ...]
    download: int = 1
    # A file that the batch names is no longer there.
    gone: bool = False
    # Why what came proves nothing; None when it can be all there is.
    doubt: str | None = None
    # Rows came that no earlier look had brought.
    news: bool = True
    # Lines that cannot be joined to anything, where all were looked at.
    unreadable: int = 0
    sha256: tuple[str, ...] = ()


class Overtaken(msgspec.Struct, frozen=True, tag="overtaken"):
    """Its rows are asked live, though it may still answer some: whichever answer comes first counts."""


class Calling(msgspec.Struct, frozen=True, tag="calling"):
    """Rows are asked live; answers are appended to the raw file of this ledger number."""

    file: int


class Closed(msgspec.Struct, frozen=True, tag="closed"):
    how: Ending
    message: str | None = None


AttemptEvent = (
    Intended | Uploaded | Creating | Accepted | Reopened | Refused | Believed | Vanished | Unsent | Unknown
    | Looked | Denied | Examined | Withdrawn | Stuck | Seen | Ended | Fetched | Overtaken | Calling | Closed
)  # fmt: skip


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one try. `estimate` is its input in tokens, as we count them."""

    id: int
    shard: int
    n: int
    arm: int
    token: str
    account: int
    rows: int
    bytes: int
    estimate: int
    sha256: str
    intended_at: float
    # The batch was made elsewhere: its custom ids are its maker's, not ours.
    adopted: bool = False
    # Its rows are live calls.
    live: bool = False
    overtaken: bool = False
    state: State = "intended"
    file_id: str | None = None
    # What the listing showed before the first create that may have made a batch.
    fence: Creating | None = None
    batch_id: str | None = None
    status: str | None = None
    completed: int = 0
    failed: int = 0
    # The most that its counts ever showed as completed.
    seen_completed: int = 0
    refusals: int = 0
    # The refusal that is being looked into; None when nobody knows what became of the create.
    refused: Refused | None = None
    last_refusal: str | None = None
    retry_at: float = 0.0
    message: str | None = None
    unsure_since: float | None = None
    looks: tuple[float, ...] = ()
    withdrawn_at: float | None = None
    # A complete look without a candidate followed the withdrawal. Its order counts, not its time: clocks go back.
    absent_since_withdrawal: bool = False
    candidates: tuple[str, ...] = ()
    possible: tuple[str, ...] = ()
    strangers: tuple[str, ...] = ()
    # Since when a batch that may be ours shows no row.
    unclear_since: float | None = None
    endless: bool = False
    # When the provider denied the batch, since it was last seen.
    denials: tuple[float, ...] = ()
    submitted_at: float | None = None
    ended_at: float | None = None
    ended: Ended | None = None
    # Every look at its results, and when it was.
    fetches: tuple[tuple[float, Fetched], ...] = ()
    # How many looks there were before it was reopened: they prove nothing of the batch that it has now.
    looks_before: int = 0
    files: tuple[int, ...] = ()
    closed: Closed | None = None

    @property
    def in_doubt(self) -> bool:
        """Whether nobody knows yet if its create made a batch."""
        return self.state in ("creating", "unsure")

    @property
    def holds_queue_room(self) -> bool:
        """Whether its tokens wait in the provider's queue, or are about to. What waits for the user holds up nobody."""
        return not self.live and self.refused is None and self.state not in ("stuck", "ended", "fetched", "closed")


# From which states an event may come. Anything else is a ledger that was tampered with, or a bug.
LEGAL: dict[type, frozenset[str]] = {
    Intended: frozenset({"intended"}),
    Uploaded: frozenset({"intended"}),
    Creating: frozenset({"uploaded"}),
    # While it runs: the provider denies the batch that it had named, and lists another one as ours.
    Accepted: frozenset({"intended", "uploaded", "creating", "unsure", "stuck", "running"}),
    Reopened: frozenset({"closed"}),
    Refused: frozenset({"creating"}),
    Believed: frozenset({"unsure"}),
    Vanished: frozenset({"uploaded"}),
    Unsent: frozenset({"creating"}),
    Unknown: frozenset({"creating"}),
    Looked: frozenset({"unsure"}),
    Denied: frozenset({"running", "unsure"}),
    Examined: frozenset({"unsure"}),
    Withdrawn: frozenset({"unsure"}),
    Stuck: frozenset({"intended", "uploaded", "unsure"}),
    Seen: frozenset({"running"}),
    # What a later look at an ended batch shows replaces what the first one did.
    Ended: frozenset({"running", "ended", "fetched"}),
    Fetched: frozenset({"ended", "fetched"}),
    Overtaken: frozenset({"running"}),
    Calling: frozenset({"intended"}),
    Closed: frozenset({"intended", "uploaded", "unsure", "stuck", "ended", "fetched", "calling"}),
}
_ANSWERED = frozenset({"creating"})


def legal_from(event: AttemptEvent) -> frozenset[str]:
    """A listing may show a batch at any time; an answer only comes to a create."""
    return _ANSWERED if isinstance(event, Accepted) and event.how == "answer" else LEGAL[type(event)]


def apply(attempt: Attempt, event: AttemptEvent, at: float) -> Attempt:  # noqa: C901, PLR0912 - one case an event
    """The attempt after one more fact."""
    if attempt.state not in legal_from(event):
        message = f"attempt {attempt.token}: '{type(event).__name__.lower()}' cannot follow '{attempt.state}'"
        raise LedgerError(message)
    change = msgspec.structs.replace
    match event:
        case Intended():
            return attempt
        case Uploaded(file_id):
            return change(attempt, state="uploaded", file_id=file_id)
        case Creating():
            # A create that was refused may have made a batch all the same: it lies behind the first fence.
            fence = attempt.fence if attempt.fence is not None and attempt.refusals else event
            return change(attempt, state="creating", fence=fence, submitted_at=at)
        case Accepted(batch_id, account=account):
            return _at_provider(change(attempt, account=account or attempt.account), batch_id, at)
        case Reopened(batch_id):
            return _at_provider(_as_before_its_end(attempt), batch_id, at)
        case Refused() | Believed() | Vanished() | Unsent() | Unknown():
            return _after_create(attempt, event, at)
        case Looked():
            return _after_look(attempt, event, at)
        case Denied():
            return change(attempt, denials=(*attempt.denials, at))
        case Examined(batch_id, ours):
            if ours is None:
                return change(attempt, unclear_since=at if attempt.unclear_since is None else attempt.unclear_since)
            if ours:
                return change(attempt, candidates=(batch_id,), possible=(), denials=())
            rest = tuple(one for one in attempt.possible if one != batch_id)
            strangers = (*attempt.strangers, batch_id)
            return change(attempt, possible=rest, strangers=strangers, unclear_since=None, denials=())
        case Withdrawn():
            return change(attempt, withdrawn_at=at)
        case Stuck(candidates):
            return change(attempt, state="stuck", candidates=candidates)
        case Seen(status, _, completed, failed):
            most = max(attempt.seen_completed, completed)
            seen = change(attempt, status=status, completed=completed, failed=failed, seen_completed=most)
            return change(seen, denials=())
        case Ended():
            return _after_end(attempt, event, at)
        case Fetched(files):
            return change(attempt, state="fetched", files=files, fetches=(*attempt.fetches, (at, event)))
        case Overtaken():
            return change(attempt, overtaken=True)
        case Calling(file):
            return change(attempt, state="calling", files=(file,), submitted_at=at)
        case Closed():
            return change(attempt, state="closed", closed=event, message=event.message)


def _at_provider(attempt: Attempt, batch_id: str, at: float) -> Attempt:
    submitted = at if attempt.submitted_at is None else attempt.submitted_at
    settled = msgspec.structs.replace(attempt, message=None, refused=None, candidates=(), possible=(), denials=())
    return msgspec.structs.replace(settled, state="running", batch_id=batch_id, submitted_at=submitted)


def _as_before_its_end(attempt: Attempt) -> Attempt:
    looks = attempt.looks_before + len(attempt.fetches)
    change = msgspec.structs.replace
    anew = change(attempt, closed=None, overtaken=False, ended=None, ended_at=None, fetches=(), looks_before=looks)
    return change(anew, status=None, seen_completed=0)


def _after_end(attempt: Attempt, end: Ended, at: float) -> Attempt:
    return msgspec.structs.replace(
        attempt,
        state="fetched" if attempt.state == "fetched" else "ended",
        status=end.status,
        ended=end,
        ended_at=at if attempt.ended_at is None else attempt.ended_at,
        completed=end.completed,
        failed=end.failed,
        seen_completed=max(attempt.seen_completed, end.completed),
    )


def _after_create(attempt: Attempt, event: Refused | Believed | Vanished | Unsent | Unknown, at: float) -> Attempt:
    """A create that made no batch, or of which nobody knows whether it did."""
    change = msgspec.structs.replace
    match event:
        case Refused(message=message):
            refusals = attempt.refusals + 1
            unsure = change(attempt, state="unsure", unsure_since=at, looks=(), message=message)
            return change(unsure, refusals=refusals, refused=event, last_refusal=event.reason)
        case Believed():
            retry_at = attempt.refused.retry_at if attempt.refused is not None else attempt.retry_at
            return change(attempt, state="uploaded", retry_at=retry_at, refused=None)
        case Vanished():
            # What was refused was for want of the upload: the next create has one of its own.
            return change(attempt, state="intended", file_id=None, last_refusal=None)
        case Unsent(message, retry_at):
            return change(attempt, state="uploaded", retry_at=retry_at, message=message)
        case Unknown(message):
            return change(attempt, state="unsure", unsure_since=at, looks=(), message=message, refused=None)


def _after_look(attempt: Attempt, look: Looked, at: float) -> Attempt:
    """A look counts as an absence when it was complete and showed nothing. What was possible once stays so."""
    seen = dict.fromkeys((*attempt.possible, *look.possible))
    possible = tuple(one for one in seen if one not in attempt.strangers)
    after = msgspec.structs.replace(attempt, candidates=look.candidates, possible=possible, endless=look.endless)
    if not look.complete or look.candidates or possible:
        return after
    absent = attempt.withdrawn_at is not None
    return msgspec.structs.replace(after, looks=(*attempt.looks, at), absent_since_withdrawal=absent)
