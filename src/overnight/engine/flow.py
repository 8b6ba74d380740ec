"""What follows from landed answers: the next turn of a thread, the items of a later stage, the next round.

Everything here happens inside one ledger transaction: the new questions, and the mark that these answers have been
passed on, become durable together. So nothing is asked twice and nothing is forgotten, whenever the process dies.
"""

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Ask, Item
from overnight.core.result import Line, Result
from overnight.core.stage import Stage
from overnight.core.task import Rounds, Row, Thread
from overnight.ledger.attempts import Attempts
from overnight.ledger.files import FilesView
from overnight.ledger.questions import Intake
from overnight.ledger.raw import RawFiles
from overnight.ledger.rows import ItemsView
from overnight.ledger.threads import (
    LandedSlot,
    Settled,
    close_round,
    landed_slots,
    last_round,
    open_round,
    pass_on,
    round_slots,
    settled_turns,
    stage_is_quiet,
    unsettled_in_round,
)
from overnight.store.run_folder import RunFolder

# Answers passed on in one transaction.
_CHUNK = 5_000

Decode = Callable[[bytes], Line]


class Grown(NamedTuple):
    """How many addresses were added, and the outcomes of those among them that share an answer that is here already."""

    addresses: int
    settled: Counter[str]


class Flow:
    def __init__(
        self,
        folder: RunFolder,
        stages: Sequence[Stage],
        arms: Mapping[int, Arm],
        decoders: Mapping[str, Decode],
        encode: Callable[[Ask], bytes],
    ) -> None:
        self._folder = folder
        self._stages = {stage.name: stage for stage in stages}
        self._arms = arms
        self._decoders = decoders
        self._encode = encode
        self._settled: Counter[str] = Counter()

    @property
    def needed(self) -> bool:
        """Whether anything can follow from an answer in this run at all."""
        return any(
            stage.task.most_turns > 1 or stage.of is not None or isinstance(stage.task, Rounds)
            for stage in self._stages.values()
        )

    def advance(self, db: sqlite3.Connection, attempt: int | None, at: float) -> Grown:
        """Pass on what has landed (with `attempt`, or at all)."""
        added = 0
        self._settled = Counter()
        with RawFiles(self._folder, FilesView(db).paths()) as raw:
            for stage in self._stages.values():
                if isinstance(stage.task, Rounds):
                    added += self._rounds(db, raw, stage, stage.task, at, afresh=attempt is None)
                elif stage.task.most_turns > 1:
                    added += self._follow_up(db, raw, stage, attempt)
        for stage in self._stages.values():
            if stage.of is not None:
                # Opened anew: a row that shares an answer lands at once, with an item that was kept a moment ago.
                with RawFiles(self._folder, FilesView(db).paths()) as raw:
                    added += self._hand_over(db, raw, stage, self._stages[stage.of], attempt)
        return Grown(added, self._settled)

    # --- the next turn

    def _follow_up(self, db: sqlite3.Connection, raw: RawFiles, stage: Stage, attempt: int | None) -> int:
        task = stage.task
        assert not isinstance(task, Rounds)
        added = 0
        while landed := landed_slots(db, stage.id, stage.id, over=False, attempt=attempt, limit=_CHUNK):
            asks: list[Ask] = []
            marks: list[tuple[int, int]] = []
            for slot in landed:
                # A thread whose turn failed stops here.
                follow = task.follow_up(self._thread(db, raw, stage, slot)) if slot.outcome == "answered" else ()
                asks.extend(follow)
                marks.append((slot.slot, len(follow)))
            added += self._take(db, stage, asks)
            pass_on(db, stage.id, marks)
        return added

    def _thread(self, db: sqlite3.Connection, raw: RawFiles, stage: Stage, slot: LandedSlot) -> Thread:
        arm = self._arms[slot.arm]
        decode = self._decoders[arm.model.provider]
        turns = tuple(_result(settled, raw, decode) for settled in settled_turns(db, slot))
        fields = ItemsView(db).fields(raw.read, stage.id, slot.item) if stage.task.reads_items else {}
        return Thread(arm=arm, item=Item(slot.item, fields), replicate=slot.replicate, turns=turns)

    def _take(
        self, db: sqlite3.Connection, stage: Stage, asks: Iterable[Ask], items: Sequence[Item] = (), n: int = 0
    ) -> int:
        task = stage.task
        intake = Intake(db, self._folder, (stage.name, task.name, task.version), stage.arms)
        for _ in intake.items(items):
            pass
        taken = intake.asks(asks, self._encode, shared=stage.dedupe, follow=True, round_n=n)
        self._settled.update(taken.settled)
        return taken.slots

    # --- the next stage

    def _hand_over(
        self, db: sqlite3.Connection, raw: RawFiles, stage: Stage, source: Stage, attempt: int | None
    ) -> int:
        task = stage.task
        assert not isinstance(task, Rounds)
        if stage.when == "done":
            if not self._is_over(db, source):
                return 0
            attempt = None
        added = 0
        while landed := self._ready(db, stage, source, attempt):
            items = [self._handed_on(db, raw, source, slot) for slot in landed]
            asks = list(task.start(items, stage.seed))
            added += self._take(db, stage, asks, items)
            pass_on(db, stage.id, ((slot.slot, 1) for slot in landed))
        return added

    def _ready(self, db: sqlite3.Connection, stage: Stage, source: Stage, attempt: int | None) -> list[LandedSlot]:
        """Answers that may be handed on; failed ones never are, and stay unmarked in case they are asked again."""
        landed = landed_slots(
            db, source.id, stage.id, over=source.task.most_turns > 1, attempt=attempt, limit=1_000_000_000
        )
        return [slot for slot in landed if slot.outcome in stage.take][:_CHUNK]

    def _is_over(self, db: sqlite3.Connection, stage: Stage) -> bool:
        """Nothing of the stage is open, and nothing more can be added to it."""
        if stage.of is not None and not self._is_over(db, self._stages[stage.of]):
            return False
        if isinstance(stage.task, Rounds):
            last = last_round(db, stage.id)
            if last is None or last.asks > 0:
                return False
        return stage_is_quiet(db, stage.id)

    def _handed_on(self, db: sqlite3.Connection, raw: RawFiles, source: Stage, slot: LandedSlot) -> Item:
        """A landed row as an item: the original fields, the answer, and where it came from."""
        arm = self._arms[slot.arm]
        decode = self._decoders[arm.model.provider]
        turns = [_result(settled, raw, decode) for settled in settled_turns(db, slot)]
        fields = ItemsView(db).fields(raw.read, source.id, slot.item)
        thinking = arm.model.options.thinking
        return Item(
            handed_on_id(slot.item, arm.name, slot.replicate),
            {
                **fields,
                "item_id": slot.item,
                "arm": arm.name,
                "provider": arm.model.provider,
                "model": arm.model.name,
                "template": arm.template,
                "thinking": "default" if thinking is None else str(thinking),
                "replicate": slot.replicate,
                "turn": slot.turn,
                "answer": turns[-1].answer,
                "thoughts": turns[-1].thoughts,
                "answers": [turn.answer for turn in turns],
            },
        )

    # --- the next round

    def _rounds(
        self, db: sqlite3.Connection, raw: RawFiles, stage: Stage, task: Rounds, at: float, *, afresh: bool
    ) -> int:
        last = last_round(db, stage.id)
        if last is None:
            return self._open(db, raw, stage, task, 0, at)
        if last.asks == 0:
            # The task had nothing more to ask. When a pass begins, there may be more items than then.
            return self._open(db, raw, stage, task, last.n, at) if afresh else 0
        if not last.closed:
            late = unsettled_in_round(db, stage.id, last.n)
            overdue = stage.round_deadline is not None and at >= last.opened_at + stage.round_deadline
            if late and not overdue:
                return 0
            self._close(db, raw, stage, task, last.n, late, at)
        return self._open(db, raw, stage, task, last.n + 1, at)

    def _open(self, db: sqlite3.Connection, raw: RawFiles, stage: Stage, task: Rounds, n: int, at: float) -> int:
        rows = self._round_rows(db, raw, stage, task, n - 1)
        items = (Item(*one) for one in ItemsView(db).of_stage(raw.read, stage.id))
        asks = list(task.next_round(n, items, rows, round_seed(stage.seed, stage.name, n)))
        slots = self._take(db, stage, asks, n=n) if asks else 0
        known = last_round(db, stage.id)
        if known is not None and known.n == n and not asks:
            return 0  # as it was
        open_round(db, stage.id, n, len(asks), at)
        Attempts(db).note(
            at, "round", msgspec.json.encode({"stage": stage.name, "round": n, "asks": len(asks)}).decode()
        )
        return slots

    def _close(
        self,
        db: sqlite3.Connection,
        raw: RawFiles,
        stage: Stage,
        task: Rounds,
        n: int,
        late: Sequence[int],
        at: float,
    ) -> None:
        """What the round is judged by is fixed here: answers that come later are kept, but not used."""
        digest = hashlib.blake2b(digest_size=16)
        close_round(db, stage.id, n, "", late, at)
        for row in self._round_rows(db, raw, stage, task, n):
            digest.update(msgspec.json.encode(row, order="deterministic"))
        db.execute("UPDATE round_closed SET digest=? WHERE stage=? AND n=?", (digest.hexdigest(), stage.id, n))
        if late:
            data = {"stage": stage.name, "round": n, "left_out": len(late)}
            Attempts(db).note(at, "deadline", msgspec.json.encode(data).decode())

    def _round_rows(
        self, db: sqlite3.Connection, raw: RawFiles, stage: Stage, task: Rounds, upto: int
    ) -> Iterator[Row]:
        for slot in round_slots(db, stage.id, upto):
            arm = self._arms[slot.arm]
            decode = self._decoders[arm.model.provider]
            (result,) = (_result(settled, raw, decode) for settled in settled_turns(db, slot)[-1:])
            fields = ItemsView(db).fields(raw.read, stage.id, slot.item) if task.reads_items else {}
            thread = Thread(arm=arm, item=Item(slot.item, fields), replicate=slot.replicate, turns=(result,))
            common: dict[str, Any] = {
                "arm": arm.name,
                "item_id": slot.item,
                "replicate": slot.replicate,
                "status": result.outcome,
                "answer": result.answer,
            }
            for own in task.read(thread):
                yield common | own

    def next_deadline(self, db: sqlite3.Connection) -> float | None:
        """When the next round must close, where rounds have deadlines."""
        times = []
        for stage in self._stages.values():
            last = last_round(db, stage.id) if isinstance(stage.task, Rounds) else None
            if last is not None and not last.closed and last.asks and stage.round_deadline is not None:
                times.append(last.opened_at + stage.round_deadline)
        return min(times, default=None)


def handed_on_id(item: str, arm: str, replicate: int) -> str:
    """The id of a landed row as an item of a later stage."""
    return f"{item}@{arm}" + (f"#{replicate}" if replicate else "")


def round_seed(seed: int, stage: str, n: int) -> int:
    """A seed of its own for every round, the same on every resume."""
    digest = hashlib.blake2b(f"{seed}\x1f{stage}\x1f{n}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def _result(settled: Settled, raw: RawFiles, decode: Decode) -> Result:
    told = Result(outcome=settled.outcome, cause=settled.cause)
    return told if settled.place is None else raw.result(decode, told, *settled.place)
