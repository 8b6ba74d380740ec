"""One pass over one run: the emulator if this is a rehearsal, the session, the engine, the tables."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
import polars as pl

from overnight.api.cell import cell_progress
from overnight.api.costs import costs_of
from overnight.api.endings import News, check_kept
from overnight.api.foreground import Ended, run_engine
from overnight.api.html import (
    OUTCOMES,
    batches_html,
    counts_of,
    outcomes_text,
    paragraph_html,
    parts_html,
    spent_text,
    table_html,
)
from overnight.api.on_record import stages_on_record
from overnight.api.tabling import keep_tables, tables_now
from overnight.core.ask import Model
from overnight.core.clock import WallClock, time_text
from overnight.core.errors import FileDamaged, Interrupted, OvernightError, ProviderError
from overnight.core.exit_codes import DONE, OVER_BUDGET, PROVIDER, ROWS_FAILED, STOPPED, WRONG_USE
from overnight.core.wording import number_of
from overnight.emulation import Rehearsal, emulator, endpoint_of
from overnight.engine.progress import BatchLine, Snapshot
from overnight.engine.session import Connect, Session, Worked, opened
from overnight.engine.work import Work
from overnight.ledger.ledger import look_at
from overnight.ledger.threads import LeftOut
from overnight.prices import dollars
from overnight.providers import Provider, connected, taken_echoes, unconnected, vendor
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

if TYPE_CHECKING:
    from overnight.api.status import RunStatus

Say = Callable[[str], None]
Tell = Callable[[Snapshot], None]
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


def silent(_: object) -> None:
    """Say nothing."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run after a pass: how it stands, in numbers and in words."""

    name: str
    path: Path
    state: State
    message: str
    snapshot: Snapshot

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.state}: {outcomes_text(counts_of(self.snapshot))})"

    def _repr_html_(self) -> str:
        one = self.snapshot
        spent = spent_text(one.spent, one.presumed, one.priced)
        counts = (self.state, one.total, *counts_of(one).values(), spent)
        said = (paragraph_html(line) for line in self.message.splitlines())
        table = table_html(("run", "state", "rows", *OUTCOMES, "cost"), [(self.name, *counts)])
        return parts_html((table, *said, batches_html(one.batches)))

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]

    def status(self) -> "RunStatus":
        """How the run stands now, whoever has worked on it since."""
        from overnight.api.status import status_of  # noqa: PLC0415 - it imports this module

        return status_of(RunFolder(self.path))

    def costs(self) -> pl.DataFrame:
        """The bill by arm, in US dollars; empty where no price is known."""
        return costs_of(RunFolder(self.path))

    def results(self) -> pl.DataFrame:
        """The rows so far, as a polars frame; those that have not landed yet are pending."""
        return self._table("results")

    def verdicts(self) -> pl.DataFrame:
        """What judges said of pairs so far; FileNotFoundError for a run that judges none."""
        return self._table("verdicts")

    def rankings(self) -> pl.DataFrame:
        """The order that the verdicts come to."""
        return self._table("rankings")

    def _table(self, name: str) -> pl.DataFrame:
        with tables_now(RunFolder(self.path)) as tables:
            return pl.read_parquet(tables.path / f"{name}.parquet", glob=False)


def connector(settings: Settings, rehearsal: Rehearsal | None) -> Connect:
    """How providers are reached in this pass."""

    def connect(model: Model) -> Provider:
        seller = vendor(model.provider)
        emulated = None if rehearsal is None else rehearsal.address()
        return connected(seller, endpoint_of(seller, model, settings, emulated))

    return connect


def nobody(model: Model) -> Provider:
    """A provider that only encodes and decodes: it has no address and no key."""
    return unconnected(vendor(model.provider))


