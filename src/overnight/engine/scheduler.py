"""The night's work: packs what waits, sends what may go, and sees every attempt to its end."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

from overnight.core.attempt import Attempt
from overnight.core.errors import FileDamaged, OutOfCredit, OvernightError, ProviderError, Unavailable
from overnight.core.shard import Shard
from overnight.engine.batch.attempt import BatchAttempt
from overnight.engine.batch.outbox import input_file, sweep, write_input
from overnight.engine.context import RunContext
from overnight.engine.decisions import WaitingRows, group
from overnight.engine.flow.flow import Flow
from overnight.engine.live.live_slice import LiveSlice
from overnight.engine.live.replies import live_retry_delay
from overnight.engine.live.spill import cut_at
from overnight.engine.packing import Packing
from overnight.engine.pools import goes_on, hand_over, has_others, left_there, seat_of
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.waiting import NotNow, Stopped
from overnight.engine.work import Held, Work
from overnight.ledger.transaction import Transaction

# When nothing happens by itself, look again this often whether a shard may go.
_LOOK_AGAIN = 60.0
# The same for rows that the budget keeps back while others are called live: those land within seconds.
_LOOK_AGAIN_LIVE = 5.0
# The deadline whose cut has been made, as the ledger keeps it.
SPILLED = "spilled"
# What stirs the scheduler comes in crowds: so many real seconds of it are looked at together.
_CROWD = 0.05


class Scheduler:
    def __init__(self, context: RunContext, flow: Flow, work: Work, deadline: float) -> None:
        self._context = context
        self._flow = flow
        self._work = work
        self._packing = Packing(context, work)
        self._deadline = deadline
        self._tasks: dict[asyncio.Task[Attempt], Attempt] = {}
        self._failure: OvernightError | None = None
        self._damage: FileDamaged | None = None
        self._begun_again: set[int] = set()
        # What nobody expected: raised when all others have finished the step they are in.
        self._fault: BaseException | None = None
        self._queued_since: dict[int, float] = {}
        self._pack_at = 0.0
        self._held = Held()
        self._held_arms: set[int] = set()
        # Whether anything came in since the last look at what follows from it.
        self._landed = False
        self._had_open_rows = context.tally.pending > 0
        self.timed_out = False
        self.interrupted = False

    @property
    def held(self) -> Held:
        """What was not sent because of the budget, when there was nothing else left to do."""
        return self._held if self._held_arms and not self._tasks else Held()

    async def conduct(self) -> None:
        """Until nothing is left that this pass can do. The first trouble that stops an account is raised at the end."""
        carried = [one for one in self._context.ledger.view().attempts.everything() if one.state != "closed"]
        self._leave_alone(carried)
        await asyncio.to_thread(sweep, self._context.files, carried)
        if self._flow.needed:
            await self._context.ledger.commit("followers", self._flow.begin)
        for attempt in carried:
            self._context.keep(attempt)
            if not self._work.cancel or await self._call_off(attempt):
                self._start(attempt)
        try:
            await self._advance(afresh=True)
            while True:
                self._context.ledger.refuse_replaced()
                await self._cut_if_due()
                await self._realign()
                await hand_over(self._context, {attempt.id for attempt in self._tasks.values()})
                await self._pack()
                await self._dispatch()
                if not await self._wait():
                    break
        finally:
            await self._drain()
        if (trouble := self._fault or self._failure or left_there(self._context)) is not None:
            raise trouble

    def _leave_alone(self, carried: list[Attempt]) -> None:
        """Arms whose batch somebody has cancelled: rows that wait there are asked when the user says `run`."""
        view = self._context.ledger.view()
        shards = view.shards.waiting({attempt.shard for attempt in carried})
        waiting = {*view.shards.queued(), *(shard.arm for shard in shards)}
        for arm, why in view.facts.called_off().items():
            if arm in waiting and not self._context.cancelled():
                self._context.halt_arm(arm, why)

    async def _call_off(self, attempt: Attempt) -> bool:
        """Cancel a batch at the provider, or take back what never got there; True when there is more to collect."""
        context, at = self._context, self._context.now()
        if attempt.state in ("intended", "uploaded"):
            context.keep(
                await context.ledger.commit("called off", lambda tx: tx.attempts.abandon(attempt, at, "called off"))
            )
            await asyncio.to_thread(input_file(context.files, attempt.token).remove)
            return False
        if attempt.state == "running" and attempt.batch_id is not None:
            account = context.account_for(attempt)
            asked = account.patiently(partial(account.batches.cancel, attempt.batch_id))
            if (told := await context.waiting.before(self._deadline, asked)) is None:
                raise Unavailable(f"{attempt.batch_id} was not cancelled in time: {account.trouble or 'no answer'}")
            told.result()
            context.say(f"shard {attempt.shard}: asked the provider to cancel {attempt.batch_id}")
        return True

    @property
    def _cut_at(self) -> float | None:
        """When what batches have not finished is to be asked live; None when they are left to themselves."""
        work = self._work
        if work.mode != "auto" or work.deadline is None or self._context.spilled:
            return None
        return cut_at(work.deadline, work.spill, self._context.tally.pending)

    async def _cut_if_due(self) -> None:
        """Couriers see the cut and cancel what they carry; the decision is kept, whatever happens next."""
        context, at = self._context, self._cut_at
        if at is None or context.now() < at or not self._may_send():
            return
        kept = str(self._work.deadline)
        await context.ledger.commit("cut", lambda tx: tx.facts.keep(name=SPILLED, value=kept))
        context.spilled = True
        text = f"the deadline is near: what batches do not finish of {context.tally.pending:,} open rows is asked live"
        context.say(text)
        await context.note("cut", text)

    async def _realign(self) -> None:
        """Shards that were cut for the other way of asking are cut anew: the mode has changed, or time is short."""
        context, at = self._context, self._context.now()
        wrong = [shard.id for shard in await self._waiting_shards() if not self._packing.fits(shard)]
        if wrong:
            await context.ledger.commit("cut anew", lambda tx: tx.shards.requeue_all(wrong, at))

    async def _advance(self, *, afresh: bool = False) -> None:
        """Ask what follows from answers that have landed, a step at a time: others may write in between."""
        while self._flow.needed and self._may_send():
            step = partial(self._flow.advance, at=self._context.now(), afresh=afresh)
            try:
                grown = await self._context.ledger.commit("flow", step)
            except FileDamaged as error:
                self._send_no_more(error)
                return
            if grown.addresses:
                self._context.tally.grew(grown.addresses, grown.settled)
            if not grown.more:
                return
            afresh = False

    async def _pass_on(self) -> None:
        news, landed, self._landed = self._context.take_news(), self._landed, False
        if news or landed or self._round_is_due():
            await self._advance()

    def _round_is_due(self) -> bool:
        due = self._flow.next_deadline(self._context.ledger.view()) if self._flow.needed else None
        return due is not None and due <= self._context.now()

    # --- from the queue to the provider

    async def _pack(self) -> None:
        """Cut what waits in the queue into shards, arm by arm, when its time has come and the budget allows."""
        context, now = self._context, self._context.now()
        found = await context.ledger.read(lambda view: view.shards.queued()) if self._may_send() else {}
        waiting = {arm: WaitingRows(*rows) for arm, rows in found.items() if self._open(arm)}
        self._queued_since = {arm: self._queued_since.get(arm, now) for arm in waiting}
        few_live = self._few(waiting)
        waits = {arm: self._wait_of(arm, rows, now) for arm, rows in waiting.items()}
        # A pass that does not wait has waited since the last one.
        due = {arm for arm, wait in waits.items() if wait <= 0 or context.waiting.once}
        self._pack_at = now + min((wait for arm, wait in waits.items() if arm not in due), default=0.0)
        if not due:
            return
        purse = await context.ledger.commit("packed", lambda tx: self._packing.cut(tx, due, now, few_live))
        self._held = Held.of(purse)
        self._held_arms = due & set(await context.ledger.read(lambda view: view.shards.queued()))

    def _few(self, waiting: dict[int, WaitingRows]) -> set[int]:
        """Take out of `waiting` what is too little for a batch, except what is asked live: those arms are returned."""
        under_way = bool(self._context.carried)
        fates = {arm: self._packing.few(arm, rows.rows, under_way=under_way) for arm, rows in waiting.items()}
        for arm, fate in fates.items():
            if fate == "refuse":
                self._context.halt_arm(arm, self._packing.few_text(arm, waiting[arm].rows))
            if fate in ("refuse", "wait"):
                del waiting[arm]
        return {arm for arm, fate in fates.items() if fate == "live"}

    def _wait_of(self, arm: int, rows: WaitingRows, now: float) -> float:
        if arm in self._held_arms and self._tasks:
            # What is under way may cost less than was set aside for it.
            return _LOOK_AGAIN_LIVE if self._packing.live(arm) else _LOOK_AGAIN
        if self._packing.live(arm):
            return max(0.0, live_retry_delay(rows.tries) - (now - self._queued_since[arm]))
        usual = max((attempt.rows for attempt in self._tasks.values()), default=0)
        gather = self._packing.stage(arm).gather
        return group(rows, len(self._tasks), usual, now - self._queued_since[arm], gather)

    def _open(self, arm: int) -> bool:
        """Whether anything may still be sent for this arm in this process."""
        usable = any(account.halted is None for account in self._context.accounts[arm])
        return usable and arm not in self._context.halted_arms

    async def _waiting_shards(self) -> list[Shard]:
        carried = {attempt.shard for attempt in self._context.carried.values()}
        shards = await self._context.ledger.read(lambda view: view.shards.waiting(carried))
        return [shard for shard in shards if self._open(shard.arm)]

    async def _dispatch(self) -> None:
        """Send every waiting shard that may go now, oldest first."""
        if not self._may_send():
            return
        for shard in await self._waiting_shards():
            due = self._context.not_before.get(shard.id, 0.0) <= self._context.now()
            if due and self._open(shard.arm) and (account := seat_of(self._context, shard, self._admitted)):
                try:
                    self._start(await (self._intend_live if shard.live else self._intend)(account, shard))
                except FileDamaged as error:
                    self._send_no_more(error)
                    return

    def _admitted(self, account: ProviderAccount, shard: Shard) -> bool:
        if shard.live:
            return not self._work.until_sent and self._context.model_queue_of(shard.arm, account).hungry
        model = self._context.arms[shard.arm].model
        carried = ((other, self._context.arms[other.arm].model.name) for other in self._context.carried.values())
        own = ((other, name) for other, name in carried if self._context.account_for(other) is account)
        return account.admits(model, self._estimate(account, shard), own)

    def _estimate(self, account: ProviderAccount, shard: Shard) -> int:
        return int(shard.bytes * account.tokens_per_byte(self._context.arms[shard.arm].model.name)) + 1

    async def _intend(self, account: ProviderAccount, shard: Shard) -> Attempt:
        """The input file whole on disk, then the intent on record: only then may anything be sent."""
        context, model = self._context, self._context.arms[shard.arm].model
        n, token = await context.ledger.read(lambda view: view.attempts.next_token(context.run_id, shard.id))
        sha256 = await asyncio.to_thread(
            write_input, context.files, context.ledger, shard.id, token, account.batch_format, model
        )
        estimate, at = self._estimate(account, shard), context.now()

        def fact(tx: Transaction) -> Attempt:
            return tx.attempts.intend(shard, n, token, account.number, estimate=estimate, sha256=sha256, at=at)

        attempt = await context.ledger.commit("intended", fact)
        context.keep(attempt)
        return attempt

    async def _intend_live(self, account: ProviderAccount, shard: Shard) -> Attempt:
        """The bodies are on disk already; the intent goes on record before any of them is called."""
        context, at = self._context, self._context.now()
        n, token = await context.ledger.read(lambda view: view.attempts.next_token(context.run_id, shard.id))
        estimate = self._estimate(account, shard)

        def fact(tx: Transaction) -> Attempt:
            return tx.attempts.intend(shard, n, token, account.number, estimate=estimate, sha256="", at=at)

        attempt = await context.ledger.commit("intended", fact)
        context.model_queue_of(shard.arm, account).ahead += shard.rows
        context.keep(attempt)
        return attempt

    def _may_send(self) -> bool:
        sends = self._work.send and self._work.can_ask_again
        return sends and self._damage is None and not self._context.waiting.stopped and not self._context.cancelled()

    def _send_no_more(self, error: FileDamaged) -> None:
        """What cannot be read back is not sent, and nothing follows from it. Batches under way are still collected."""
        self._context.say(f"{error}; nothing more is sent")
        self._damage = error
        self._failure = self._failure or error

    # --- attempts under way

    def _start(self, attempt: Attempt) -> None:
        usable = self._context.account_for(attempt).halted is None or goes_on(self._context, attempt)
        if usable and attempt.state != "stuck":
            wants_calls = partial(self._packing.live, attempt.arm)
            carrier = (
                LiveSlice(self._context, attempt)
                if attempt.live
                else BatchAttempt(self._context, attempt, wants_calls, until_sent=self._work.until_sent)
            )
            self._tasks[asyncio.create_task(carrier.carry())] = attempt

    async def _wait(self) -> bool:
        """Wait for something to happen; False when nothing more can."""
        if self._context.waiting.stopped:
            self.interrupted = True
            return False
        if self._context.now() >= self._deadline:
            self.timed_out = True
            return False
        if self._tasks and not self._only_overtaken():
            await self._first_landing()
            await self._pass_on()
            return True
        return await self._wait_for_room()

    def _only_overtaken(self) -> bool:
        """Nothing is open but batches whose rows have been answered live: `resume` sees them to their end."""
        carried = [self._context.carried.get(attempt.id, attempt) for attempt in self._tasks.values()]
        done = self._had_open_rows and self._context.tally.pending == 0
        return done and all(attempt.overtaken for attempt in carried)

    async def _first_landing(self) -> None:
        """Any attempt's end, live answers, or a while: time may open what a limit had closed."""
        horizon = self._context.now() + _LOOK_AGAIN
        wakes = [self._pack_at] if self._pack_at > self._context.now() else []
        wakes += [at for at in self._context.not_before.values() if at > self._context.now()]
        round_ends = self._flow.next_deadline(self._context.ledger.view()) if self._flow.needed else None
        wakes += [self._deadline, round_ends or self._deadline, self._cut_at or self._deadline]
        timer = asyncio.create_task(self._context.waiting.clock.sleep(min([horizon, *wakes]) - self._context.now()))
        stirred = asyncio.create_task(self._stirred())
        done, _ = await asyncio.wait({*self._tasks, timer, stirred}, return_when=asyncio.FIRST_COMPLETED)
        timer.cancel()
        stirred.cancel()
        self._settle(task for task in list(self._tasks) if task in done)

    async def _stirred(self) -> None:
        await self._context.stirred.wait()
        await asyncio.sleep(_CROWD)
        self._context.stirred.clear()

    def _settle(self, tasks: Iterable["asyncio.Task[Attempt]"]) -> None:
        for task in tasks:
            attempt = self._tasks.pop(task)
            error = task.exception()
            if error is None:
                self._landed = True
                continue
            if isinstance(error, NotNow | Stopped | FileDamaged):
                self._context.left.add(attempt.id)
                if isinstance(error, FileDamaged):
                    self._send_no_more(error)
            elif isinstance(error, ProviderError):
                self._halt(self._context.account_for(attempt), error)
                if len(self._context.accounts[attempt.arm]) > 1 and attempt.id not in self._begun_again:
                    self._begun_again.add(attempt.id)
                    self._start(self._context.carried.get(attempt.id, attempt))
            else:
                self._fault = self._fault or error
                raise error

    def _halt(self, account: ProviderAccount, error: ProviderError) -> None:
        """Stop this account at once, and say why; others go on, and those of its pool with its rows."""
        spared = has_others(self._context, account)
        if account.halted is None:
            rest = ", and its rows go to the other accounts" if spared else ""
            self._context.say(f"{error}; nothing more is sent there{rest}")
        account.halt(error, watch=spared and isinstance(error, OutOfCredit))
        self._context.wake_model_queues()
        if not spared:
            self._failure = self._failure or error

    async def _wait_for_room(self) -> bool:
        """Nothing is under way here. Shards may still wait for a limit, a pause, or rows for a retry."""
        context = self._context
        if not self._may_send():
            return False
        waiting = await self._waiting_shards()
        queued = set(self._queued_since) - self._held_arms
        if self._work.until_sent or (not waiting and not queued):
            return False
        times = [context.not_before.get(shard.id, context.now() + _LOOK_AGAIN) for shard in waiting]
        times += [self._pack_at] if queued else []
        times += [self._deadline, self._cut_at or self._deadline]
        try:
            await context.waiting.until(min(times))
        except (NotNow, Stopped):
            return False
        return True

    async def _drain(self) -> None:
        """Let each attempt finish the step it is in; none begins another wait."""
        self._context.waiting.stop()
        while self._tasks:
            done, _ = await asyncio.wait(set(self._tasks), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                attempt = self._tasks.pop(task)
                error = task.exception()
                if error is not None and not isinstance(error, NotNow | Stopped):
                    with suppress(Exception):  # who listens may be what went wrong
                        self._context.say(f"shard {attempt.shard}: {error}")
                    if isinstance(error, OvernightError):
                        self._failure = self._failure or error
                    else:
                        self._fault = self._fault or error
