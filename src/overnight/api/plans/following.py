"""What follows from first questions: further turns, and later stages.

What follows from an answer is rendered with a mark in the answer's place, and the marks are counted: a turn has all
earlier answers of its conversation in it, and a later stage those that its template names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from overnight.api.plans.counting import ArmCount
from overnight.api.plans.estimating import Place
from overnight.api.plans.on_record import OnRecord, together
from overnight.core.ask import Ask, Item
from overnight.core.handed_on import HandedOn, group_item, handed_on, row_item, turns_of
from overnight.core.result import Result
from overnight.core.stage import Stage
from overnight.core.task import MakesItems, Rounds, Thread
from overnight.ledger.transaction import View

# Items whose questions are being counted: a task may look at some before it asks about the first.
_REMEMBERED = 1_000


def _stand_in(arm: ArmCount, turn: int) -> Result:
    return Result(outcome="answered", answer=arm.mark(turn), thoughts=arm.mark(turn))


class Passing:
    """Items on their way to a task, so that the item of a question is at hand when the question comes."""

    def __init__(self) -> None:
        self._recent: dict[str, Item] = {}
        self._before: dict[str, Item] = {}

    def items(self, source: Iterable[Item]) -> Iterator[Item]:
        for item in source:
            if len(self._recent) == _REMEMBERED:
                self._before, self._recent = self._recent, {}
            self._recent[item.id] = item
            yield item

    def item_of(self, ask: Ask) -> Item:
        """Without fields, where a question is about something else than one item."""
        return self._recent.get(ask.item) or self._before.get(ask.item) or Item(ask.item, {})


class Next(NamedTuple):
    """A question that follows from others: of which arm, whose answers may stand in it, and in which turn it comes.

    `shared`: an arm asks it for several addresses at once, and this is not the first of them.
    """

    stage: Stage
    arm: ArmCount
    ask: Ask
    whose: Sequence[ArmCount]
    turn: int
    shared: bool


def _about_what_is_written(stages: Sequence[Stage]) -> set[str]:
    """Stages whose items are written by another one, or go back to such items."""
    writers = {stage.name for stage in stages if isinstance(stage.task, MakesItems)}
    found: set[str] = set()
    for stage in stages:
        if stage.of is not None and stage.of in writers | found:
            found.add(stage.name)
    return found


class Following:
    """Tells what follows from first questions, and counts it in."""

    def __init__(self, stages: Sequence[Stage], arms: Mapping[Place, ArmCount], view: View | None) -> None:
        """`view`: of the run, if there is one."""
        self._arms = arms
        self._later = {stage.name: [one for one in stages if one.of == stage.name] for stage in stages}
        # Looked up once: a protocol takes long to say whether a task fits it, and there may be a million rows.
        self._followed = {
            stage.name
            for stage in stages
            if not isinstance(stage.task, MakesItems) and (stage.task.most_turns > 1 or self._later[stage.name])
        }
        written = _about_what_is_written(stages)
        self._on_record = {one.name: OnRecord(view, one.name, by_number=one.name in written) for one in stages}
        # Rows of a group that is not complete yet, by the stage that takes it: the item, and what is handed on.
        self._open: dict[str, tuple[Item, list[HandedOn], list[ArmCount]]] = {}

    def is_followed(self, stage: Stage) -> bool:
        return stage.name in self._followed

    def on_record(self, stage: Stage) -> OnRecord:
        """For first questions and what follows from them: they are looked up together."""
        return self._on_record[stage.name]

    def after(
        self, stage: Stage, item: Item, first: Ask, *, shared: bool, before: Sequence[ArmCount] = ()
    ) -> Iterator[Next]:
        """All that follows from one first question. `before`: the arms whose answers its item is made of."""
        if stage.name not in self._followed:
            return
        task = stage.task
        own = self._arms[stage.name, first.arm.name]
        whose = (*before, own)
        thread = Thread(arm=first.arm, item=item, replicate=first.replicate, turns=(_stand_in(own, 0),))
        asked = [first]
        for turn in range(1, task.most_turns):
            follow = () if isinstance(task, Rounds) else task.follow_up(thread)
            if not follow:
                break
            yield self._next(stage, follow[0], whose, turn, shared=shared)
            asked.append(follow[0])
            thread = msgspec.structs.replace(thread, turns=(*thread.turns, _stand_in(own, turn)))
        for later in self._later[stage.name]:
            yield from self._hand_on(later, thread, asked, whose, shared=shared)

    def count_made(self, stage: Stage) -> None:
        """What later stages ask about the items that this one writes: as many as there may be."""
        if isinstance(stage.task, MakesItems) and stage.items is not None:
            for later in self._later[stage.name]:
                made = stage.task.most_made(stage.items())
                self._count(one for item in made for one in self._take_up(later, item, (), shared=False))

    def finish(self, stages: Iterable[Stage]) -> None:
        """The last group of each stage, in the study's order: one may be part of the next."""
        for stage in stages:
            if stage.name in self._open:
                self._count(self._complete(stage))

    def _count(self, coming: Iterator[Next]) -> None:
        for some in together(coming, lambda one: one.ask):
            self.look_up(some)
            for one in some:
                self.add(one)

    def look_up(self, some: Iterable[Next]) -> None:
        """These are what is added next."""
        asks: dict[str, list[Ask]] = {}
        for one in some:
            asks.setdefault(one.stage.name, []).append(one.ask)
        for name, own in asks.items():
            self._on_record[name].look_up(own)

    def add(self, one: Next) -> None:
        arm = one.arm
        arm.plan.rows += 1
        if self._on_record[one.stage.name].has(one.ask):
            arm.plan.on_record += 1
        elif one.shared:
            arm.plan.shared += 1
        else:
            arm.add(arm.vendor.format.encode(one.ask), tuple(dict.fromkeys(one.whose)), one.turn)

    def _next(self, stage: Stage, ask: Ask, whose: Sequence[ArmCount], turn: int, *, shared: bool) -> Next:
        return Next(stage, self._arms[stage.name, ask.arm.name], ask, whose, turn, shared)

    def _hand_on(
        self, later: Stage, thread: Thread, asked: Sequence[Ask], whose: Sequence[ArmCount], *, shared: bool
    ) -> Iterator[Next]:
        rows = [handed_on(part, ask.messages) for part, ask in zip(turns_of(thread), asked, strict=True)]
        fields = thread.item.fields
        if later.group is None:
            yield from self._take_up(later, row_item(rows[-1], fields), whose, shared=shared)
        elif later.group == "thread":
            yield from self._take_up(later, group_item(rows, "thread", 0, fields), whose, shared=shared)
        else:
            known = self._open.get(later.name)
            if known is not None and known[0].id != thread.item.id:
                yield from self._complete(later)
                known = None
            item, members, arms = known or (thread.item, [], [])
            members.append(rows[-1])
            self._open[later.name] = (item, members, [*arms, *whose])

    def _complete(self, stage: Stage) -> Iterator[Next]:
        item, members, whose = self._open.pop(stage.name)
        yield from self._take_up(stage, group_item(members, "item", 0, item.fields), whose, shared=False)

    def _take_up(self, stage: Stage, item: Item, whose: Sequence[ArmCount], *, shared: bool) -> Iterator[Next]:
        if stage.beside is not None:
            beside = next(arm for (name, _), arm in self._arms.items() if name == stage.beside.stage)
            item, whose = Item(item.id, {**item.fields, stage.beside.field: beside.mark(0)}), (*whose, beside)
        for ask in stage.task.start([item], stage.seed):
            yield self._next(stage, ask, whose, 0, shared=shared)
            yield from self.after(stage, item, ask, shared=shared, before=whose)
