"""`cancel` and `resolve`: calling a run or a batch off, and deciding what nobody else can."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

from overnight.api.places import is_there, run_folder, run_with_batch, short_id, whole_id
from overnight.api.status import unfinished
from overnight.api.tabling import keep_tables
from overnight.api.work import Run, Say, Tell, connector, go_on_with, saved_work, silent
from overnight.core.arguments import checked
from overnight.core.attempt import Accepted, Attempt
from overnight.core.clock import WallClock, seconds_of
from overnight.core.errors import RunBusy, StudyError, UnknownName
from overnight.core.wording import number_of
from overnight.emulation import emulator
from overnight.engine.account_check import same_accounts, sent_with
from overnight.engine.batch.outbox import line_overhead
from overnight.engine.pricing import Pricing, kept_prices
from overnight.engine.session import Connect, opened
from overnight.engine.work import Work
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import Transaction, View
from overnight.providers import batch_format, batches_of, vendor
from overnight.settings import Settings, settings
from overnight.store.run_folder import RunFolder


@checked
def cancel(
    run: str | Path,
    *,
    timeout: float | str = "1h",
    emulate: bool | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> Run | None:
    """Call a run off and collect what had finished; or cancel one batch by its id.

    None when another process works on the run: it sees the mark, sends no more, and collects.
    """
    place = settings(runs=runs, emulate=emulate)
    if isinstance(run, str) and not is_there(run, place):
        found = run_with_batch(run, place)
        if found is not None:
            holder, batch_id = found
            _cancel_at_provider(holder, place, say, only=batch_id)
            say(f"{batch_id} belongs to run '{holder.name}': overnight resume {holder.name} collects what it finished")
            return None
    folder = run_folder(run, place)
    if not folder.called_off and not unfinished(folder):
        say(f"'{folder.name}' is finished: there is nothing to call off")
        look = partial(msgspec.structs.replace, send=False, once=True)
        return go_on_with(folder, place, look, say=say, tell=tell)
    folder.call_off()
    collect = partial(
        msgspec.structs.replace, cancel=True, send=False, until_sent=False, timeout=seconds_of(timeout, "--timeout")
    )
    try:
        return go_on_with(folder, place, collect, say=say, tell=tell)
    except RunBusy:
        _cancel_at_provider(folder, place, say)
        say(f"another process works on '{folder.name}': it sends no more and collects what finished")
        return None


def _cancel_at_provider(folder: RunFolder, place: Settings, say: Say, only: str | None = None) -> None:
    """Without the run's lock: only the provider is told, nothing is recorded."""
    with look_at(folder) as view:
        known = view.stages.arms()
        running = [
            a for a in view.attempts.everything() if a.state == "running" and (only is None or a.batch_id == only)
        ]
        run_id, senders = view.facts.get("run_id") or "", {a.id: same_accounts(view, a.account) for a in running}

    async def call_off(connect: Connect) -> None:
        for attempt in running:
            model = known[attempt.arm].model
            batches = batches_of(await sent_with(run_id, model, senders[attempt.id], connect))
            try:
                await batches.cancel(attempt.batch_id or "")
                say(f"asked the provider to cancel {attempt.batch_id}")
            finally:
                await batches.close()

    with emulator(place) as rehearsal:
        asyncio.run(call_off(connector(place, rehearsal)))