def work_on(
    folder: RunFolder,
    settings: Settings,
    work: Work,
    *,
    prepare: Callable[[Session, Connect], Work | None] | None = None,
    say: Say = silent,
    tell: Tell = silent,
    offline: bool = False,
) -> Run:
    """Work on a run until this pass is over. A run that could not even be begun leaves nothing behind.

    Ctrl-C stops safely, makes the tables and is raised: whoever works on several studies must not go on to the next.

    `prepare` puts the study on record and may change how the run is worked on.
    """
    if prepare is None and not offline and not settings.emulate:
        _check_addresses(folder, settings)
        check_kept(folder.name, work, settings)
    news = News(settings, say)
    new_above = [path for path in (settings.root, *settings.root.parents) if not path.exists()]
    begun = folder.exists()
    # Who does not say how progress is told has it drawn, where there is a notebook's cell.
    cell = cell_progress(settings.time_scale) if tell is silent and not offline else None
    tell = tell if cell is None else cell.tell
    try:
        with nullcontext() if offline else emulator(settings, keep=lambda: begun) as rehearsal:
            connect = nobody if offline else connector(settings, rehearsal)
            with opened(folder, RunFolder(settings.root), WallClock(settings.time_scale)) as session:
                if prepare is not None:
                    work = prepare(session, connect) or work
                session.begun = begun = True
                try:
                    worked = _mended(session, work, connect, say, tell, offline=offline)
                except ProviderError as error:
                    news.note(session, work, blocked(folder, error))
                    raise
                done = _run(folder, worked.value, work)
                if not worked.interrupted:
                    news.note(session, work, done)
    finally:
        if cell is not None:
            cell.end()
        if not begun:
            _leave_nothing(new_above)
        news.tell()
    if worked.interrupted or worked.value.stopped:
        raise Interrupted(done.message, [done])
    return done


def _mended(session: Session, work: Work, connect: Connect, say: Say, tell: Tell, *, offline: bool) -> Ended[Worked]:
    """The engine, and once more where what is damaged could be had again."""
    try:
        return _engine(session, work, connect, say, tell)
    except FileDamaged:
        if offline or not _restored(session, work, connect, say):
            raise
        return _engine(session, work, connect, say, tell)


def _check_addresses(folder: RunFolder, settings: Settings) -> None:
    """A run may come from a stranger: where its rows would go is asked before anything is done with it."""
    with look_at(folder) as view:
        known = view.stages.arms()
    by_place = {(arm.model.provider, arm.model.key, arm.model.base_url): arm.model for arm in known.values()}
    for model in by_place.values():
        endpoint_of(vendor(model.provider), model, settings, None)


def _restored(session: Session, work: Work, connect: Connect, say: Say) -> bool:
    """Whether what is damaged could be had from the provider again."""
    restored = run_engine(partial(session.restore, work, connect, say), session.stop, say)
    if restored.interrupted:
        raise Interrupted("stopped")
    return restored.value > 0


def blocked(folder: RunFolder, error: OvernightError) -> Run:
    """A run of many that could not be worked on. It keeps nobody from the others."""
    nothing = Snapshot(
        run=folder.name, total=0, answered=0, refused=0, truncated=0, failed=0, pending=0, ahead=0, batches=(),
        input_tokens=0, output_tokens=0, trouble=str(error),
    )  # fmt: skip
    state: State = "held up" if isinstance(error, ProviderError) else "blocked"
    return Run(name=folder.name, path=folder.path, state=state, message=str(error), snapshot=nothing)


def _leave_nothing(new_above: Sequence[Path]) -> None:
    """The folders above a run that did not begin go too, if nobody else uses them."""
    for path in new_above:
        with suppress(OSError):
            path.rmdir()


def _engine(session: Session, work: Work, connect: Connect, say: Say, tell: Tell) -> Ended[Worked]:
    """Tables are made even when the provider lets us down: everything that came is kept and shown."""
    stages = stages_on_record(session.ledger.view())
    try:
        worked = run_engine(lambda: session.work(work, connect, say, tell, stages), session.stop, say)
    except (ProviderError, Interrupted):
        keep_tables(session.ledger, session.folder, own=work.own_tables)
        raise
    finally:
        _tell_of_echoes(session, say)
    keep_tables(session.ledger, session.folder, own=work.own_tables)
    return worked


def _tell_of_echoes(session: Session, say: Say) -> None:
    """A gateway that repeats keys is worth a word, and a note for later."""
    told: list[str] = []
    for host, count in taken_echoes().items():
        replies = number_of(count, "reply", "replies")
        text = f"{host} repeated the key in {replies}; it was made unreadable before it was kept"
        say(text)
        told.append(msgspec.json.encode(text).decode())
    if told:
        at = session.clock.now()
        session.ledger.write("note", lambda tx: tx.attempts.note_all(at, "echo", told)).result()


