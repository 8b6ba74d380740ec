"""One pass over one run: the emulator if this is a rehearsal, the session, the engine, the tables."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import polars as pl

from overnight.api.costs import costs_of
from overnight.api.endings import News, check_kept
from overnight.api.foreground import Ended, run_engine
from overnight.api.notebook.cell import cell_progress
from overnight.api.notebook.html import (
    counts_of,
    outcomes_text,
)
from overnight.api.on_record import stages_on_record
from overnight.api.run_state import EXIT_CODES, State, verdict
from overnight.api.tabling import keep_tables, tables_now
from overnight.core import heap
from overnight.core.ask import Model, places_of
from overnight.core.clock import WallClock
from overnight.core.errors import FileDamaged, Interrupted, OvernightError, ProviderError
from overnight.core.wording import number_of
from overnight.emulation import Rehearsal, emulator, endpoint_of
from overnight.engine.progress import Snapshot
from overnight.engine.session import Connect, Session, Worked, opened
from overnight.engine.work import Work
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import View
from overnight.providers import Provider, connected, taken_echoes, unconnected, vendor
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

if TYPE_CHECKING:
    from overnight.api.status import RunStatus
    from overnight.engine.spread.on_ray import RayPlace

Say = Callable[[str], None]
Tell = Callable[[Snapshot], None]


def silent(_: object) -> None:
    """Say nothing."""


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """A run after a pass: how it stands, in numbers and in words."""

    name: str
    path: Path
    state: State
    message: str
    snapshot: Snapshot
    # Where it is kept, if that is not `path` alone.
    kept: RunFolder | None = None

    @property
    def folder(self) -> RunFolder:
        return self.kept if self.kept is not None and self.kept.path == self.path else RunFolder(self.path)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {self.state}: {outcomes_text(counts_of(self.snapshot))})"

    def _repr_html_(self) -> str:
        from overnight.api.notebook.run_cell import run_html  # noqa: PLC0415 - it imports this module

        return run_html(self)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.state]

    def status(self) -> "RunStatus":
        """How the run stands now, whoever has worked on it since."""
        from overnight.api.status import status_of  # noqa: PLC0415 - it imports this module

        return status_of(self.folder)

    def costs(self) -> pl.DataFrame:
        """The bill by arm, in US dollars; empty where no price is known."""
        return costs_of(self.folder)

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
        with tables_now(self.folder) as tables:
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


def go_on_with(
    folder: RunFolder, settings: Settings, how: Callable[[Work], Work], *, say: Say = silent, tell: Tell = silent
) -> Run:
    """Work on a run as it was last told to be sent, and as `how` changes that.

    What it was told is read once the run is held: until then another process may be putting it on record.
    """

    def told(view: View) -> Work:
        work = how(_told_work(view))
        if not settings.emulate:
            _check_addresses(view, settings)
            check_kept(folder.name, work, settings)
        return work

    with look_at(folder) as view:
        work = told(view)
    return work_on(folder, settings, work, prepare=lambda session, _: told(session.ledger.view()), say=say, tell=tell)


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
    heap.share()
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
                session.place = None if offline else _place(settings)
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


def _place(settings: Settings) -> "RayPlace | None":
    """Who makes the live calls, if not this process."""
    if settings.on is None:
        return None
    from overnight.engine.spread.on_ray import RayPlace  # noqa: PLC0415 - an extra, and large

    _, _, number = settings.on.partition(":")
    return RayPlace(int(number) if number else None, settings.time_scale)


def _check_addresses(view: View, settings: Settings) -> None:
    """A run may come from a stranger: where its rows would go is asked before anything is done with it."""
    known = view.stages.arms()
    for model in places_of(arm.model for arm in known.values()):
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
    return Run(name=folder.name, path=folder.path, state=state, message=str(error), snapshot=nothing, kept=folder)


def _leave_nothing(new_above: Sequence[Path]) -> None:
    """The folders above a run that did not begin go too, if nobody else uses them."""
    for path in new_above:
        with suppress(OSError):
            path.rmdir()


def _engine(session: Session, work: Work, connect: Connect, say: Say, tell: Tell) -> Ended[Worked]:
    """Tables are made even when the provider lets us down: everything that came is kept and shown."""
    stages = stages_on_record(session.ledger.view())
    heap.trim()
    try:
        worked = run_engine(lambda: session.work(work, connect, say, tell, stages), session.stop, say)
    except (ProviderError, Interrupted):
        keep_tables(session.ledger, session.folder, own=work.own_tables)
        raise
    finally:
        _tell_of_echoes(session, say)
    # What the engine's connections remember of the ledger is room for tables.
    session.ledger.give_back()
    heap.trim()
    keep_tables(session.ledger, session.folder, own=work.own_tables)
    heap.trim()
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
    state, message = verdict(folder.name, worked, work)
    return Run(name=folder.name, path=folder.path, state=state, message=message, snapshot=worked.snapshot, kept=folder)


def saved_work(folder: RunFolder) -> Work:
    """How the run was last told to be sent."""
    with look_at(folder) as view:
        return _told_work(view)


def _told_work(view: View) -> Work:
    text = view.facts.get("work")
    return Work() if text is None else msgspec.json.decode(text, type=Work)
