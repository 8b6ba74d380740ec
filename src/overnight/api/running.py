"""`run`, `submit`, `resume`: the verbs that send and collect."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from overnight.api.elsewhere.ready import is_ready_file, provider_of, ready_stages, refuse_provider
from overnight.api.endings import check_notify, end_anew, was_told
from overnight.api.pacing import kept_deadline, paced_study, paced_work, read_live
from overnight.api.phases import EXPECTED, expected_costs
from overnight.api.places import chosen_runs, folder_of, is_run, named_folder, run_folder
from overnight.api.plans.planned import cost_text
from overnight.api.plans.planning import check_limit, check_rounds, clamped, plan_file, plan_resolved
from overnight.api.plans.pricing import check_prices, check_spill, keep_price_file, keep_prices, prices_for, prices_of
from overnight.api.reasking import Reask, reask_rows
from overnight.api.reuse import reuse_answers
from overnight.api.status import unfinished
from overnight.api.work import Run, Say, Tell, blocked, go_on_with, silent, work_on
from overnight.core.arguments import checked
from overnight.core.ask import Ask, places_of
from overnight.core.clock import seconds_of
from overnight.core.errors import FileDamaged, Interrupted, LedgerError, OvernightError, StudyChanged, StudyError
from overnight.core.names import run_name_of
from overnight.core.pack import few
from overnight.core.stage import StagePace, is_beside
from overnight.core.wording import number_of
from overnight.emulation import agree_to, endpoint_of
from overnight.engine.decisions import Mode, first_processing
from overnight.engine.flow.intake import take_stage
from overnight.engine.flow.phases import SAMPLE
from overnight.engine.live.pace import Pacing
from overnight.engine.packing import too_few_text
from overnight.engine.session import Connect, Session
from overnight.engine.work import Work
from overnight.ledger.transaction import Transaction
from overnight.providers import batch_floor, check_sending, takes_calls, vendor
from overnight.settings import Settings, settings
from overnight.store.run_folder import RunFolder
from overnight.study import LiveSettings, Resolved, Study, differences_from, pacing_of, resolve


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """How this study is to be sent, this time."""

    limit: int | None = None
    timeout: float | str | None = None
    as_name: str | None = None
    reask: tuple[Reask, ...] = ()
    accept_account: bool = False
    until_sent: bool = False
    description: str | None = None


@checked
def run(
    study: Study | str | Path,
    *,
    limit: int | None = None,
    timeout: float | str | None = None,
    as_name: str | None = None,
    reask: Reask | Sequence[Reask] = (),
    accept_account: bool = False,
    mode: Mode | None = None,
    live: LiveSettings | Mapping[str, Any] | None = None,
    on: str | None = None,
    emulate: bool | None = None,
    truth: str | Path | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> Run:
    """Send a study and wait for it. The same call again goes on where the last one ended.

    `mode` and `live`, the limits of live calls, go before the study's own. `on="ray"` spreads live calls over Ray.
    """
    paced = paced_study(study if isinstance(study, Study) else Study.load(Path(study)), mode, live)
    kinds = (reask,) if isinstance(reask, str) else tuple(reask)
    wish = Wish(limit=limit, timeout=timeout, as_name=as_name, reask=kinds, accept_account=accept_account)
    return _send(paced, settings(runs=runs, emulate=emulate, truth=truth, on=on), wish, say, tell)


@checked
def submit(
    study: Study | str | Path,
    *,
    provider: str | None = None,
    description: str | None = None,
    timeout: float | str | None = None,
    as_name: str | None = None,
    limit: int | None = None,
    emulate: bool | None = None,
    truth: str | Path | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> Run:
    """Send a study, or a ready-made provider file (`.jsonl`), and come back when the provider has it.

    With a `timeout`, no later than that: what is still to be sent then is sent by `resume`.
    """
    place = settings(runs=runs, emulate=emulate, truth=truth)
    if is_ready_file(study):
        wish = Wish(as_name=as_name, until_sent=True, description=description, timeout=timeout)
        return _send_file(Path(study), place, provider_of(study, provider), wish, say, tell)
    refuse_provider(provider)
    written = study if isinstance(study, Study) else Study.load(Path(study))
    wish = Wish(limit=limit, as_name=as_name, until_sent=True, description=description, timeout=timeout)
    return _send(written, place, wish, say, tell)


@checked
def resume(
    run: str | Path | None = None,
    *,
    once: bool = False,
    timeout: float | str = "24h",
    interval: float | None = None,
    accept_account: bool = False,
    mode: Mode | None = None,
    live: LiveSettings | Mapping[str, Any] | None = None,
    on: str | None = None,
    emulate: bool | None = None,
    truth: str | Path | None = None,
    runs: str | Path | None = None,
    say: Say = silent,
    tell: Tell = silent,
) -> list[Run]:
    """Go on with a run, or with all that are not finished. `once` does what can be done now and returns.

    Of several runs each goes by itself: one that is busy or damaged is `blocked`, and the others are worked on.
    """
    place = settings(runs=runs, emulate=emulate, truth=truth, on=on)
    folders = chosen_runs(run, place)
    open_runs = folders if run is not None else [folder for folder in folders if _is_open(folder)]
    seconds = seconds_of(timeout, "--timeout")
    pacing = pacing_of(read_live(live))
    several = len(open_runs) > 1
    finished: dict[str, Run] = {}
    deadline = time.monotonic() + seconds / place.time_scale
    while True:
        for folder in open_runs:
            try:
                how = partial(
                    _resumed, folder, mode=mode, pacing=pacing, accept_account=accept_account,
                    once=once or several, timeout=seconds, interval=interval,
                )  # fmt: skip
                finished[folder.name] = go_on_with(folder, place, how, say=say, tell=tell)
            except Interrupted as stop:
                stop.runs = [*(done for name, done in finished.items() if name != folder.name), *stop.runs]
                raise
            except OvernightError as error:
                if not several:
                    raise
                finished[folder.name] = blocked(folder, error)
        open_runs = [folder for folder in open_runs if finished[folder.name].state == "running"]
        if once or not several or not open_runs or time.monotonic() >= deadline:
            return list(finished.values())
        time.sleep((interval or 60.0) / place.time_scale)


def _is_open(folder: RunFolder) -> bool:
    """Whether there is something to do; a run that cannot be read is worth a word."""
    try:
        return unfinished(folder)
    except OvernightError:
        return True


def _resumed(
    folder: RunFolder, saved: Work, *, mode: Mode | None, pacing: Pacing, interval: float | None, **given: Any
) -> Work:
    return msgspec.structs.replace(
        paced_work(saved, mode, pacing),
        send=saved.send and not folder.called_off,
        poll_interval=interval if interval is not None else saved.poll_interval,
        until_sent=False,
        **given,
    )


def _send(written: Study, place: Settings, wish: Wish, say: Say, tell: Tell) -> Run:
    check_limit(wish.limit)
    resolved = resolve(written)
    check_rounds(resolved, wish.limit)
    folder = named_folder(place, wish.as_name, resolved.name)
    own = not written.origin.from_file
    _check_keys(resolved, place, own=own)
    check_notify(resolved.notify, place, own=own)
    for stage in resolved.stages:
        for text in (*stage.notes, *clamped(stage)):
            say(text)
    check_prices(resolved)
    check_spill(resolved)
    if wish.until_sent and resolved.mode == "live":
        message = "mode: live asks every row itself, so there is nothing to hand over; use `overnight run`"
        raise StudyError(message)
    work = Work(
        stages={stage.name: stage.pace for stage in resolved.stages},
        mode=resolved.mode,
        pacing=resolved.pacing,
        spill=resolved.spill,
        budget=resolved.budget,
        poll_interval=resolved.poll.interval_seconds,
        per_job_delay=resolved.poll.per_job_delay,
        timeout=seconds_of(wish.timeout, "--timeout") if wish.timeout is not None else resolved.timeout_seconds,
        until_sent=wish.until_sent,
        accept_account=wish.accept_account,
        description=wish.description,
        notify=tuple(target.text for target in resolved.notify),
    )
    copy_of = folder_of(resolved.name, place) if wish.as_name and wish.as_name != resolved.name else None
    expected = expectation(resolved, place, folder)
    prepare = partial(_prepare, resolved, work, wish.limit, wish.reask, copy_of, expected, say)
    return work_on(folder, place, work, prepare=prepare, say=say, tell=tell)


def expectation(resolved: Resolved, place: Settings, folder: RunFolder) -> str | None:
    """What each stage of a study in phases is expected to cost, to be kept when its run begins; else nothing."""
    if all(stage.after is None for stage in resolved.stages) or folder.exists():
        return None
    return expected_costs(plan_resolved(resolved, place, folder).arms)


def _check_keys(resolved: Resolved, place: Settings, *, own: bool) -> None:
    """A missing key, and an address that the user has not agreed to, are said before anything is written.

    What the user's own program names (`own`) needs no further word.
    """
    if not place.emulate:
        for model in places_of(arm.model for stage in resolved.stages for arm in stage.arms):
            seller = vendor(model.provider)
            if own:
                agree_to(seller, model, place)
            endpoint = endpoint_of(seller, model, place, None)
            if resolved.mode != "live":
                check_sending(seller, endpoint)


def _prepare(
    resolved: Resolved,
    work: Work,
    limit: int | None,
    reask: tuple[Reask, ...],
    copy_of: RunFolder | None,
    expected: str | None,
    say: Say,
    session: Session,
    _: Connect,
) -> Work:
    """Put the study on record: what is new is added, what has changed is refused. Tells how it is to be worked on."""
    providers = {arm.model.provider for stage in resolved.stages for arm in stage.arms}
    encoders = {name: vendor(name).format.encode for name in providers}

    def encode(ask: Ask) -> bytes:
        return encoders[ask.arm.model.provider](ask)

    known = prices_of(resolved)

    def fact(tx: Transaction) -> Work:
        _check_definition(tx, resolved, session.folder.name)
        timed = msgspec.structs.replace(work, deadline=kept_deadline(tx, resolved, session.clock.now()))
        tx.facts.keep("work", msgspec.json.encode(timed).decode())
        tx.facts.keep(SAMPLE, "" if limit is None else str(limit))
        if expected is not None:
            tx.facts.keep(EXPECTED, expected)
        tx.facts.keep("prices_file", str(resolved.prices.resolve()) if resolved.prices else "")
        for stage in resolved.stages:
            most = None if is_beside(stage, resolved.stages) else limit
            taken = take_stage(tx, session.folder.files, stage, encode, most)
            keep_prices(tx, known, stage)
            if taken.slots:
                shared = f", {taken.shared:,} shared" if taken.shared else ""
                say(f"{stage.name}: {number_of(taken.slots, 'row')} on record{shared}")
                tx.attempts.note(session.clock.now(), "intake", msgspec.json.encode(taken).decode())
        _check_few(tx, resolved)
        keep_price_file(session.folder, resolved.prices)  # last: a study that is refused changes no file of the run
        return timed

    timed = session.ledger.write("intake", fact).result()
    session.go_on()
    if copy_of is not None and is_run(copy_of):
        _reuse(session, copy_of, say, leave_damaged="damaged" in reask)
    for kind in reask:
        count = reask_rows(session, kind)
        say(f"{number_of(count, f'{kind} row')} {'is' if count == 1 else 'are'} asked again")
    if was_told(session) and unfinished(session.folder):
        end_anew(session)
    waiting = [attempt.id for attempt in session.ledger.view().attempts.everything() if attempt.state == "fetched"]
    return msgspec.structs.replace(timed, reask_missing=tuple(waiting) if "failed" in reask else ())


def _check_few(tx: Transaction, resolved: Resolved) -> None:
    """Rows that no batch can be made of are told of before anything is sent, unless others may join them."""
    models = [arm.model for stage in resolved.stages for arm in stage.arms]
    floors = {one.provider: batch_floor(vendor(one.provider), one) for one in models}
    if max(floors.values()) <= 1 or any(attempt.state != "closed" for attempt in tx.attempts.everything()):
        return
    known, paces = tx.stages.arms(), {stage.name: stage.pace for stage in resolved.stages}
    cut = Counter[int]()
    for shard in tx.shards.waiting(()):
        cut[shard.arm] += shard.rows
    for number, (rows, *_) in tx.shards.queued().items():
        arm, seller = known[number], vendor(known[number].model.provider)
        if first_processing(resolved.mode, seller) == "batch":
            least = paces.get(arm.stage, StagePace()).least(batch_floor(seller, arm.model))
            may_call = resolved.mode == "auto" and takes_calls(seller)
            if few(rows + cut[number], least, under_way=False, may_call=may_call) == "refuse":
                raise StudyError(too_few_text(arm, rows, least))


def _reuse(session: Session, source: RunFolder, say: Say, *, leave_damaged: bool) -> None:
    """Answers of a run whose ledger is lost or damaged cannot be had; who asked for a copy was told so before."""
    try:
        reused = reuse_answers(session, source, leave_damaged=leave_damaged)
    except FileDamaged:
        raise
    except LedgerError as error:
        say(f"answers of '{source.name}' cannot be reused: {error}")
        return
    fits = "still fits and is" if reused == 1 else "still fit and are"
    say(f"{number_of(reused, 'answer')} of '{source.name}' {fits} reused")


def _check_definition(tx: Transaction, resolved: Resolved, name: str) -> None:
    today = resolved.definition
    known = tx.facts.get("definition")
    if known is not None:
        changed = differences_from(known, today)
        if changed:
            message = f"run '{name}' was started with other questions: {'; '.join(changed)}. Start a copy: --as NAME"
            raise StudyChanged(message)
    tx.facts.keep("definition", msgspec.json.encode(today).decode())


def _send_file(
    file: Path,
    place: Settings,
    provider: str,
    wish: Wish,
    say: Say,
    tell: Tell,
) -> Run:
    """A provider's own file: its lines are rows, its custom ids are their names."""
    stage, encode, _ = ready_stages(file, provider)
    if not place.emulate:
        check_sending(vendor(provider), endpoint_of(vendor(provider), None, place, None))
    folder = named_folder(place, wish.as_name, run_name_of(file.stem))
    work = Work(until_sent=True, description=wish.description)
    if wish.timeout is not None:
        work = msgspec.structs.replace(work, timeout=seconds_of(wish.timeout, "--timeout"))
    known = prices_for(stage.arms)
    say(cost_text(plan_file(file, provider, place, wish.as_name)))

    def prepare(session: Session, _: Connect) -> None:
        def fact(tx: Transaction) -> None:
            tx.facts.keep("work", msgspec.json.encode(work).decode())
            taken = take_stage(tx, session.folder.files, stage, encode)
            keep_prices(tx, known, stage)
            say(f"{file.name}: {number_of(taken.slots, 'row')} on record")

        session.ledger.write("intake", fact).result()

    return work_on(folder, place, work, prepare=prepare, say=say, tell=tell)


__all__ = ["resume", "run", "run_folder", "submit"]
