"""What a study would send, counted from the very bytes, and nothing sent."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from overnight.api.elsewhere.ready import ready_stages
from overnight.api.phases import decided, phase_plans
from overnight.api.places import named_folder
from overnight.api.plans.counting import ArmCount, planned_arms
from overnight.api.plans.experience import Experience
from overnight.api.plans.finishing import finishing
from overnight.api.plans.following import Following, Passing
from overnight.api.plans.on_record import Fate, OnRecord, Shared, together
from overnight.api.plans.plan_files import PlanWriter
from overnight.api.plans.planned import Plan, Shown
from overnight.api.plans.pricing import prices_for, prices_of, processing_of
from overnight.core.ask import Ask, Item
from overnight.core.errors import StudyError
from overnight.core.names import run_name_of
from overnight.core.stage import Stage, is_beside
from overnight.core.task import MakesItems, Rounds
from overnight.core.wording import number_of
from overnight.engine.decisions import Mode
from overnight.engine.flow.phases import Moving
from overnight.engine.flow.sampling import address, stratified
from overnight.engine.packing import too_few_text
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import View
from overnight.providers import batch_floor, batch_format, takes_batches, takes_calls, vendor
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder
from overnight.study import Resolved
from overnight.study.task_registry import task_kind

Items = Callable[[], Iterable[Item]]


def plan_resolved(
    resolved: Resolved,
    place: Settings,
    folder: RunFolder,
    show: int = 0,
    target: Path | None = None,
    limit: int | None = None,
) -> Plan:
    """The same for a study that has been made ready."""
    shown: list[Shown] = []
    files: list[str] = []
    prices = prices_of(resolved)
    output_tokens = resolved.budget.output_tokens if resolved.budget else None
    experience = Experience(folder, place)
    arms: dict[tuple[str, str], ArmCount] = {}
    for stage in resolved.stages:
        for arm in stage.arms:
            processing = processing_of(arm, resolved.mode)
            count = ArmCount(arm, stage, processing, prices, output_tokens, experience, len(arms))
            arms[stage.name, arm.name] = count
    decisions = decided(folder)
    with _looking_at(folder) as view:
        following = Following(resolved.stages, arms, view)
        for stage in resolved.stages:
            # A sample decides nothing, so that no later phase begins with it.
            if stage.items is not None and (limit is None or stage.after is None):
                own = [arms[stage.name, arm.name] for arm in stage.arms]
                moves = Moving(stage, decisions[stage.name]) if stage.name in decisions else None
                most = None if is_beside(stage, resolved.stages) else limit
                counting = _Counting(stage, stage.items, own, view, target, most, following, moves)
                counting.count()
                following.count_made(stage)
                files.extend(counting.files)
                shown.extend(_first(stage, stage.items, show, resolved.mode))
        following.finish(resolved.stages)
    notes = tuple(text for stage in resolved.stages for text in (*stage.notes, *clamped(stage)))
    planned = planned_arms(arms)
    notes += tuple(_too_few(resolved, arms))
    return Plan(
        study=resolved.name,
        arms=planned,
        phases=phase_plans(resolved.stages, planned, decisions),
        notes=notes,
        shown=tuple(shown),
        written=tuple(files),
        budget=resolved.budget,
        finishing=finishing(planned, experience.lessons, _waiting(resolved.stages)),
    )


def _waiting(stages: Sequence[Stage]) -> set[str]:
    """Stages that begin when the one before them is over, or nearly: a group is complete with its last answer."""
    by_name = {stage.name: stage for stage in stages}
    return {
        stage.name
        for stage in stages
        if stage.of is not None
        and (stage.when == "done" or stage.group == "item" or isinstance(by_name[stage.of].task, MakesItems))
    }


def plan_file(file: Path, provider: str, place: Settings, as_name: str | None = None, show: int = 0) -> Plan:
    """The same for a ready-made provider file: its lines are counted as they stand."""
    stage, encode, longest = ready_stages(file, provider)
    folder = named_folder(place, as_name, run_name_of(file.stem))
    prices, experience = prices_for(stage.arms), Experience(folder, place)
    arms = {
        arm.name: ArmCount(arm, stage, "batch", prices, longest[arm.name], experience, n)
        for n, arm in enumerate(stage.arms)
    }
    shown: list[Shown] = []
    coming = iter(stage.task.start(stage.items() if stage.items else (), stage.seed))
    with _looking_at(folder) as view:
        on_record = OnRecord(view, stage.name, by_number=False)
        for asks in together(coming, lambda ask: ask):
            on_record.look_up(asks)
            for ask in asks:
                count = arms[ask.arm.name]
                count.plan.rows += 1
                if on_record.has(ask):
                    count.plan.on_record += 1
                    continue
                body = encode(ask)
                count.add_first([len(body)])
                if len(shown) < show:
                    line = msgspec.json.decode(count.ready_line(ask.item, body))
                    shown.append(Shown(arm=ask.arm.name, item=ask.item, request=line))
    for count in arms.values():
        count.add_up()
    counted = planned_arms({(stage.name, name): count for name, count in arms.items()})
    ends = finishing(counted, experience.lessons)
    return Plan(study=folder.name, arms=counted, notes=(), shown=tuple(shown), written=(), ready=True, finishing=ends)


def check_limit(limit: int | None, flag: str = "--limit") -> None:
    if limit is not None and limit < 1:
        message = f"{flag}: {limit} is not a number of rows above 0"
        raise StudyError(message)


def check_rounds(
    resolved: Resolved, limit: int | None, write: str | Path | None = None, pilot: int | None = None
) -> None:
    """Questions that are chosen by the answers to others cannot be sampled or written down before there are any."""
    in_rounds = [stage.task.name for stage in resolved.stages if isinstance(stage.task, Rounds)]
    for flag, given in {"--limit": limit, "--write": write, "--pilot": pilot}.items():
        if in_rounds and given is not None:
            raise StudyError(f"{flag}: {task_kind(in_rounds[0]).in_rounds}")


def clamped(stage: Stage) -> Iterator[str]:
    """A word on settings that are over what a provider takes."""
    wanted = stage.pace.max_requests
    sellers = [(arm.model, vendor(arm.model.provider)) for arm in stage.arms]
    limits = {one.provider: batch_format(of).limits(one) for one, of in sellers if takes_batches(of)}
    for provider, limit in limits.items():
        most, least = limit.requests, stage.pace.least(limit.min_rows)
        if wanted is not None and wanted > most:
            yield f"batch.max_requests: {wanted:,} is more than {provider} takes; {most:,} are sent in one batch"
        if wanted is not None and wanted < least:
            yield f"batch.max_requests: {wanted:,} is less than {provider} takes; {least:,} are sent in one batch"


def _too_few(resolved: Resolved, arms: Mapping[tuple[str, str], ArmCount]) -> Iterator[str]:
    """Arms that no batch can be made of, and what becomes of them."""
    for stage in resolved.stages:
        for arm in stage.arms if stage.of is None else ():
            plan, seller = arms[stage.name, arm.name].plan, vendor(arm.model.provider)
            least = stage.pace.least(batch_floor(seller, arm.model)) if plan.processing == "batch" else 1
            if plan.on_record or not 0 < plan.requests < least:
                continue
            if resolved.mode == "auto" and takes_calls(seller):
                few = f"{number_of(plan.requests, 'row')} of {arm.model.provider}, which takes no batch of fewer than"
                yield f"{arm.name}: {few} {least:,}, are asked live, at the live price"
            else:
                yield too_few_text(arm, plan.requests, least)


def _first(stage: Stage, items: Items, show: int, mode: Mode) -> Iterator[Shown]:
    """The first requests, one of each arm before the second of any."""
    if show < 1:
        return
    taken: dict[str, list[Ask]] = {arm.name: [] for arm in stage.arms}
    wanted = -(-show // len(taken))
    for ask in islice(stage.task.start(items(), stage.seed), 10_000):
        if len(taken[ask.arm.name]) < wanted:
            taken[ask.arm.name].append(ask)
        if all(len(asks) == wanted for asks in taken.values()):
            break
    longest = max(len(asks) for asks in taken.values())
    in_turn = [asks[number] for number in range(longest) for asks in taken.values() if number < len(asks)]
    for ask in in_turn[:show]:
        seller = vendor(ask.arm.model.provider)
        body = seller.format.encode(ask)
        batched = takes_batches(seller) and processing_of(ask.arm, mode) == "batch"
        line = batch_format(seller).line(ask.arm.model, "o-the-attempts-token-0", body) if batched else body
        yield Shown(arm=ask.arm.name, item=ask.item, request=msgspec.json.decode(line))


class _Judged(NamedTuple):
    """A first question, what becomes of it, and its body unless it is on record."""

    ask: Ask
    fate: Fate
    # What follows from it is shared with another address.
    is_followed_elsewhere: bool = False
    body: bytes = b""


class _Counting:
    def __init__(
        self,
        stage: Stage,
        items: Items,
        arms: Sequence[ArmCount],
        view: View | None,
        target: Path | None,
        limit: int | None,
        following: Following,
        moves: Moving | None = None,
    ) -> None:
        self._stage = stage
        self._moves = moves
        self._following = following
        self._items = items
        self._arms = {count.arm.name: count for count in arms}
        in_rounds = isinstance(stage.task, Rounds)
        # What a round will ask is none of what was asked, whatever stands for it here.
        self._on_record = OnRecord(view, stage.name, by_number=True) if in_rounds else following.on_record(stage)
        self._shared = Shared(None if in_rounds else view, stage, self._arms)
        self._target = target
        self._limit = limit
        self.files: list[str] = []

    def count(self) -> None:
        arms = self._arms
        if self._stage.pace.segments:
            for name, total in self._totals().items():
                arms[name].expect(total)
        with ExitStack() as stack:
            writer = PlanWriter(self._target, self._stage, stack) if self._target else None
            if self._following.is_followed(self._stage):
                self._count_with_followers(writer)
            else:
                asks = self._asks(self._items())
                for some in together(asks, lambda ask: ask):
                    self._count(some, writer)
            self.files = writer.files if writer is not None else []
        for count in arms.values():
            count.add_up()

    def _count(self, asks: Sequence[Ask], writer: PlanWriter | None) -> None:
        """Some from which nothing follows: arm by arm, by their sizes."""
        sizes: dict[str, list[int]] = {}
        for one in self._judged(asks):
            if writer is not None or one.fate != "new":
                self._add(one, writer)
            else:
                sizes.setdefault(one.ask.arm.name, []).append(len(one.body))
        for name, some in sizes.items():
            self._arms[name].plan.rows += len(some)
            self._arms[name].add_first(some)

    def _count_with_followers(self, writer: PlanWriter | None) -> None:
        passing, following = Passing(), self._following
        coming = ((ask, passing.item_of(ask)) for ask in self._asks(passing.items(self._items())))
        for some in together(coming, lambda one: one[0]):
            judged = self._judged([ask for ask, _ in some])
            groups = [
                (one, list(following.after(self._stage, item, one.ask, shared=one.is_followed_elsewhere)))
                for one, (_, item) in zip(judged, some, strict=True)
            ]
            following.look_up(chain.from_iterable(followers for _, followers in groups))
            for first, followers in groups:
                self._add(first, writer)
                for one in followers:
                    following.add(one)

    def _judged(self, asks: Sequence[Ask]) -> Iterator[_Judged]:
        self._on_record.look_up(asks)
        known = [self._on_record.has(ask) for ask in asks]
        others = [ask for ask, is_known in zip(asks, known, strict=True) if not is_known]
        made = [self._made(ask) for ask in others]
        fates = iter(self._shared.among(others, [key for key, _ in made]))
        bodies = (body for _, body in made)
        for ask, is_known in zip(asks, known, strict=True):
            yield _Judged(ask, "on record") if is_known else _Judged(ask, *next(fates), next(bodies))

    def _made(self, ask: Ask) -> tuple[bytes, bytes]:
        """Its key, where questions are shared, and its body: one after the other, they want its words as JSON once."""
        arm = self._arms[ask.arm.name]
        return arm.keys.key(ask) if self._stage.dedupe else b"", arm.encode(ask)

    def _add(self, one: _Judged, writer: PlanWriter | None) -> None:
        arm = self._arms[one.ask.arm.name]
        arm.plan.rows += 1
        if one.fate == "on record":
            arm.plan.on_record += 1
        elif one.fate == "shared":
            arm.plan.shared += 1
        else:
            begins = arm.add_first([len(one.body)])
            if writer is not None:
                writer.add(arm, one.ask, one.body, begins=bool(begins))

    def _asks(self, items: Iterable[Item]) -> Iterator[Ask]:
        start, seed, moves = self._stage.task.start, self._stage.seed, self._moves
        if moves is not None:
            moving = (item for item in items if moves.item(item.id))
            return (ask for ask in start(moving, seed) if moves.arm(ask.arm))
        if self._limit is None:
            return iter(start(items, seed))
        chosen = stratified(start(self._items(), seed), self._limit, seed)
        return (ask for ask in start(items, seed) if address(ask) in chosen)

    def _totals(self) -> dict[str, int]:
        """Rows of each arm."""
        totals: dict[str, int] = {}
        for ask in self._asks(self._items()):
            totals[ask.arm.name] = totals.get(ask.arm.name, 0) + 1
        return totals


@contextmanager
def _looking_at(folder: RunFolder) -> Iterator[View | None]:
    """The run as it is on record; None where it has not begun."""
    if folder.exists():
        with look_at(folder) as view:
            yield view
    else:
        yield None
