"""What the downloads of an ended batch prove about the rows that did not come. Pure: nothing here waits or calls.

A download proves something when it is whole, in the provider's own format, and does not contradict the batch's own
counts. A web page, an empty body or half a file proves nothing, however often it comes: then the answers are looked
for again, with growing pauses, for as long as the provider keeps them. A row that was run is paid for: when its answer
is not to be had, it has failed and its cost is presumed spent. Only rows that were not run are asked again unbidden.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from overnight.core.attempt import Ended, Fetched
from overnight.core.result import Cause
from overnight.core.wording import number_of
from overnight.providers.contract import Batch

HOUR = 3600.0
DAY = 24 * HOUR
# How long what does not touch a paid answer is looked for, and how long downloads must agree where nobody counts.
PATIENT = HOUR
FIRST_PAUSE = 5.0
LONGEST_PAUSE = 6 * HOUR
# Where a vendor keeps results for ever, or does not say.
USUAL_RETENTION = 30 * DAY

# What a row that was not run is called, by how its batch ended.
_NOT_RUN: dict[str, Cause] = {"expired": "expired", "cancelled": "cancelled"}

Fetches = Sequence[tuple[float, Fetched]]


class Download(msgspec.Struct, frozen=True, kw_only=True):
    """What came down the wire for one part of a batch. Lines are counted as far as they were looked at."""

    kind: str
    bytes: int
    announced: int | None
    # Rows of this batch, and of others.
    readable: int
    foreign: int = 0
    unreadable: int = 0
    # Rows of this batch that are named in lines which cannot be read, and are no requests either.
    named: int = 0
    # It is what was sent, byte for byte.
    own_input: bool = False
    # The last line ends in a newline, or is whole all the same.
    ends_whole: bool = True
    # It holds rows that no earlier download brought.
    news: bool = False


def part_names(parts: Iterable[tuple[str, str]]) -> list[tuple[str, str, str]]:
    """Each part's name among a batch's files, its kind and its reference: `output`, `output.2`, `error`."""
    seen: Counter[str] = Counter()
    named = []
    for kind, ref in parts:
        seen[kind] += 1
        named.append((kind if seen[kind] == 1 else f"{kind}.{seen[kind]}", kind, ref))
    return named


def doubt_of(download: Download, ended: Ended) -> str | None:
    """Why a download proves nothing about what is not in it; None when it can be the whole file."""
    what = f"of the {download.kind} file"
    if download.announced is not None and download.announced != download.bytes:
        return f"{download.bytes:,} of {download.announced:,} bytes {what} came"
    if not download.bytes and download.kind == "error" and ended.completed and not ended.failed:
        return None  # some name an error file although nothing has failed
    if not download.bytes:
        return f"nothing {what} came"
    if download.own_input:
        return f"what came in place {what} is the batch's own input"
    if not download.readable and download.foreign:
        return f"what came in place {what} has rows of another batch"
    # A file in which every line is spoilt, each under its own row's name, is the provider's all the same.
    if not download.readable and not 0 < download.unreadable == download.named:
        return f"what came in place {what} is not in the provider's format"
    return None if download.ends_whole else f"the last line {what} is cut off"


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """An ended batch by its own counts, beside the rows of it that are on record.

    `ran` are the rows on record that the provider has run, `completed` those that it says it has.
    """

    phase: str
    rows: int
    came: int
    ran: int
    completed: int = 0
    failed: int = 0
    unrun: int = 0
    # The most that it was ever seen to count as completed: some reset their counts on cancelling.
    seen_completed: int = 0
    # Whether the batch names any file at all.
    parts: bool = True

    @property
    def told(self) -> bool:
        """Whether its counts say anything: those that are less than what came are wrong."""
        return self.completed + self.failed + self.unrun > 0 and self.ran <= self.completed

    @property
    def lost(self) -> int:
        """Rows that it has run, by its own counts, and whose answers are not here."""
        run = self.completed if self.told else self.seen_completed
        return min(self.rows - self.came, max(0, run - self.ran))

    @property
    def gives_nothing(self) -> bool:
        """Some providers give up nothing of a batch that did not get to its end."""
        return not self.parts and not self.told and self.phase in _NOT_RUN


class Again(msgspec.Struct, frozen=True):
    """Look again, not before `at`."""

    at: float
    why: str


class Absent(msgspec.Struct, frozen=True):
    """The rows without an answer have this cause. `ran`: as far as anybody can tell they have to be paid for."""

    cause: Cause
    ran: bool
    detail: str | None = None


def was_not_run(ended: Ended, seen_completed: int) -> bool:
    """Whether a batch was turned away whole. One that failed half-way names no file, but its counts tell."""
    return ended.phase == "failed" and not ended.parts and not max(ended.completed, seen_completed)


def conclude(standing: Standing, fetches: Fetches, now: float, ended_at: float, retention: float) -> Again | Absent:
    """What is to be made of rows that did not come, after these looks at the batch's results."""
    if standing.phase == "gone":
        return Absent("gone", ran=True)
    if not fetches:
        return Again(now, "")
    not_run: Cause = _NOT_RUN.get(standing.phase, "missing")
    looked_for = fetches[-1][0] - fetches[0][0]
    if standing.gives_nothing:
        return Absent(not_run, ran=False) if len(fetches) > 1 else Again(now, "")
    if standing.phase == "failed" and not standing.parts and looked_for >= PATIENT:
        return Absent("gone", ran=True, detail=why(standing, fetches))
    if standing.told and not standing.lost:
        if (_agree(fetches) and _accounted(standing)) or looked_for >= PATIENT:
            return Absent(not_run, ran=False)
    elif (found := _spoken(standing, fetches)) is not None:
        return found
    if _since(fetches, lambda fetch: fetch.gone) >= PATIENT:
        return Absent("gone", ran=True)
    if looked_for >= PATIENT and now >= ended_at + retention:
        return Absent("gone", ran=True, detail=why(standing, fetches))
    return Again(_next(standing, fetches, now), why(standing, fetches))