@checked
def resolve_shard(
    run: str | Path,
    shard: int,
    *,
    batch_id: str | None = None,
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> str:
    """Decide for a shard that may have made more than one batch: this one is ours, or none is.

    With a batch, also for a shard that was given up: its rows wait for that batch, and are not presumed spent any more.
    """
    place = settings(runs=runs, emulate=emulate)
    folder = run_folder(run, place)
    with opened(folder, RunFolder(place.root), WallClock()) as session:
        known = session.ledger.view().attempts.everything()
        now = session.clock.now()
        if batch_id is not None:
            own = [attempt for attempt in known if attempt.shard == shard]
            ids = {one for attempt in own for one in (attempt.batch_id, *attempt.candidates, *attempt.possible) if one}
            batch_id = whole_id(batch_id, ids) or batch_id
        if batch_id is not None and (given_up := _given_up(known, shard, short_id(batch_id))) is not None:
            most = _ceilings(session.ledger.view(), given_up, saved_work(folder))
            short, lost = short_id(batch_id), given_up
            rows = session.ledger.write("reopened", lambda tx: tx.reopening.reopen(lost, short, most, now)).result()
            keep_tables(session.ledger, folder)
            waiting = f"{number_of(rows, 'row')} {'waits' if rows == 1 else 'wait'} for it"
            return f"shard {shard} is batch {batch_id}, and {waiting}: overnight resume {folder.name}"
        attempt = _undecided(known, shard, folder.name)
        model = session.ledger.view().stages.arms()[attempt.arm].model
        # A batch that bears our token has run the shard's rows too, whatever becomes of its answers.
        others = (
            [one for one in attempt.candidates if one != batch_id] if batch_format(vendor(model.provider)).tags else []
        )

        def decide(tx: Transaction) -> None:
            tx.spending.presume_whole(shard, attempt.arm, attempt.id, len(others))
            if batch_id is None:
                tx.attempts.abandon(attempt, now, "the user says that no batch is ours")
            else:
                tx.attempts.record(attempt, Accepted(batch_id, "user"), now)

        session.ledger.write("resolved", decide).result()
        what = "goes back to the queue" if batch_id is None else f"is batch {batch_id}"
        count = "counts" if len(others) == 1 else "count"
        paid = f"; {number_of(len(others), 'other batch', 'other batches')} {count} as presumed spent" if others else ""
        return f"shard {shard} {what}{paid}: overnight resume {folder.name}"


@checked
def forget_batch(run: str | Path, batch_id: str, *, emulate: bool | None = None, runs: str | Path | None = None) -> str:
    """A batch of this run that its ledger does not know is not to count: its rows may be asked, and paid, again.

    Several with commas between; for a batch that no account lists, the name of its attempt.
    """
    place = settings(runs=runs, emulate=emulate)
    folder, ids = run_folder(run, place), [one.strip() for one in batch_id.split(",") if one.strip()]
    if not ids:
        raise StudyError("resolve: --forget wants the id of a batch, as the message has it; found nothing")
    with opened(folder, RunFolder(place.root), WallClock()) as session:
        session.ledger.write("forgotten", lambda tx: tx.facts.disown(map(short_id, ids))).result()
    if len(ids) == 1:
        return f"{ids[0]} does not count any more; its rows may be paid again: overnight resume {folder.name}"
    return f"{len(ids)} batches do not count any more; their rows may be paid again: overnight resume {folder.name}"


def _given_up(known: list[Attempt], shard: int, batch_id: str) -> Attempt | None:
    """The attempt of a shard that may have made this batch, where all of them are over."""
    own = [attempt for attempt in known if attempt.shard == shard and not attempt.live]
    if not all(attempt.state == "closed" for attempt in own):
        return None

    def likely(attempt: Attempt) -> tuple[bool, bool, int]:
        abandoned = attempt.closed is not None and attempt.closed.how == "abandoned"
        return attempt.batch_id == batch_id, not abandoned, attempt.n

    return max(own, key=likely, default=None)


def _ceilings(view: View, attempt: Attempt, work: Work) -> Callable[[int], int | None]:
    """What a row of a batch attempt with a body of so many bytes was held to cost at most."""
    known = view.stages.arms()
    model = known[attempt.arm].model
    pricing = Pricing(known, kept_prices(view), work.budget.output_tokens if work.budget else None)
    most = pricing.ceilings(attempt.arm, "batch", view.spending.density(attempt.shard))
    overhead = line_overhead(batch_format(vendor(model.provider)), model)
    return lambda length: most(length + overhead)


def _undecided(known: list[Attempt], shard: int, name: str) -> Attempt:
    for attempt in known:
        if attempt.shard == shard and attempt.state in ("stuck", "unsure"):
            return attempt
    if any(attempt.shard == shard for attempt in known):
        message = (
            f"shard {shard} of run '{name}' is not undecided; `overnight status {name}` shows how it stands, and "
            "`overnight adopt PROVIDER BATCH_ID` brings a batch's answers into a run of their own"
        )
        raise StudyError(message)
    message = f"run '{name}' has no shard {shard}"
    raise UnknownName(message)
