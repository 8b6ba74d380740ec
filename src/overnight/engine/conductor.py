"""The night's work: packs what waits, sends what may go, and sees every attempt to its end."""

import asyncio
import sqlite3
from collections.abc import Iterable
from functools import partial

from overnight.core.attempt import Attempt, Intended
from overnight.core.errors import OvernightError, ProviderError
from overnight.core.pack import Room
from overnight.core.shard import Shard
from overnight.engine.courier import Courier
from overnight.engine.decisions import group
from overnight.engine.desk import Desk
from overnight.engine.outbox import line_overhead, sweep, write_input
from overnight.engine.patience import NotNow, Stopped
from overnight.engine.scene import Scene
from overnight.ledger.answers import queued
from overnight.ledger.identity import get_fact
from overnight.ledger.shards import (
    ArmPacking,
    abandon,
    attempts,
    intend,
    next_token,
    pack_queue,
    record,
    waiting_shards,
)

# When nothing happens by itself, look again this often whether a shard may go.
_LOOK_AGAIN = 60.0


class Conductor:
    def __init__(
        self,
        scene: Scene,
        *,
        max_requests: int | None = None,
        segments: int | None = None,
        send: bool = True,
        cancel: bool = False,
        until_sent: bool = False,
        deadline: float | None = None,
    ) -> None:
        self._scene = scene
        self._max_requests = max_requests
        self._segments = segments
        self._send = send
        self._cancel = cancel
        self._until_sent = until_sent
        self._deadline = deadline
        self._tasks: dict[asyncio.Task[Attempt], Attempt] = {}
        self._failure: OvernightError | None = None
        self._queued_since: float | None = None
        self._pack_at = 0.0
        self.timed_out = False
        self.interrupted = False

    async def conduct(self) -> None:
        """Until nothing is left that this pass can do. The first trouble that stops an account is raised at the end."""
        carried = [attempt for attempt in attempts(self._scene.db.reader()) if attempt.state != "closed"]
        sweep(self._scene.folder, {attempt.token for attempt in carried})
        for attempt in carried:
            self._scene.keep(attempt)
            if not self._cancel or await self._call_off(attempt):
                self._start(attempt)
        try:
            while True:
                await self._pack()
                await self._dispatch()
                if not await self._wait():
                    break
        finally:
            await self._drain()
        if self._failure is not None:
            raise self._failure

    async def _call_off(self, attempt: Attempt) -> bool:
        """Cancel a batch at the provider, or take back what never got there; True when there is more to collect."""
        scene, at = self._scene, self._scene.now()
        if attempt.state in ("intended", "uploaded"):
            scene.keep(await scene.db.commit("called off", lambda db: abandon(db, attempt, at, "called off")))
            return False
        if attempt.state == "running" and attempt.batch_id is not None:
            await scene.desk_of(attempt.arm).patiently(
                partial(scene.desk_of(attempt.arm).provider.cancel, attempt.batch_id)
            )
            scene.say(f"shard {attempt.shard}: asked the provider to cancel {attempt.batch_id}")
        return True

    # --- from the queue to the provider

    async def _pack(self) -> None:
        """Cut what waits in the queue into shards, when its time has come."""
        scene, now = self._scene, self._scene.now()
        tries = await asyncio.to_thread(lambda: _waiting_tries(scene.db.reader()))
        tries = {arm: fewest for arm, fewest in tries.items() if self._open(arm)}
        if not tries or not self._may_send():
            self._queued_since = None
            return
        self._queued_since = self._queued_since or now
        wait = group(tries, len(self._tasks), now - self._queued_since)
        self._pack_at = now + wait
        if wait and not scene.patience.once:  # a pass that does not wait has waited since the last one
            return
        await scene.db.commit("packed", lambda db: pack_queue(db, self._packing(db), now, tries.__contains__))
        self._queued_since = None

    def _open(self, arm: int) -> bool:
        """Whether anything may still be sent for this arm in this process."""
        return self._scene.desk_of(arm).halted is None and arm not in self._scene.halted_arms

    async def _waiting_shards(self) -> list[Shard]:
        carried = {attempt.shard for attempt in self._scene.carried.values()}
        shards = await asyncio.to_thread(lambda: waiting_shards(self._scene.db.reader(), carried))
        return [shard for shard in shards if self._open(shard.arm)]

    def _packing(self, db: sqlite3.Connection) -> dict[int, ArmPacking]:
        packing = {}
        for number, arm in self._scene.arms.items():
            desk = self._scene.desk_of(number)
            limits = desk.provider.limits(arm.model)
            bytes_cap, tokens_cap = (get_fact(db, f"cap_{unit}:{number}") for unit in ("bytes", "tokens"))
            room = Room(
                requests=min(limits.requests, self._max_requests or limits.requests),
                bytes=min(limits.bytes, int(bytes_cap or limits.bytes)),
                tokens=int(tokens_cap) if tokens_cap else None,
            )
            packing[number] = ArmPacking(
                room=room,
                overhead=line_overhead(desk.provider, arm.model),
                tokens_per_byte=desk.tokens_per_byte(arm.model.name),
                segments=self._segments,
            )
        return packing

    async def _dispatch(self) -> None:
        """Send every waiting shard that may go now, oldest first."""
        if not self._may_send():
            return
        for shard in await self._waiting_shards():
            desk = self._scene.desk_of(shard.arm)
            due = self._scene.not_before.get(shard.id, 0.0) <= self._scene.now()
            if due and self._open(shard.arm) and self._admitted(desk, shard):
                self._start(await self._intend(desk, shard))

    def _admitted(self, desk: Desk, shard: Shard) -> bool:
        model = self._scene.arms[shard.arm].model
        carried = ((other, self._scene.arms[other.arm].model.name) for other in self._scene.carried.values())
        own = ((other, name) for other, name in carried if self._scene.desk_of(other.arm) is desk)
        return desk.admits(model, self._estimate(desk, shard), own)

    def _estimate(self, desk: Desk, shard: Shard) -> int:
        return int(shard.bytes * desk.tokens_per_byte(self._scene.arms[shard.arm].model.name)) + 1

    async def _intend(self, desk: Desk, shard: Shard) -> Attempt:
        """The input file whole on disk, then the intent on record: only then may anything be sent."""
        scene, model = self._scene, self._scene.arms[shard.arm].model
        n, token = await asyncio.to_thread(lambda: next_token(scene.db.reader(), scene.run_id, shard.id))
        file = await asyncio.to_thread(write_input, scene.folder, scene.db, shard.id, token, desk.provider, model)
        estimate, at = self._estimate(desk, shard), scene.now()

        def fact(db: sqlite3.Connection) -> Attempt:
            intend(db, shard.id, n, token, desk.account, estimate, file.sha256, at)
            return record(db, attempts(db, token)[0], Intended(shard.rows, file.sha256), at)

        attempt = await scene.db.commit("intended", fact)
        scene.keep(attempt)
        return attempt

    def _may_send(self) -> bool:
        return self._send and not self._scene.patience.stopped and not self._scene.cancelled()

    # --- attempts under way

    def _start(self, attempt: Attempt) -> None:
        if self._scene.desk_of(attempt.arm).halted is None and attempt.state != "stuck":
            courier = Courier(self._scene, attempt, until_sent=self._until_sent)
            self._tasks[asyncio.create_task(courier.carry())] = attempt

    async def _wait(self) -> bool:
        """Wait for something to happen; False when nothing more can."""
        if self._scene.patience.stopped:
            self.interrupted = True
            return False
        if self._deadline is not None and self._scene.now() >= self._deadline:
            self.timed_out = True
            return False
        if self._tasks:
            await self._first_landing()
            return True
        return await self._wait_for_room()

    async def _first_landing(self) -> None:
        """Any attempt's end, or a while: time may open what a limit had closed."""
        horizon = self._scene.now() + _LOOK_AGAIN
        wakes = [self._pack_at] if self._queued_since is not None else []
        wakes += [at for at in self._scene.not_before.values() if at > self._scene.now()]
        if self._deadline is not None:
            wakes.append(self._deadline)
        timer = asyncio.create_task(self._sleep_until(min([horizon, *wakes])))
        done, _ = await asyncio.wait({*self._tasks, timer}, return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        self._settle(task for task in list(self._tasks) if task in done)

    async def _sleep_until(self, at: float) -> None:
        await self._scene.patience.clock.sleep(at - self._scene.now())

    def _settle(self, tasks: Iterable["asyncio.Task[Attempt]"]) -> None:
        for task in tasks:
            attempt = self._tasks.pop(task)
            error = task.exception()
            if error is None or isinstance(error, NotNow | Stopped):
                continue
            if isinstance(error, ProviderError):
                self._scene.desk_of(attempt.arm).halt(error)
                self._failure = self._failure or error
            else:
                self._failure = error if isinstance(error, OvernightError) else None
                raise error

    async def _wait_for_room(self) -> bool:
        """Nothing is under way here. Shards may still wait for a limit, a pause, or rows for a retry."""
        scene = self._scene
        if not self._may_send():
            return False
        waiting = await self._waiting_shards()
        if not waiting and self._queued_since is None:
            return False
        times = [scene.not_before.get(shard.id, scene.now() + _LOOK_AGAIN) for shard in waiting]
        if self._queued_since is not None:
            times.append(self._pack_at)
        if self._deadline is not None:
            times.append(self._deadline)
        try:
            await scene.patience.until(min(times))
        except (NotNow, Stopped):
            return False
        return True

    async def _drain(self) -> None:
        """Let each attempt finish the step it is in; none begins another wait."""
        self._scene.patience.stop()
        while self._tasks:
            done, _ = await asyncio.wait(set(self._tasks), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                attempt = self._tasks.pop(task)
                error = task.exception()
                if error is not None and not isinstance(error, NotNow | Stopped):
                    self._scene.say(f"shard {attempt.shard}: {error}")
                    self._failure = self._failure or (error if isinstance(error, OvernightError) else None)
                    if not isinstance(error, OvernightError):
                        raise error


def _waiting_tries(db: sqlite3.Connection) -> dict[int, int]:
    """Arms with rows in the queue, and the fewest tries that any of them has behind it."""
    if not queued(db):
        return {}
    return dict(db.execute("SELECT ask.arm, min(tries) FROM queue JOIN ask ON ask.id=queue.ask GROUP BY ask.arm"))
