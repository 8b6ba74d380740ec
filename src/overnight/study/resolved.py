"""A study made ready: files read, models found at their providers, arms named, items opened."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from overnight.core.errors import StudyError
from overnight.core.money import Budget
from overnight.core.stage import Stage, StagePace
from overnight.engine.decisions import Mode, first_processing
from overnight.engine.live.pace import Pacing
from overnight.engine.live.spill import Spill
from overnight.notifying import Target
from overnight.providers import batch_format, live_format, vendor
from overnight.study.beside import beside_notes, check_beside
from overnight.study.buckets import StudyBuckets, check_scheme, read_buckets
from overnight.study.handing_on import group_of, taken_by, when_of
from overnight.study.identity import Definition, define
from overnight.study.items import ItemSource
from overnight.study.notify import read_notify
from overnight.study.origin import Origin
from overnight.study.pace import (
    BatchSettings,
    PollSettings,
    deadline_after,
    gather_seconds,
    pacing_of,
    spill_of,
    timeout_seconds,
)
from overnight.study.phases import after_of, check_moving
from overnight.study.priority import ordered, with_priorities
from overnight.study.size import check_sizes
from overnight.study.sources import hidden_columns, open_sources
from overnight.study.study import Header, Study, read_settings
from overnight.study.task_kind import Draft
from overnight.study.task_registry import task_kind


class Resolved(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A study's stages, and what defines their questions, as they were at one reading of its files."""

    name: str
    mode: Mode
    pacing: Pacing
    # As it was written; and when that is, counted from a moment.
    deadline: str | None
    deadline_after: Callable[[float], float | None]
    spill: Spill
    stages: tuple[Stage, ...]
    definition: Definition
    budget: Budget | None
    prices: Path | None
    poll: PollSettings
    timeout_seconds: float
    notify: tuple[Target, ...]


def definition(study: Study) -> Definition:
    """What may not change between runs of the study, but may grow: see `differences`."""
    return resolve(study).definition


def resolve(study: Study) -> Resolved:
    """Raises a StudyError for everything that is wrong with the study and can be known before it is sent."""
    header, written, origins, budget = read_settings(study)
    buckets = read_buckets(header.buckets, study.origin)
    drafts = [
        task_kind(stage.task).draft(stage, origin, buckets) for stage, origin in zip(written, origins, strict=True)
    ]
    if buckets is not None:
        _check_schemes(buckets, drafts, study.origin)
    check_beside(drafts)
    sources = open_sources(drafts)
    stages = tuple(_resolved(draft, sources[draft.stage.name], header) for draft in drafts)
    stages = with_priorities(stages, {draft.stage.name: draft.stage.priority for draft in drafts})
    check_moving(stages, drafts)
    checked = {stage.name: sources[stage.name].check() for stage in stages if stage.items is not None}
    arms = [(draft.stage, len(draft.branches), draft.origin) for draft in drafts]
    check_sizes(arms, {name: sources[name].count for name in checked})
    checked |= {draft.stage.name: list(beside_notes(draft, sources)) for draft in drafts if draft.beside is not None}
    stages = tuple(_with_notes(stage, checked.get(stage.name, [])) for stage in stages)
    mode = cast("Mode", header.mode)
    for draft in drafts:
        _check_processing(draft, mode)
    return Resolved(
        name=header.name,
        mode=mode,
        pacing=pacing_of(header.live),
        deadline=None if header.deadline is None else str(header.deadline),
        deadline_after=partial(_deadline, header, study.origin),
        spill=spill_of(header.spill),
        stages=stages if len(stages) == 1 else tuple(_with_its_name(stage) for stage in stages),
        definition={"stages": {draft.stage.name: define(draft, sources) for draft in drafts}},
        budget=budget,
        prices=_prices(header, study.origin),
        poll=header.poll or PollSettings(),
        timeout_seconds=timeout_seconds(header.timeout, study.origin),
        notify=read_notify(header.notify, study.origin),
    )


def _resolved(draft: Draft, source: ItemSource, header: Header) -> Stage:
    settings = draft.stage
    task, notes = draft.make(source)
    batch = settings.batch or header.batch or BatchSettings()
    gather = gather_seconds(header.gather if settings.gather is None else settings.gather, draft.origin)
    return Stage(
        name=settings.name,
        task=task,
        arms=tuple(branch.arm for branch in draft.branches),
        items=ordered(source, settings.priority, draft.origin) if settings.of is None else None,
        after=after_of(settings.after),
        of=settings.of,
        when=when_of(settings),
        take=taken_by(settings),
        group=group_of(settings),
        beside=draft.beside,
        seed=settings.seed,
        dedupe=settings.dedupe,
        pace=StagePace(
            max_requests=batch.max_requests, segments=batch.segments, min_requests=batch.min_requests, gather=gather
        ),
        notes=(*draft.notes, *hidden_columns(draft, source.columns or ()), *notes),
    )


def _deadline(header: Header, origin: Origin, now: float) -> float | None:
    return None if header.deadline is None else deadline_after(header.deadline, now, origin)


def _check_processing(draft: Draft, mode: Mode) -> None:
    """Each model's provider must take what the study's mode sends."""
    for branch in draft.branches:
        seller = vendor(branch.arm.model.provider)
        try:
            (batch_format if first_processing(mode, seller) == "batch" else live_format)(seller)
        except StudyError as error:
            raise draft.origin.error((branch.key, branch.entry), str(error)) from None


def _with_notes(stage: Stage, more: Sequence[str]) -> Stage:
    return msgspec.structs.replace(stage, notes=(*stage.notes, *more))


def _with_its_name(stage: Stage) -> Stage:
    """Among several, each note says whose it is."""
    return msgspec.structs.replace(stage, notes=tuple(f"{stage.name}: {note}" for note in stage.notes))


def _check_schemes(buckets: StudyBuckets, drafts: Sequence[Draft], origin: Origin) -> None:
    for provider in dict.fromkeys(branch.arm.model.provider for draft in drafts for branch in draft.branches):
        check_scheme(buckets, provider, origin)


def _prices(header: Header, origin: Origin) -> Path | None:
    if header.prices is None:
        return None
    path = origin.path(header.prices, ("prices",))
    if not path.is_file():
        raise origin.error(("prices",), f"{path}: no such file")
    return path
