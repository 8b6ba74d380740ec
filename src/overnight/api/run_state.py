"""How a pass over a run ended: its state, the exit code that goes with it, and what to type next."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from overnight.core.clock import time_text
from overnight.core.exit_codes import DONE, OVER_BUDGET, PROVIDER, ROWS_FAILED, STOPPED, WRONG_USE
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine
from overnight.engine.session import Worked
from overnight.engine.work import Work
from overnight.ledger.threads import LeftOut
from overnight.prices import dollars

State = Literal[
    "done",
    "rows failed",
    "submitted",
    "running",
    "stopped",
    "undecided",
    "held up",
    "over budget",
    "cancelled",
    "blocked",
]


EXIT_CODES: dict[State, int] = {
    "done": DONE,
    "submitted": DONE,
    "cancelled": DONE,
    "blocked": WRONG_USE,
    "rows failed": ROWS_FAILED,
    "running": PROVIDER,
    "undecided": PROVIDER,
    "held up": PROVIDER,
    "over budget": OVER_BUDGET,
    "stopped": STOPPED,
}

# Where an attempt is when a pass ends, as one would say it of one and of several.
_PLACES = {
    "running": "there",
    "creating": "unsure",
    "unsure": "unsure",
    "ended": "ended",
    "intended": "leaving",
    "uploaded": "leaving",
}
_WORDS = {
    "there": ("1 batch goes on at the provider", "{count} batches go on at the provider"),
    "unsure": (
        "1 batch may have been made, which is still to be found out",
        "{count} batches may have been made, which is still to be found out",
    ),
    "ended": ("1 batch has ended and is still to be fetched", "{count} batches have ended and are still to be fetched"),
    "leaving": ("1 batch is still to be sent", "{count} batches are still to be sent"),
}


def verdict(name: str, worked: Worked, work: Work) -> tuple[State, str]:
    """How the pass ended, and what to type next."""
    snapshot = worked.snapshot
    go_on = f"overnight resume {name}"
    if worked.stuck:
        return "undecided", "\n".join(
            undecided_text(name, attempt.shard, attempt.candidates) for attempt in worked.stuck
        )
    if worked.stopped:
        return "stopped", f"stopped; {whereabouts(snapshot.batches, worked.unsent)}. To go on: {go_on}"
    if work.cancel:
        kept = f"cancelled; {number_of(snapshot.settled, 'row')} kept"
        if snapshot.batches:
            return "cancelled", f"{kept}; {whereabouts(snapshot.batches)}. To collect: {go_on}"
        return "cancelled", f"{kept}. To ask the rest after all, run the study again"
    if worked.halted:
        others = f"; {whereabouts(snapshot.batches)}" if snapshot.batches else ""
        return "held up", f"{worked.halted[0]}{others}. To go on: {go_on}"
    if worked.held.rows:
        return "over budget", over_budget_text(worked, _cap(worked, work))
    if snapshot.total == 0 and not worked.halted:
        return "running", "nothing is on record yet: type again what began it (overnight run, submit or adopt)"
    if snapshot.pending == 0 and worked.more_follows:
        return "running", f"all rows so far are settled, and more follow from them. To go on: {go_on}"
    if snapshot.pending == 0:
        if snapshot.failed:
            failed = number_of(snapshot.failed, "row")
            return "rows failed", f"{failed} failed for good: overnight results {name} --failed{_left_out(worked)}"
        return "done", f"all rows are settled{_left_out(worked)}"
    if work.until_sent and not worked.timed_out:
        return "submitted", f"{whereabouts(snapshot.batches, worked.unsent)}{_unsent(worked)}: {go_on}"
    why = f" ({snapshot.trouble})" if snapshot.trouble else ""
    where = whereabouts(snapshot.batches, worked.unsent)
    return "running", f"{number_of(snapshot.pending, 'row')} open; {where}{why}. To go on: {go_on}"


def _left_out(worked: Worked) -> str:
    return "".join(f"; {left_out_text(one)}" for one in worked.left_out)


def left_out_text(one: LeftOut) -> str:
    """`judging: 2 rows are missing in their groups`, and why they stay so."""
    told = []
    if one.missing:
        told.append(f"{number_of(one.missing, 'row')} {'is' if one.missing == 1 else 'are'} missing in its groups")
    if one.late:
        came = number_of(one.late, "row")
        told.append(f"{came} came too late for a group that was handed on (a copy with --as NAME makes groups of all)")
    return f"{one.stage}: {', '.join(told)}"


def _unsent(worked: Worked) -> str:
    """Why not all was sent, and what to do."""
    if any(batch.possible for batch in worked.snapshot.batches):
        return "; what became of a create shows when it ends, and the rest is sent then. To collect"
    return " when the provider has room for more. To go on" if worked.unsent else ". To collect"


def over_budget_text(worked: Worked, cap: str = "budget") -> str:
    """What was not sent, and what it would take."""
    snapshot, held = worked.snapshot, worked.held
    presumed = f" and {dollars(snapshot.presumed)} presumed spent" if snapshot.presumed else ""
    they = "it" if held.rows == 1 else "they"
    rows = number_of(held.rows, "row")
    if held.unpriced == held.rows:
        # A study with a budget of its own is refused before that; one under a team's budget is not.
        return (
            f"{rows} not sent: there is a budget, and nobody can say what {they} may cost at most. Give each model a "
            "`max_tokens`, and a price in a file that `prices:` names"
        )
    return (
        f"{rows} not sent: {they} might cost up to {dollars(held.amount)}, more than is left of the "
        f"{cap} ({dollars(snapshot.spent)} spent so far{presumed}). "
        "Raise it by that much and run the same command again"
    )


def _cap(worked: Worked, work: Work) -> str:
    own = "budget" if work.spill.max_cost is None else "spill.max_cost"
    return "team's budget" if worked.held.by_team else own


def whereabouts(found: Sequence[BatchLine], unsent: int = 0) -> str:
    """What is at the provider, what may be, and what is still to be fetched from there or sent, one by one.

    `unsent`: rows of batches that nobody has begun to send.
    """
    count = Counter(_PLACES[line.state] for line in found if line.state in _PLACES)
    texts = [
        one if count[place] == 1 else several.format(count=f"{count[place]:,}")
        for place, (one, several) in _WORDS.items()
        if count[place]
    ]
    waiting = [line for line in found if line.doubt is not None]
    if waiting:
        ended = "1 batch has ended" if len(waiting) == 1 else f"{len(waiting):,} batches have ended"
        soonest = min(line.looks_at or 0.0 for line in waiting)
        texts.append(f"{ended}, but {waiting[0].doubt}: looked for again from {time_text(soonest)} on")
    if unsent:
        texts.append(f"{number_of(unsent, 'row')} {'is' if unsent == 1 else 'are'} still to be sent")
    return ", ".join(texts) or "nothing is left at the provider"


def undecided_text(run: str, shard: int, candidates: tuple[str, ...]) -> str:
    """What to type when it is not known which batch is a shard's."""
    if not candidates:
        return (
            f"shard {shard} may have a batch at the provider, whose listing comes to no end, or has an entry that "
            f"nobody can read. If you see one with its name there: overnight adopt --shard {run}:{shard} BATCH_ID   "
            f"or say that there is none: overnight resolve {run} --shard {shard} --none"
        )
    found = ", ".join(candidates)
    count = "a candidate" if len(candidates) == 1 else f"{len(candidates)} candidates"
    return (
        f"shard {shard} has {count} at the provider ({found}). Keep one: "
        f"overnight adopt --shard {run}:{shard} {candidates[0]}   or say that none is ours: "
        f"overnight resolve {run} --shard {shard} --none"
    )
