"""What follows from landed answers: the next turn of a thread, the items of a later stage, the next round.

One step is one ledger transaction: the new questions, and the mark that these answers have been passed on, become
durable together. So nothing is asked twice and nothing is forgotten, whenever the process dies. A step takes so many
answers and no more, and others may write between two of them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from overnight.core.ask import Arm, Ask, Item
from overnight.core.stage import Stage
from overnight.core.task import Rounds
from overnight.engine.flow.beside import BesideAnswers
from overnight.engine.flow.handing_over import HandOver
from overnight.engine.flow.making import MakingFlow, is_to_take, takes_what_is_made
from overnight.engine.flow.phases import PhaseFlow, is_over, may_begin
from overnight.engine.flow.rounds import RoundFlow
from overnight.engine.flow.threads import Decode, Grown, ThreadReader
from overnight.ledger.questions import Intake
from overnight.ledger.threads import Follower
from overnight.ledger.transaction import Transaction, View
from overnight.store.contract import Store

# Answers passed on in one transaction.
_CHUNK = 5_000
_ANY = ("answered", "refused", "truncated", "failed")


class Flow:
    def __init__(
        self,
        files: Store,
        stages: Sequence[Stage],
        arms: Mapping[int, Arm],
        decoders: Mapping[str, Decode],
        encode: Callable[[Ask], bytes],
    ) -> None:
        self._files = files
        self._stages = {stage.name: stage for stage in stages}
        self._reader = ThreadReader(files, arms, decoders)
        self._encode = encode
        self._rounds = {
            stage.name: RoundFlow(stage, stage.task, self._reader, self._take)
            for stage in stages
            if isinstance(stage.task, Rounds)
        }
        self._making = {
            stage.name: MakingFlow(stage, self._stages, self._reader, self._rounds[stage.of].rows, self._take_items)
            for stage in stages
            if stage.of is not None and takes_what_is_made(stage, self._stages)
        }
        take_all = partial(self._take, follow=False)
        self._phases = [
            PhaseFlow(stage, self._stages, self._reader, take_all) for stage in stages if stage.after is not None
        ]

    @property
    def needed(self) -> bool:
        """Whether anything can follow from an answer in this run at all."""
        return bool(self._rounds or self._phases or list(self._followers()))

    def _followers(self) -> Iterator[Follower]:
        for stage in self._stages.values():
            if has_turns(stage):
                yield Follower(stage.id, stage.id, every_turn=True)
            if stage.of is not None and stage.name not in self._making:
                yield self._follower_of(stage, stage.of)

    def _follower_of(self, stage: Stage, of: str) -> Follower:
        source = self._stages[of]
        return Follower(source.id, stage.id, every_turn=not has_turns(source))

    def begin(self, tx: Transaction) -> None:
        """Before anything lands: who is to look at it, and who is to look once more at what was left behind."""
        tx.threads.set_followers(self._followers())
        for stage in self._stages.values():
            if stage.of is not None and stage.beside is not None and stage.name not in self._making:
                tx.threads.land_again(self._follower_of(stage, stage.of))

    def advance(self, tx: Transaction, at: float, *, afresh: bool = False) -> Grown:
        """One step. `afresh`: a pass begins, and there may be more items than there were."""
        done = [rounds.advance(tx, at, afresh=afresh) for rounds in self._rounds.values()]
        done.append(next(filter(None, self._steps(tx, at, afresh=afresh)), None))
        grown = [one for one in done if one is not None]
        settled = sum((Counter(one.settled) for one in grown), Counter[str]())
        return Grown(sum(one.addresses for one in grown), settled, more=bool(grown))

    def _steps(self, tx: Transaction, at: float, *, afresh: bool) -> Iterator[Grown | None]:
        """What each stage has to do, as long as nobody has done anything.

        Phases come last: a stage is over when all that has landed of it has been passed on.
        """
        for stage in self._stages.values():
            if has_turns(stage):
                yield self._follow_up(tx, stage)
        for stage in self._stages.values():
            if stage.name in self._making:
                yield self._making[stage.name].advance(tx, at)
            elif stage.of is not None:
                yield self._hand_over(tx, stage, self._stages[stage.of])
        for phase in self._phases:
            yield phase.advance(tx, at, afresh=afresh)

    # --- the next turn

    def _follow_up(self, tx: Transaction, stage: Stage) -> Grown | None:
        """Ask each of the next threads what it is to be asked after its last turn, whatever came of that."""
        task = stage.task
        assert not isinstance(task, Rounds)
        landed = tx.threads.landed(stage.id, stage.id, _CHUNK)
        if not landed:
            return None
        # What has as many turns as there can be is over, whatever they say.
        going_on = [one for one in landed if one.turn + 1 < task.most_turns]
        marks = [(one.slot, 0) for one in landed if one.turn + 1 >= task.most_turns]

        def asks() -> Iterator[Ask]:
            for one, thread in self._reader.read(tx, going_on, fields=task.reads_items):
                follow = task.follow_up(thread)
                marks.append((one.slot, len(follow)))
                yield from follow

        grown = self._take(tx, stage, asks())
        tx.threads.pass_on(stage.id, marks)
        tx.threads.looked_at(stage.id, landed[-1].slot)
        tx.threads.end(stage.id, [slot for slot, count in marks if count == 0])
        return grown

    def _take(
        self, tx: Transaction, stage: Stage, asks: Iterable[Ask], round_n: int = 0, *, follow: bool = True
    ) -> Grown:
        intake = self._intake(tx, stage)
        return self._taken(stage, intake, asks, round_n, follow=follow)

    def _intake(self, tx: Transaction, stage: Stage) -> Intake:
        return tx.intake(self._files, (stage.name, stage.task.name, stage.task.version), stage.arms, stage.priority)

    def _taken(
        self, stage: Stage, intake: Intake, asks: Iterable[Ask], round_n: int = 0, *, follow: bool = True
    ) -> Grown:
        taken = intake.asks(asks, self._encode, shared=stage.dedupe, follow=follow, round_n=round_n)
        return Grown(taken.slots, taken.settled, more=True)

    # --- the next stage

    def _hand_over(self, tx: Transaction, stage: Stage, source: Stage) -> Grown | None:
        """Give the next answers to a later stage."""
        if stage.when == "done" and not is_over(tx, source, self._stages):
            return None
        beside = None
        if stage.beside is not None:
            second = self._stages[stage.beside.stage]
            if not is_over(tx, second, self._stages):
                return None
            beside = BesideAnswers(stage.beside, second, self._reader)
        whole = any(later.of == stage.name for later in self._stages.values())
        handed = HandOver(stage, source, self._reader, whole=whole, beside=beside).next(tx, _CHUNK)
        if handed is None:
            return None
        grown = self._take_items(tx, stage, handed.items)
        tx.threads.pass_on(stage.id, handed.marks)
        tx.threads.use(stage.id, () if beside is None else beside.used)
        tx.threads.looked_at(stage.id, handed.last)
        tx.threads.leave_out(stage.id, handed.missing, handed.late)
        return grown

    def _take_items(self, tx: Transaction, stage: Stage, items: Iterable[Item]) -> Grown:
        """Items that come to a later stage, and the first questions about them."""
        task = stage.task
        assert not isinstance(task, Rounds)
        intake = self._intake(tx, stage)
        kept = intake.items(items)
        grown = self._taken(stage, intake, task.start(kept, stage.seed))
        for _ in kept:
            pass  # what the task did not look at is an item all the same
        return grown

    def next_deadline(self, view: View) -> float | None:
        """When the next round must close, where rounds have deadlines."""
        times = (rounds.deadline(view) for rounds in self._rounds.values())
        return min((at for at in times if at is not None), default=None)


def has_turns(stage: Stage) -> bool:
    """Whether more may be asked after an answer of the stage, in the same conversation."""
    return not isinstance(stage.task, Rounds) and stage.task.most_turns > 1


def more_follows(view: View, stages: Sequence[Stage]) -> bool:
    """A next turn, round or phase, or rows for a later stage: answers have landed, and the process ended before these.

    Told from the records, while nobody works on the run.
    """
    by_name = {stage.name: stage for stage in stages}
    for stage in stages:
        if isinstance(stage.task, Rounds):
            last = view.rounds.last(stage.id)
            if last is None or last.asks > 0:
                return True
        elif has_turns(stage) and view.threads.anything_landed(stage.id, _ANY):
            return True
        if takes_what_is_made(stage, by_name):
            if is_to_take(view, stage, by_name):
                return True
            continue
        # A failed row may be the last that a group waits for.
        wanted = stage.take if stage.group is None else _ANY
        if stage.of is not None and view.threads.anything_landed(stage.id, wanted):
            return True
    return any(
        stage.after is not None and view.screening.opened(stage.id) is None and may_begin(view, stage, by_name)
        for stage in stages
    )
