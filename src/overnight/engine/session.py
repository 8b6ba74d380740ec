"""A run opened for work: locked, its ledger open, its accounts checked before anything is sent."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import cast

import msgspec

from overnight.core.ask import Arm, Ask, Model
from overnight.core.attempt import Attempt
from overnight.core.clock import Clock
from overnight.core.garbage import seldom_collected
from overnight.core.names import HISTORY
from overnight.core.stage import Stage
from overnight.engine.account_check import account_identity, check_accounts
from overnight.engine.account_history import AccountHistory
from overnight.engine.batch.restoring import restore_downloads
from overnight.engine.context import RunContext
from overnight.engine.flow.flow import Flow, more_follows
from overnight.engine.pricing import Pricing, kept_prices
from overnight.engine.progress import Snapshot, Tally, how_priced
from overnight.engine.provider_account import Poller, ProviderAccount
from overnight.engine.scheduler import SPILLED, Scheduler
from overnight.engine.spread.leader import Actors, Place
from overnight.engine.waiting import Waiting
from overnight.engine.work import Held, Work
from overnight.ledger.checks import diagnosed
from overnight.ledger.homes import accounts_of, home_of
from overnight.ledger.ledger import Ledger, open_ledger
from overnight.ledger.threads import LeftOut
from overnight.ledger.traces import Older, check_age, no_ledger, refuse_blank
from overnight.ledger.transaction import Transaction, View
from overnight.providers.contract import BatchConnection
from overnight.providers.provider import Provider
from overnight.store.run_folder import RunFolder

# Progress is told at most this often, in real seconds.
_TELL_EVERY = 0.2

Connect = Callable[[Model], Provider]


class Worked(msgspec.Struct, frozen=True, kw_only=True):
    """How it went."""

    snapshot: Snapshot
    timed_out: bool
    stopped: bool
    stuck: tuple[Attempt, ...]
    halted: tuple[str, ...]
    held: Held = Held()
    # Rows that are put into batches of which the provider has heard nothing yet.
    unsent: int = 0
    # Time was up between answers and what is to be asked because of them.
    more_follows: bool = False
    # Rows that are not in the groups that later stages were given.
    left_out: tuple[LeftOut, ...] = ()


class Session:
    """An open run. Only one process has it."""

    def __init__(self, folder: RunFolder, ledger: Ledger, run_id: str, history: AccountHistory, clock: Clock) -> None:
        self.folder = folder
        self.ledger = ledger
        self.run_id = run_id
        self.history = history
        self.clock = clock
        self._waiting: Waiting | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked = False
        # Set once the run is on record; before that, one that was not there is taken away again.
        self.begun = False
        # Set where the ledger is older than its folder.
        self.older: Older | None = None
        # Where live calls are made, if not in this process.
        self.place: Place | None = None

    def go_on(self) -> None:
        """A person has typed what began the run: nothing is called off any more."""
        self.folder.go_on()
        self.ledger.write("called on", lambda tx: tx.facts.call_on()).result()

    def stop(self) -> None:
        """From any thread: finish the step at hand, begin no other."""
        self._stop_asked = True
        if self._loop is not None and self._waiting is not None:
            with suppress(RuntimeError):  # the loop has just ended by itself
                self._loop.call_soon_threadsafe(self._waiting.stop)

    async def work(
        self,
        work: Work,
        connect: Connect,
        say: Callable[[str], None],
        tell: Callable[[Snapshot], None],
        stages: Sequence[Stage],
    ) -> Worked:
        """Send, watch and collect until nothing is left that this pass can do. `stages` are those on record."""
        self.begun = True  # what may have been sent is never taken away, whoever works on it
        self._loop = asyncio.get_running_loop()
        if self.older is not None:
            say(self.older.text)
        self._waiting = waiting = Waiting(self.clock, once=work.once)
        if self._stop_asked:
            waiting.stop()
        self.history.begin_sharing(self.run_id)
        known = await self.ledger.read(lambda view: view.stages.arms())
        providers: dict[tuple[str, str | None, str | None], Provider] = {}
        context = await self._context(work, connect, known, providers, say)
        context.can_ask_again, context.tries = work.can_ask_again, work.tries
        context.download_tries = (work.download_tries, work.download_pause)
        context.reask_missing = work.reask_missing
        context.deadline = work.deadline or 0.0
        context.spilled = work.mode == "auto" and self.ledger.view().facts.get(SPILLED) == str(work.deadline)
        try:
            started = self.clock.now()
            until = _until(work, started)
            if work.send and work.can_ask_again:
                await self.ledger.read(self._refuse_to_pay_twice)
            await check_accounts(context, accept=work.accept_account, until=until)
            if self.place is not None and work.send and work.mode != "batch":
                context.actors = Actors(self.place, await self.place.join(), say)
            scheduler = Scheduler(context, self._flow(context, stages), work, until)
            with _telling(context, tell):
                await scheduler.conduct()
            return Worked(
                snapshot=snapshot_of(context),
                timed_out=scheduler.timed_out,
                stopped=scheduler.interrupted,
                stuck=tuple(a for a in context.carried.values() if a.state == "stuck"),
                halted=tuple(context.halted_arms.values()),
                held=scheduler.held,
                unsent=await self.ledger.read(lambda view: _unsent(view, context)),
                more_follows=scheduler.timed_out
                and await asyncio.to_thread(lambda: more_follows(self.ledger.view(), stages)),
                left_out=tuple(await self.ledger.read(lambda view: view.threads.left_out())),
            )
        finally:
            waiting.stop()
            if context.actors is not None:
                await context.actors.end()
            if self.history.trouble is not None:
                say(self.history.trouble)
            for provider in providers.values():
                await provider.connection.close()

    async def restore(self, work: Work, connect: Connect, say: Callable[[str], None]) -> int:
        """Download again what is damaged on disk, where the provider still keeps it; how many files are back."""
        waiting = self._waiting = Waiting(self.clock, once=True)
        known = await self.ledger.read(lambda view: view.stages.arms())
        providers: dict[tuple[str, str | None, str | None], Provider] = {}
        try:
            return await restore_downloads(await self._context(work, connect, known, providers, say))
        finally:
            waiting.stop()
            for provider in providers.values():
                await provider.connection.close()

    async def _context(
        self,
        work: Work,
        connect: Connect,
        known: dict[int, Arm],
        providers: dict[tuple[str, str | None, str | None], Provider],
        say: Callable[[str], None],
    ) -> RunContext:
        assert self._waiting is not None
        accounts: dict[tuple[str, str | None, str | None], ProviderAccount] = {}
        by_arm: dict[int, tuple[ProviderAccount, ...]] = {}
        for number, arm in known.items():
            pool: dict[int, ProviderAccount] = {}
            for model in arm.model.members:
                place = (model.provider, model.key, model.base_url)
                if place not in accounts:
                    providers[place] = connect(model)
                    accounts[place] = await self._account(providers[place], work, self._waiting)
                # Two names of one account are one account: its limits are the same.
                pool.setdefault(accounts[place].number, accounts[place])
            by_arm[number] = tuple(pool.values())
        tally = Tally(self.folder.name, self.clock.now)
        tally.begin(*await self.ledger.read(_counted))
        priced = await asyncio.to_thread(lambda: kept_prices(self.ledger.view()))
        tally.priced = how_priced(len(known), len({number for number, _ in priced}))
        pricing = Pricing(known, priced, work.budget.output_tokens if work.budget else None)
        return RunContext(
            name=self.folder.name,
            files=self.folder.files,
            marks=self.folder.marks,
            ledger=self.ledger,
            run_id=self.run_id,
            arms=known,
            accounts=by_arm,
            waiting=self._waiting,
            tally=tally,
            history=self.history,
            pricing=pricing,
            say=say,
            pacing=work.pacing,
            description=work.description,
            sent_since=self.older.sent_since if self.older is not None else frozenset(),
        )

    def _refuse_to_pay_twice(self, view: View) -> None:
        """A ledger that was edited or damaged sends nothing."""
        carried = {attempt.shard for attempt in view.attempts.everything() if attempt.state != "closed"}
        view.checks.refuse_to_send(self.ledger.where, [shard.id for shard in view.shards.waiting(carried)])

    def _flow(self, context: RunContext, stages: Sequence[Stage]) -> Flow:
        providers = {pool[0].provider.name: pool[0].provider for pool in context.accounts.values()}
        decoders = {name: provider.format.decode for name, provider in providers.items()}

        def encode(ask: Ask) -> bytes:
            return providers[ask.arm.model.provider].format.encode(ask)

        return Flow(self.folder.files, stages, context.arms, decoders, encode)

    async def _account(self, provider: Provider, work: Work, waiting: Waiting) -> ProviderAccount:
        account = account_identity(self.run_id, provider)
        number = await self.ledger.commit("account", lambda tx: tx.accounts.keep(account))
        return ProviderAccount(
            provider,
            number,
            waiting,
            # Where there are no batches, nobody asks for one.
            Poller(cast("BatchConnection", provider.connection), waiting, work.poll_interval, work.per_job_delay),
            learned=self.history.limits(provider),
            tokens_per_byte=lambda model: self.history.tokens_per_byte(provider, model),
            others=lambda model: self.history.load_of_others(provider, self.run_id, model, self.clock.now()),
            tell_create=lambda: self.history.share_create(provider, self.run_id, self.clock.now()),
        )


def _unsent(view: View, context: RunContext) -> int:
    waiting = view.shards.waiting({attempt.shard for attempt in context.carried.values()})
    return sum(shard.rows for shard in waiting if not shard.live)


def _until(work: Work, now: float) -> float:
    """How long this pass may take. In `auto`, the deadline is met by asking live, not by leaving."""
    last = now + work.timeout
    return last if work.deadline is None or work.mode == "auto" else min(last, work.deadline)


def _counted(view: View) -> tuple[dict[tuple[int, str, str | None], int], tuple[int, int], int, int]:
    money = view.spending.by_stage().values()
    spent, presumed = sum(one.settled for one in money), sum(one.presumed for one in money)
    return view.counts.outcomes(), view.counts.tokens(), spent, presumed


def snapshot_of(context: RunContext) -> Snapshot:
    names = {number: arm.name for number, arm in context.arms.items()}
    troubles = (account.trouble for pool in context.accounts.values() for account in pool)
    trouble = next((text for text in troubles if text), None)
    return context.tally.snapshot(sorted(context.carried.values(), key=lambda a: a.id), names, trouble)


@contextmanager
def _telling(context: RunContext, tell: Callable[[Snapshot], None]) -> Iterator[None]:
    """Tell how far we are, when something changed and at least now and then.

    What is told may be the caller's own code: when it fails, the run stops as after Ctrl-C, and then it is raised.
    """
    last = 0.0
    faults: list[Exception] = []

    def changed() -> None:
        nonlocal last
        if time.monotonic() - last >= _TELL_EVERY and not faults:
            last = time.monotonic()
            try:
                tell(snapshot_of(context))
            except Exception as fault:  # noqa: BLE001 - the caller's code
                faults.append(fault)
                context.waiting.stop()

    async def now_and_then() -> None:
        while True:
            await asyncio.sleep(1.0)
            changed()

    context.tally.listen(changed)
    ticker = asyncio.create_task(now_and_then())
    try:
        tell(snapshot_of(context))
        yield
    finally:
        ticker.cancel()
        context.tally.listen(lambda: None)
        if not faults:
            tell(snapshot_of(context))
    if faults:
        raise faults[0]


@contextmanager
def opened(folder: RunFolder, accounts_folder: RunFolder, clock: Clock) -> Iterator[Session]:
    """Lock the run and open its ledger; both are let go at the end, whatever happens.

    A run that was not there and that nobody has begun is taken away again, while the lock is held: who does not hold
    it removes nothing.
    """
    with folder.locked() as made, diagnosed(home_of(folder)), seldom_collected():
        new = no_ledger(folder)
        session: Session | None = None
        history = AccountHistory(accounts_of(folder) or accounts_folder.path / HISTORY)
        try:
            folder.make()
            with open_ledger(folder) as ledger:
                run_id, older = ledger.write("begun", lambda tx: _begun(tx, folder, clock.now())).result()
                session = Session(folder, ledger, run_id, history, clock)
                session.older = older
                yield session
        finally:
            history.close()
            if new and (session is None or not session.begun):
                folder.clear(whole=made)


def _begun(tx: Transaction, folder: RunFolder, at: float) -> tuple[str, Older | None]:
    """The run's id, and what is to be known of a ledger that is older than its folder."""
    refuse_blank(folder, tx.facts)
    tx.facts.outdate_tables()
    run_id = tx.facts.begin_run(at)
    return run_id, check_age(folder, tx.attempts, run_id)