def _run(folder: RunFolder, worked: Worked, work: Work) -> Run:
    state, message = _verdict(folder, worked, work)
    return Run(name=folder.name, path=folder.path, state=state, message=message, snapshot=worked.snapshot)


def _verdict(folder: RunFolder, worked: Worked, work: Work) -> tuple[State, str]:
    """How the pass ended, and what to type next."""
    name, snapshot = folder.name, worked.snapshot
    go_on = f"overnight resume {name}"
    if worked.stuck:
        return "undecided", "\n".join(
            undecided_text(name, attempt.shard, attempt.candidates) for attempt in worked.stuck
        )
    if worked.stopped:
        return "stopped", f"stopped; {whereabouts(snapshot.batches)}. To go on: {go_on}"
    if work.cancel:
        kept = f"cancelled; {number_of(snapshot.settled, 'row')} kept"
        if snapshot.batches:
            return "cancelled", f"{kept}; {whereabouts(snapshot.batches)}. To collect: {go_on}"
        return "cancelled", f"{kept}. To ask the rest after all, run the study again"
    if worked.halted:
        others = f"; {whereabouts(snapshot.batches)}" if snapshot.batches else ""
        return "held up", f"{worked.halted[0]}{others}. To go on: {go_on}"
    if worked.held.rows:
        return "over budget", over_budget_text(worked, "budget" if work.spill.max_cost is None else "spill.max_cost")
    if snapshot.total == 0 and not worked.halted:
        return "running", "no questions are on record yet: overnight run STUDY takes them in"
    if snapshot.pending == 0 and worked.more_follows:
        return "running", f"all rows so far are settled, and more follow from them. To go on: {go_on}"
    if snapshot.pending == 0:
        if snapshot.failed:
            failed = number_of(snapshot.failed, "row")
            return "rows failed", f"{failed} failed for good: overnight results {name} --failed{_left_out(worked)}"
        return "done", f"all rows are settled{_left_out(worked)}"
    if work.until_sent and not worked.timed_out:
        return "submitted", f"{whereabouts(snapshot.batches)}{_unsent(snapshot)}. To collect: {go_on}"
    pending = number_of(snapshot.pending, "row")
    return "running", f"{pending} open; {whereabouts(snapshot.batches)}. To go on: {go_on}"


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


def _unsent(snapshot: Snapshot) -> str:
    """What waits because nobody knows yet whether a create made a batch."""
    doubtful = any(batch.possible for batch in snapshot.batches)
    return "; what became of a create shows when it ends, and the rest is sent then" if doubtful else ""


def over_budget_text(worked: Worked, cap: str = "budget") -> str:
    """What was not sent, and what it would take."""
    snapshot, held = worked.snapshot, worked.held
    presumed = f" and {dollars(snapshot.presumed)} presumed spent" if snapshot.presumed else ""
    they = "it" if held.rows == 1 else "they"
    rows = number_of(held.rows, "row")
    return (
        f"{rows} not sent: {they} might cost up to {dollars(held.amount)}, more than is left of the "
        f"{cap} ({dollars(snapshot.spent)} spent so far{presumed}). "
        "Raise it by that much and run the same command again"
    )


def whereabouts(found: Sequence[BatchLine]) -> str:
    """What is at the provider, what may be, and what is still to be fetched from there or sent, one by one."""
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
    return ", ".join(texts) or "nothing is left at the provider"


def undecided_text(run: str, shard: int, candidates: tuple[str, ...]) -> str:
    """What to type when it is not known which batch is a shard's."""
    if not candidates:
        return (
            f"shard {shard} may have a batch at the provider, whose listing comes to no end. If you see one with its "
            f"name there: overnight adopt --shard {run}:{shard} BATCH_ID   or say that there is none: "
            f"overnight resolve {run} --shard {shard} --none"
        )
    found = ", ".join(candidates)
    count = "a candidate" if len(candidates) == 1 else f"{len(candidates)} candidates"
    return (
        f"shard {shard} has {count} at the provider ({found}). Keep one: "
        f"overnight adopt --shard {run}:{shard} {candidates[0]}   or say that none is ours: "
        f"overnight resolve {run} --shard {shard} --none"
    )


def saved_work(folder: RunFolder) -> Work:
    """How the run was last told to be sent."""
    with look_at(folder) as view:
        text = view.facts.get("work")
        return Work() if text is None else msgspec.json.decode(text, type=Work)
