"""What every part of the engine works with: the run, its ledger, its arms, its accounts."""

import asyncio
from collections.abc import Callable

import msgspec

from overnight.core.announcing import announce
from overnight.core.ask import Arm
from overnight.core.attempt import Attempt, AttemptEvent, Creating
from overnight.engine.account_history import AccountHistory
from overnight.engine.decisions import TRIES
from overnight.engine.live.model_queue import CallQueue, ModelQueue
from overnight.engine.live.open_files import room_for, too_few
from overnight.engine.live.pace import Pacing
from overnight.engine.live.window import MOST
from overnight.engine.pricing import Pricing
from overnight.engine.progress import Tally
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.spread.leader import Actors
from overnight.engine.waiting import Waiting
from overnight.ledger.account_book import Doubt
from overnight.ledger.ledger import Ledger
from overnight.ledger.traces import Sent, mark_sent
from overnight.store.contract import Store
from overnight.store.names import CANCELLED


class RunContext:
    """Shared by the scheduler and its batch attempts; holds no policy."""

    def __init__(
        self,
        *,
        name: str,
        files: Store,
        marks: Store,
        ledger: Ledger,
        run_id: str,
        arms: dict[int, Arm],
        accounts: dict[int, tuple[ProviderAccount, ...]],
        waiting: Waiting,
        tally: Tally,
        history: AccountHistory,
        pricing: Pricing,
        say: Callable[[str], None],
        pacing: Pacing = Pacing(),  # noqa: B008 - frozen
        description: str | None = None,
        sent_since: frozenset[str] = frozenset(),
    ) -> None:
        """`sent_since`: attempts that were sent after this ledger was last written."""
        self.name = name
        self.files = files
        self._marks = marks
        self._marking = asyncio.Lock()
        self.ledger = ledger
        self.run_id = run_id
        self.arms = arms
        # By arm: the accounts that may answer for it, one or a pool.
        self.accounts = accounts
        # Accounts that would not have our key or our credit a while ago: those of a pool come after the others.
        self.turned_away: frozenset[int] | None = None
        self._seats: dict[tuple[int, int], ProviderAccount] = {}
        self.waiting = waiting
        self.tally = tally
        self.history = history
        self.pricing = pricing
        self.say = say
        self.description = description
        self.sent_since = sent_since
        self._pacing = pacing
        self._model_queues: dict[tuple[int, str], CallQueue] = {}
        # Who makes the live calls, where that is not this process.
        self.actors: Actors | None = None
        self._came_in: dict[int, None] = {}
        # Set when the scheduler should look: a model_queue runs low, or answers came that others may follow from.
        self.stirred = asyncio.Event()
        # One file is read at a time: it all goes through one writer, and chunks of several would wait in memory.
        self.reading = asyncio.Lock()
        # Whether batches are given up for live calls because the deadline is near.
        self.spilled = False
        self.deadline = 0.0
        # Questions whose answers came in a batch after all, while they were being asked live.
        self.answered_elsewhere: set[int] = set()
        # The newest view of every attempt that is not closed.
        self.carried: dict[int, Attempt] = {}
        # Attempts that this pass sees no further: what became of them, another one finds out.
        self.left: set[int] = set()
        # Arms that are not sent any more in this process, and why.
        self.halted_arms: dict[int, str] = {}
        # False for batches adopted without their questions: nothing of theirs can be asked again.
        self.can_ask_again = True
        self.tries = TRIES
        # How often a download is tried, and the seconds between, if they do not grow.
        self.download_tries: tuple[int, float | None] = (6, None)
        # Attempts of which rows that do not come are asked again, though they may have been paid for: the user says so.
        self.reask_missing: tuple[int, ...] = ()
        # Shards that were turned away and when they may be tried again.
        self.not_before: dict[int, float] = {}

    def now(self) -> float:
        return self.waiting.clock.now()

    def account_of(self, arm: int) -> ProviderAccount:
        """For what all accounts of an arm have in common: the vendor and its formats."""
        return self.accounts[arm][0]

    def account_for(self, attempt: Attempt) -> ProviderAccount:
        """The one that an attempt was sent with, or is to be: an attempt never moves to another of the pool."""
        pool = self.accounts[attempt.arm]
        if len(pool) == 1:
            return pool[0]
        place = (attempt.arm, attempt.account)
        if place not in self._seats:
            root = self.ledger.view().accounts.root
            own = root(attempt.account)
            self._seats[place] = next((one for one in pool if root(one.number) == own), pool[0])
        return self._seats[place]

    def forget_seats(self) -> None:
        """Which accounts are the same has changed."""
        self._seats.clear()

    def in_doubt(self, account: ProviderAccount, besides: Attempt | None = None) -> Attempt | None:
        """Another create of this account that may or may not have made a batch."""
        others = (
            other for other in self.carried.values() if other.in_doubt and (besides is None or other.id != besides.id)
        )
        return next((other for other in others if self.account_for(other) is account), None)

    def model_queue_of(self, arm: int, account: ProviderAccount) -> CallQueue:
        """Live calls of an arm go by their account and its model: limits are by these."""
        place = (id(account), self.arms[arm].model.name)
        if place not in self._model_queues:
            self._model_queues[place] = self._queue(account, place[1])
        return self._model_queues[place]

    def _queue(self, account: ProviderAccount, model: str) -> CallQueue:
        if self.actors is not None:
            return self.actors.queue(account, model, self.waiting, self._pacing, self.stirred.set, self._places)
        return ModelQueue(account, self.waiting, self._pacing, self.stirred.set, self._room_for_calls())

    @property
    def _places(self) -> int:
        return len({(id(self.accounts[arm]), one.model.name) for arm, one in self.arms.items()})

    def _room_for_calls(self) -> int:
        """How many calls each model may have under way, as far as open files go; told once if the user wanted more."""
        asked, places = self._pacing.concurrency, self._places
        room = room_for(asked or MOST, places)
        if asked is not None and room.calls < asked and not self._model_queues:
            self.say(too_few(asked, room, places))
        return room.calls

    def wake_model_queues(self) -> None:
        for model_queue in self._model_queues.values():
            model_queue.wake()

    def came_in(self, attempt: int) -> None:
        """Answers of a live slice that goes on."""
        self._came_in[attempt] = None
        self.stirred.set()

    def take_news(self) -> list[int]:
        """Live slices that had answers since the last time."""
        news, self._came_in = list(self._came_in), {}
        return news

    async def record(self, attempt: Attempt, event: AttemptEvent) -> Attempt:
        """One fact, durable before anything follows from it."""
        at = self.now()
        name = type(event).__name__.lower()
        if isinstance(event, Creating):
            announce()
        after = await self.ledger.commit(name, lambda tx: tx.attempts.record(attempt, event, at))
        self.keep(after)
        if isinstance(event, Creating):
            await self.mark_sent(attempt, "batch" if self.account_for(attempt).batch_format.tags else "untagged")
        return after

    async def mark_sent(self, attempt: Attempt, what: Sent) -> None:
        """It is about to go out, and on record: a ledger that does not know it any more is an older one."""
        async with self._marking:
            await asyncio.to_thread(mark_sent, self._marks, attempt.token, what)

    def keep(self, attempt: Attempt) -> None:
        before = self.carried.get(attempt.id)
        if attempt.state == "closed":
            self.carried.pop(attempt.id, None)
        else:
            self.carried[attempt.id] = attempt
        if attempt.in_doubt or (before is not None and before.in_doubt):
            self.share_doubt(self.account_for(attempt))
        if attempt.holds_queue_room != (before is not None and before.holds_queue_room):
            self._share_use(attempt)
        self.tally.changed()

    def _share_use(self, attempt: Attempt) -> None:
        """Other runs at the same account are told what this one has there."""
        account, model = self.account_for(attempt), self.arms[attempt.arm].model.name
        there = [
            one.estimate
            for one in self.carried.values()
            if one.holds_queue_room and self.arms[one.arm].model.name == model and self.account_for(one) is account
        ]
        self.history.share(account.provider, self.run_id, model, (len(there), sum(there)), self.now())

    def share_doubt(self, account: ProviderAccount) -> None:
        """Other runs at the same account are told that a create of this one is in doubt, or that none is any more."""
        if account.batch_format.tags:
            return
        doubt = self.in_doubt(account)
        if doubt is None:
            self.history.end_doubt(account.provider, self.run_id)
        else:
            self.claim_doubt(account, possible=bool(doubt.possible))

    def claim_doubt(self, account: ProviderAccount, *, possible: bool = False) -> Doubt | None:
        """That a create of this run is about to be in doubt: None, or what another run has in doubt there."""
        return self.history.claim_doubt(account.provider, (self.run_id, self.name), self.now(), possible=possible)

    async def note(self, kind: str, message: str, attempt: Attempt | None = None) -> None:
        """Something for the audit log that changes no state."""
        data = {"message": message} if attempt is None else {"message": message, "token": attempt.token}
        text = msgspec.json.encode(data).decode()
        at = self.now()
        await self.ledger.commit("note", lambda tx: tx.attempts.note(at, kind, text))

    def cancelled(self) -> bool:
        """Whether the user has called the run off, from this process or another."""
        return self._marks.exists(CANCELLED)

    def halt_arm(self, arm: int, why: str) -> None:
        if arm not in self.halted_arms:
            self.halted_arms[arm] = why
            self.say(why)
