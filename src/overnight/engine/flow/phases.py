"""Phases: a stage that begins when another is over, with those models or items that a rule lets through.

The decision is made once, from a stage in which nothing is open any more, and goes on record in the transaction that
takes the questions in: a process that is killed before it decides again from the same answers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec

from overnight.core.ask import Arm, Ask
from overnight.core.screening import Decision, decide
from overnight.core.stage import Stage
from overnight.core.task import MakesItems, Measures, Rounds
from overnight.engine.flow.threads import Grown, ThreadReader
from overnight.ledger.transaction import Transaction, View

# The fact that only a sample of the study has been asked so far.
SAMPLE = "sample"

Take = Callable[[Transaction, Stage, Iterable[Ask]], Grown]


class PhaseFlow:
    """One stage that comes after another."""

    def __init__(self, stage: Stage, stages: Mapping[str, Stage], reader: ThreadReader, take: Take) -> None:
        self._stage = stage
        self._stages = stages
        self._reader = reader
        self._take = take
        self._begun = False

    def advance(self, tx: Transaction, at: float, *, afresh: bool) -> Grown | None:
        """Begin the stage, if its time has come. `afresh`: there may be more to begin with than there was."""
        stage = self._stage
        if self._begun and not afresh:
            return None
        before = [one.id for one in _before(stage, self._stages)]
        opened = tx.screening.opened(stage.id)
        self._begun = opened is not None and opened == tx.screening.extent(stage.id, before)
        if self._begun or not may_begin(tx, stage, self._stages):
            return None
        decisions = self._decide(tx)
        grown = self._take(tx, stage, self._asks(tx, decisions))
        tx.screening.open(stage.id, tx.screening.extent(stage.id, before), at)
        data = {"stage": stage.name, "decided": len(decisions), "moved_on": sum(one.moved for one in decisions)}
        tx.attempts.note(at, "phase", msgspec.json.encode(data | {"rows": grown.addresses}).decode())
        self._begun = True
        return grown

    def _decide(self, tx: Transaction) -> list[Decision]:
        """Those on record stay as they are; others are added for what is new."""
        stage, after = self._stage, self._stage.after
        assert after is not None
        if after.rule is None:
            return []
        known = {one.unit for one in tx.screening.decisions(stage.id)}
        new = [unit for unit in self._units(tx) if unit not in known]
        if new:
            source = self._stages[after.stage]
            task = source.task
            assert isinstance(task, Measures)
            threads = (thread for _, thread in self._reader.read(tx, tx.rounds.threads(source.id, 0), fields=True))
            measured = {one.unit: one for one in task.measure(after.rule.measure, after.unit, threads)}
            tx.screening.keep(stage.id, decide(after, new, measured))
        return tx.screening.decisions(stage.id)

    def _units(self, tx: Transaction) -> Iterable[str]:
        after = self._stage.after
        assert after is not None
        if after.move_on == "items":
            return (item.id for item in self._reader.items(tx, self._stage.id))
        asked = self._stage if after.move_on == "models" else models_measured(self._stages[after.stage], self._stages)
        return dict.fromkeys(arm.model.full_name for arm in asked.arms)

    def _asks(self, tx: Transaction, decisions: Sequence[Decision]) -> Iterator[Ask]:
        task = self._stage.task
        assert not isinstance(task, Rounds)
        moves = Moving(self._stage, decisions)
        items = (item for item in self._reader.items(tx, self._stage.id) if moves.item(item.id))
        return (ask for ask in task.start(items, self._stage.seed) if moves.arm(ask.arm))


class Moving:
    """What of a stage is asked."""

    def __init__(self, stage: Stage, decisions: Sequence[Decision]) -> None:
        after = stage.after
        self._free = after is None or after.rule is None
        self._by = None if after is None else after.move_on
        self._moved = {one.unit for one in decisions if one.moved}

    def item(self, item: str) -> bool:
        return self._free or (item in self._moved if self._by == "items" else bool(self._moved))

    def arm(self, arm: Arm) -> bool:
        return self._free or self._by != "models" or arm.model.full_name in self._moved


def models_measured(source: Stage, stages: Mapping[str, Stage]) -> Stage:
    """The stage whose models a measure is of: that which judges look at, or the measured one itself."""
    return source if source.of is None else stages[source.of]


def may_begin(view: View, stage: Stage, stages: Mapping[str, Stage]) -> bool:
    """Whether all that a stage comes after is over, and was asked whole."""
    assert stage.after is not None
    return not view.facts.get(SAMPLE) and is_over(view, stages[stage.after.stage], stages)


def is_over(view: View, stage: Stage, stages: Mapping[str, Stage]) -> bool:
    """Nothing of the stage is open, and nothing more can be added to it."""
    before = (stage.of, None if stage.beside is None else stage.beside.stage)
    if not all(is_over(view, stages[name], stages) for name in before if name is not None):
        return False
    begins_late = stage.after is not None or (stage.of is not None and isinstance(stages[stage.of].task, MakesItems))
    if begins_late and view.screening.opened(stage.id) is None:
        return False
    if isinstance(stage.task, Rounds):
        last = view.rounds.last(stage.id)
        if last is None or last.asks > 0:
            return False
    return view.threads.stage_is_quiet(stage.id)


def _before(stage: Stage, stages: Mapping[str, Stage]) -> Iterator[Stage]:
    """The stages whose answers a decision is made from."""
    name = None if stage.after is None else stage.after.stage
    while name is not None:
        yield stages[name]
        name = stages[name].of