def _accounted(standing: Standing) -> bool:
    """Whether as many rows came as the provider worked through."""
    return standing.came >= standing.completed + standing.failed


def _spoken(standing: Standing, fetches: Fetches) -> Absent | None:
    """Rows that were run, or of which nobody says whether they were: what the provider's own files say of them."""
    if not _agree(fetches) or _since(fetches, lambda fetch: fetch.doubt is None and not fetch.gone) < PATIENT:
        return None
    # Without counts, every row that did not come may have been run.
    unexplained = standing.lost or standing.rows - standing.came
    if fetches[-1][1].unreadable >= unexplained:
        return Absent("unreadable", ran=True, detail="its line in the provider's file cannot be read")
    if standing.lost:
        return None
    return Absent(_NOT_RUN.get(standing.phase, "gone"), ran=True, detail=why(standing, fetches))


def _agree(fetches: Fetches) -> bool:
    """Whether the last look was whole and brought nothing that an earlier whole one had not."""
    whole = [fetch for _, fetch in fetches if fetch.doubt is None and not fetch.gone]
    last = fetches[-1][1]
    return len(whole) > 1 and whole[-1] is last and not last.news


def _since(fetches: Fetches, like: Callable[[Fetched], bool]) -> float:
    """For how long every look was like this, without news; nought when the last one was not."""
    end = fetches[-1][0]
    begun = end
    for at, fetch in reversed(fetches):
        if not like(fetch):
            break
        begun = at
        if fetch.news:
            break
    return end - begun


def _next(standing: Standing, fetches: Fetches, now: float) -> float:
    """At once where only a second look is wanted; else the pauses grow with the time that has gone into it."""
    proves = fetches[-1][1].doubt is None and not fetches[-1][1].gone
    if len(fetches) == 1 and proves and standing.told and not standing.lost and _accounted(standing):
        return now
    return min(now, fetches[-1][0]) + pause(fetches)


def pause(fetches: Fetches) -> float:
    """How long to wait after the last of these looks."""
    return min(LONGEST_PAUSE, max(FIRST_PAUSE, fetches[-1][0] - fetches[0][0]))


def why(standing: Standing, fetches: Fetches) -> str:
    """What is in doubt, in words."""
    last = fetches[-1][1]
    if last.gone:
        return "the provider says that it no longer has the results"
    if last.doubt is not None:
        return last.doubt
    if standing.lost:
        counted = standing.completed if standing.told else standing.seen_completed
        return f"the provider counts {number_of(counted, 'answered row')}, and {standing.ran:,} came"
    if not standing.told:
        return "rows are in no file, and the provider does not say how many it ran"
    return "rows are in no file, though the provider counts them"


def ended_event(batch: Batch) -> Ended:
    """A batch that has ended, as it goes on record."""
    refusal, counts = batch.refusal, batch.counts
    return Ended(
        batch.phase,  # type: ignore[arg-type]
        batch.status,
        batch.parts,
        counts.completed,
        counts.failed,
        refusal.kind if refusal else None,
        refusal.message if refusal else None,
        refusal.token_limit if refusal else None,
        refusal.line if refusal else None,
        counts.unrun,
    )
