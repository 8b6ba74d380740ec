"""Carries one live slice from its intent to its end: each row a call, each answer durable before it counts.

Answers of a moment are appended to the slice's file, flushed once, and committed together with their fates, their
bill and the lines that may be asked next. So after a crash it is known what was answered, and what may have been asked.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from typing import NamedTuple

import msgspec

from overnight.core.attempt import Attempt, Ending
from overnight.core.result import Result, failed
from overnight.core.shard import custom_id, line_of
from overnight.engine.batch.our_batches import may_be_called
from overnight.engine.context import RunContext
from overnight.engine.live.model_queue import CallQueue
from overnight.engine.live.replies import INTERRUPTED
from overnight.engine.settlement import Fresh, Settlement
from overnight.engine.waiting import NotNow
from overnight.ledger.landed import Landed, Places
from overnight.ledger.raw import RawFiles, ReadAhead, digest_of
from overnight.ledger.shards import Body
from overnight.ledger.transaction import Transaction
from overnight.store.contract import Appender, Kept

# Answers that come within so many real seconds share a commit.
_LINGER = 0.01
# At least so many lines are announced ahead of the calls; more when calls begin faster than commits follow.
_LEAST_AHEAD = 4


class _Answer(NamedTuple):
    line: int
    raw: bytes | None
    result: Result
    again: bool


class LiveSlice:
    def __init__(self, context: RunContext, attempt: Attempt) -> None:
        self._context = context
        self._attempt = attempt
        self._model_queue: CallQueue = context.model_queue_of(attempt.arm, context.account_for(attempt))
        self._settlement: Settlement
        self._file: Appender
        self._bodies: list[Body] = []
        self._kept: ReadAhead
        self._stack = ExitStack()
        self._news = asyncio.Event()
        # What takes its time to close, where files are across a network.
        self._closing = AsyncExitStack()
        self._unsaved: list[_Answer] = []
        self._begun = 0
        self._begun_before = 0
        self._announced = 0
        self._landed = 0
        # Rows that a batch answered after all, before their call began.
        self._skipped = 0
        self._saved = 0
        self.model = context.arms[attempt.arm].model

    async def carry(self) -> Attempt:
        """Until every row was asked, or nothing more may be asked."""
        self._settlement = await Settlement.of(self._context, self._attempt, overhead=0)
        async with self._settlement.holding_rows():
            return await self._carry()

    async def _carry(self) -> Attempt:
        if self._attempt.state == "calling":
            await self._recover()
            return self._attempt
        if not await may_be_called(self._context, self._attempt.arm):
            raise NotNow
        async with self._context.account_for(self._attempt).turns.of(self.model.name), self._closing:
            with self._stack:
                await self._begin()
                await self._call_rows()
                await self._close()
        self._model_queue.check()
        if self._model_queue.failure is not None:
            raise self._model_queue.failure
        return self._attempt

    async def _call_rows(self) -> None:
        self._model_queue.join(self)
        try:
            while not self._over:
                await self._news.wait()
                await asyncio.sleep(_LINGER)
                self._news.clear()
                await self._commit()
        finally:
            self._model_queue.leave(self)

    @property
    def _over(self) -> bool:
        waiting = self._model_queue.waiting_calls(self)
        under_way = self._begun - self._skipped - self._landed - waiting
        if under_way or self._saved < self._landed:
            return False
        return self._model_queue.stopped or (self._begun == len(self._bodies) and not waiting)

    # --- what the model_queue asks

    def next_line(self) -> int | None:
        while self._begun < self._announced:
            self._begun += 1
            if self._settlement.rows.asks[self._begun - 1] not in self._context.answered_elsewhere:
                return self._begun - 1
            self._skipped += 1
        if self._begun < len(self._bodies):
            self._news.set()
        return None

    def body(self, line: int) -> bytes:
        return self._kept.read(*self._bodies[line][2:])

    def size(self, line: int) -> int:
        return self._bodies[line].length

    def custom_id(self, line: int) -> str:
        return custom_id(self._attempt.token, line)

    def landed(self, line: int, raw: bytes | None, result: Result, *, again: bool = False) -> None:
        self._landed += 1
        self._unsaved.append(_Answer(line, raw, result, again))
        self._news.set()

    def wake(self) -> None:
        self._news.set()

    # --- into the ledger

    @property
    def _name(self) -> str:
        return f"raw/{self._attempt.token}-live.jsonl"

    async def _begin(self) -> None:
        context, attempt, at = self._context, self._attempt, self._context.now()
        self._bodies = await asyncio.to_thread(lambda: list(context.ledger.view().shards.bodies(attempt.shard)))
        names = await context.ledger.read(lambda view: view.files.paths())
        self._kept = ReadAhead(self._stack.enter_context(RawFiles(context.files, names)))
        await asyncio.to_thread(self._check_bodies)
        self._file = await asyncio.to_thread(context.files.append, self._name, anew=True)
        self._closing.push_async_callback(asyncio.to_thread, self._file.close)
        first = self._ahead()
        self._attempt = await context.ledger.commit(
            "calling", lambda tx: tx.attempts.begin_calls(attempt, self._name, first, at)
        )
        await context.mark_sent(attempt, "live")
        self._announced = first
        context.keep(self._attempt)

    def _check_bodies(self) -> None:
        """None is called if one cannot be: what is damaged shows before anything is asked."""
        for body in self._bodies:
            self._kept.read(*body[2:])

    def _ahead(self) -> int:
        """How many lines are announced: enough that no call waits for a commit, and not many more."""
        wanted = max(_LEAST_AHEAD, self._model_queue.size, 2 * (self._begun - self._begun_before))
        return min(len(self._bodies), max(self._announced, self._begun + wanted))

    async def _commit(self) -> None:
        """Answers on disk, then on record, with what they cost and what is asked next: one transaction."""
        context, attempt, at = self._context, self._attempt, self._context.now()
        answers, self._unsaved = self._unsaved, []
        ahead = self._announced if self._model_queue.stopped else self._ahead()
        if not answers and ahead == self._announced:
            return
        self._begun_before = self._begun

        def fact(tx: Transaction) -> Fresh:
            landed = self._written(answers)
            fresh = self._settlement.settle(tx, landed, at)
            tx.answers.set_read_offset(attempt.id, attempt.files[0], self._file.size)
            tx.attempts.announce(attempt.id, ahead)
            return fresh

        fresh = await context.ledger.commit("calls", fact)
        self._announced = ahead
        self._saved += len(answers)
        self._settlement.count(fresh)
        self._tell(fresh)
        if context.cancelled():
            self._model_queue.stop()
        self._model_queue.pump()

    def _written(self, answers: list[_Answer]) -> Landed:
        """Append the raw lines and flush; a row that has none is only in the ledger."""
        file, begin = self._attempt.files[0], self._file.size
        places = Places.nowhere(0)
        lines: list[bytes] = []
        for one in answers:
            if one.raw is None:
                places.add_nowhere()
                continue
            lines.append(one.raw + b"\n")
            size = len(lines[-1])
            places.add(file, begin, size, digest_of(lines[-1]))
            begin += size
        if lines:
            self._file.add(b"".join(lines))
        told, again = [one.line for one in answers], {one.line for one in answers if one.again}
        return self._settlement.landed(told, [one.result for one in answers], places, again=again)

    def _tell(self, fresh: Fresh) -> None:
        failures = fresh.rows.outcome.count("failed")
        self._attempt = msgspec.structs.replace(
            self._attempt,
            completed=self._attempt.completed + len(fresh.rows) - failures,
            failed=self._attempt.failed + failures,
        )
        self._context.keep(self._attempt)
        if len(fresh.rows):
            self._context.came_in(self._attempt.id)

    async def _close(self) -> None:
        context, attempt, at = self._context, self._attempt, self._context.now()
        file = Kept(self._file.size, self._file.sha256)
        how: Ending = "answered" if self._landed + self._skipped == len(self._bodies) else "stopped"
        self._model_queue.ahead -= len(self._bodies) - self._begun
        self._attempt = await context.ledger.commit(
            "closed", lambda tx: tx.attempts.close_calls(attempt, file, how, at)
        )
        context.keep(self._attempt)
        self._settlement.learn(self._attempt)

    # --- after a crash

    async def _recover(self) -> None:
        """Take in whole lines past the last commit, count what was under way, and give back the rest."""
        context, attempt, at = self._context, self._attempt, self._context.now()
        found, file = await asyncio.to_thread(self._left_behind)

        def fact(tx: Transaction) -> tuple[Attempt, Fresh, int]:
            came = self._settlement.settle(tx, found, at)
            tx.answers.set_read_offset(attempt.id, attempt.files[0], file.size)
            asked = tx.attempts.announced_lines(attempt.id)
            gone = self._interrupted(tx.answers.unanswered_lines(attempt.id, asked))
            lost = self._settlement.settle(tx, gone, at)
            closed = tx.attempts.close_calls(attempt, file, "interrupted", at)
            came.rows.add(lost.rows)
            return closed, came._replace(counts=None, presumed=came.presumed + lost.presumed), len(lost.rows)

        self._attempt, fresh, lost = await context.ledger.commit("recovered", fact)
        self._settlement.count(fresh)
        context.keep(self._attempt)
        if lost:
            calls = "1 call was" if lost == 1 else f"up to {lost:,} calls were"
            context.say(f"shard {attempt.shard}: {calls} under way when the process ended; asked again")

    def _left_behind(self) -> tuple[Landed, Kept]:
        files, end = self._context.files, self._context.ledger.view().attempts.answers_end(self._attempt)
        kept = files.mend(self._name, end)
        file, places = self._attempt.files[0], Places.nowhere(0)
        lines: list[int] = []
        results: list[Result] = []
        decode = self._context.account_of(self._attempt.arm).provider.format.decode
        with files.stream(self._name, end) as tail:
            for raw in tail:
                decoded = decode(raw.strip())
                line = line_of(self._attempt.token, decoded.custom_id or "")
                if line is not None and decoded.result is not None:
                    lines.append(line)
                    results.append(decoded.result)
                    places.add(file, end, len(raw), digest_of(raw))
                end += len(raw)
        return self._settlement.landed(lines, results, places), kept

    def _interrupted(self, lines: Sequence[int]) -> Landed:
        """Asked, for all we know, and not the rows' fault: it costs no try."""
        return self._settlement.landed(lines, [failed("lost", INTERRUPTED)] * len(lines), again=frozenset(lines))
