"""When the provider will not take a shard: cut it, wait with it, or tell its rows why they failed."""

import math
import sqlite3
from collections import Counter

from overnight.core.attempt import Attempt, Closed
from overnight.core.errors import OutOfCredit, Unauthorized
from overnight.core.result import Cause, Result, failed
from overnight.engine.decisions import BREAKING_REFUSALS, Learned, backoff, learn_limit, must_be_cut, row_fate
from overnight.engine.scene import Scene
from overnight.ledger.answers import Fate, Landed, rows_of, take_in
from overnight.ledger.identity import get_fact, set_fact
from overnight.ledger.shards import finish_shard, record, requeue_shard
from overnight.providers._contract import Refusal

# Files that fail validation on one line after another: after so many, somebody has to look at the study.
_BAD_LINES = 5

_CAUSES: dict[str, Cause] = {
    "unknown_model": "unknown_model",
    "too_large": "too_large",
    "trouble": "server_error",
}


class Rejections:
    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    async def refuse(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """Close the attempt and decide over its rows, in one transaction."""
        scene = self._scene
        if attempt.refused is None:
            scene.say(f"shard {attempt.shard}: {refusal.message}")
        in_queue = self.tokens_in_queue(attempt) if attempt.refused is None else attempt.refused.in_queue
        if refusal.kind == "token_limit":
            await self._learn(attempt, refusal, in_queue)
        if not scene.can_ask_again:
            # Nothing of it is sent anew, for whatever reason it was refused.
            scene.keep(closed := await self._fail_rows(attempt, refusal, how))
            return closed
        if must_be_cut(refusal, attempt.estimate, attempt.rows, in_queue, attempt.n):
            closed = await self._cut(attempt, refusal, how)
        elif refusal.kind in ("token_limit", "file_not_ready", *BREAKING_REFUSALS):
            closed = await self._keep_for_later(attempt, refusal, how)
        elif refusal.line is not None:
            closed = await self._drop_line(attempt, refusal, how)
        else:
            closed = await self._fail_rows(attempt, refusal, how)
        scene.keep(closed)
        if refusal.kind in BREAKING_REFUSALS:
            raise (OutOfCredit if refusal.kind == "no_credit" else Unauthorized)(refusal.message)
        return closed

    def tokens_in_queue(self, attempt: Attempt) -> int:
        """What this model has waiting at the account besides this attempt."""
        model = self._scene.arms[attempt.arm].model.name
        others = (other for other in self._scene.carried.values() if other.id != attempt.id and other.holds_queue_room)
        return sum(other.estimate for other in others if self._scene.arms[other.arm].model.name == model)

    async def _learn(self, attempt: Attempt, refusal: Refusal, in_queue: int) -> None:
        model = self._scene.arms[attempt.arm].model.name
        limit = learn_limit(refusal, in_queue, attempt.estimate)
        if limit is not None:
            desk = self._scene.desk_of(attempt.arm)
            desk.learned[model] = Learned(token_limit=limit)
            self._scene.memory.remember_limit(desk.provider, model, limit)
            self._scene.say(f"{model}: the provider's queue holds about {limit:,} tokens; shards wait for room")

    async def _cut(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """Half the size from now on for this arm; the rows are packed anew."""
        at, scene = self._scene.now(), self._scene
        if refusal.kind == "too_large":
            cap, value = "bytes", max(1, attempt.bytes // 2)
        else:
            limit = refusal.token_limit or attempt.estimate
            cap, value = "tokens", max(1, min(limit, attempt.estimate // 2))

        def fact(db: sqlite3.Connection) -> Attempt:
            set_fact(db, f"cap_{cap}:{attempt.arm}", str(value))
            closed = record(db, attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            requeue_shard(db, attempt.shard, at)
            return closed

        scene.say(f"shard {attempt.shard}: cut into smaller ones")
        return await scene.db.commit("cut", fact)

    async def _keep_for_later(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        at, scene = self._scene.now(), self._scene
        if refusal.kind in BREAKING_REFUSALS:
            scene.not_before[attempt.shard] = math.inf  # not in this process: somebody has to mend the account first
        elif refusal.kind == "file_not_ready" or not self.tokens_in_queue(attempt):
            scene.not_before[attempt.shard] = at + backoff(attempt.n, refusal.retry_after)
        event = Closed(how, refusal.message)  # type: ignore[arg-type]
        return await scene.db.commit("kept", lambda db: record(db, attempt, event, at))

    async def _drop_line(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        """One line spoiled the file: it failed, the others are sent without it."""
        at, scene, line = self._scene.now(), self._scene, (refusal.line or 1) - 1
        counter = f"bad_lines:{attempt.arm}"

        def fact(db: sqlite3.Connection) -> tuple[Attempt, int]:
            rows = rows_of(db, attempt.shard)
            if 0 <= line < len(rows):
                one = Landed(line=line, result=failed(_CAUSES.get(refusal.kind, "invalid_request"), refusal.message))
                take_in(db, attempt.id, rows, [(one, Fate(final=True, tries=rows[line].tries + 1))], at)
            count = int(get_fact(db, counter) or "0") + 1
            set_fact(db, counter, str(count))
            closed = record(db, attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            requeue_shard(db, attempt.shard, at)
            return closed, count

        closed, count = await scene.db.commit("line dropped", fact)
        scene.tally.landed(Counter(failed=1), 0, 0)
        if count % _BAD_LINES == 0:
            scene.halt_arm(attempt.arm, f"{count} lines in a row were refused ({refusal.message}); look at the study")
        return closed

    def _fate(self, result: Result, tries: int) -> Fate:
        return row_fate(result, tries) if self._scene.can_ask_again else Fate(final=True, tries=tries + 1)

    async def _fail_rows(self, attempt: Attempt, refusal: Refusal, how: str) -> Attempt:
        at, scene = self._scene.now(), self._scene
        result = failed(_CAUSES.get(refusal.kind, "invalid_request"), refusal.message)

        def fact(db: sqlite3.Connection) -> tuple[Attempt, int]:
            rows = rows_of(db, attempt.shard)
            landed = [
                (Landed(line=line, result=result), self._fate(result, row.tries)) for line, row in enumerate(rows)
            ]
            fresh = take_in(db, attempt.id, rows, landed, at)
            closed = record(db, attempt, Closed(how, refusal.message), at)  # type: ignore[arg-type]
            finish_shard(db, attempt.shard, at)
            return closed, sum(fate.final for _, fate in fresh)

        closed, count = await scene.db.commit("rows failed", fact)
        scene.tally.landed(Counter(failed=count), 0, 0)
        return closed
