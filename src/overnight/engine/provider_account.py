"""One account at one provider: what it may send, what it has there, and when to look at it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

import msgspec

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.errors import OutOfCredit, ProviderError, Throttled, Unauthorized, Unavailable
from overnight.engine.decisions import Learned, Load, backoff, may_go, poll_how
from overnight.engine.live.model_swapping import ModelSwapping
from overnight.engine.live.pace import Cooldown
from overnight.engine.waiting import Waiting
from overnight.providers.contract import Batch, BatchConnection, BatchFormat, Fence, LiveConnection, LiveFormat
from overnight.providers.provider import Provider, batch_format, batches_of, calls_of, live_format

T = TypeVar("T")

_HOUR = 3600.0
# Live calls that are turned away now and then are no news.
_TELL_PAUSES = 3
# Listing calls for one round of polling; older batches than these pages show are asked for one by one.
_POLL_PAGES = 5
# Batches asked for one by one in a round, when a listing did not show them.
_STRAGGLERS = 20


class Poller:
    """Answers `look` for many batches with as few calls as will do."""

    def __init__(self, provider: BatchConnection, waiting: Waiting, interval: float, delay: float) -> None:
        self._provider = provider
        self._waiting = waiting
        self._interval = interval
        self._delay = delay
        self._watched: dict[str, asyncio.Future[Batch | None]] = {}
        self._oldest: dict[str, float] = {}
        self._last = float("-inf")
        self._troubles = 0
        self._task: asyncio.Task[None] | None = None
        self.trouble: str | None = None

    async def look(self, batch_id: str, created_at: float) -> Batch | None:
        """The batch as the next round of polling sees it; None when the provider does not know it."""
        future = self._watched.setdefault(batch_id, asyncio.get_running_loop().create_future())
        self._oldest[batch_id] = created_at
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._round())
        return await future

    async def _round(self) -> None:
        try:
            while self._watched:
                await self._waiting.until(self._last + self._interval)
                await asyncio.sleep(0.01)  # siblings that have just been sent join this round
                self._last = self._waiting.clock.now()
                await self._poll_safely()
        except Exception as ending:  # noqa: BLE001 - the task's edge: whoever waits gets it, whatever it is
            self.give_up(ending)

    async def _poll_safely(self) -> None:
        """Trouble on the way is waited out; a dead key is not."""
        try:
            await self._poll()
            self._troubles, self.trouble = 0, None
        except (Unauthorized, OutOfCredit) as dead:
            self.give_up(dead)
        except ProviderError as error:
            self.trouble = str(error)
            advised = error.retry_after if isinstance(error, Throttled) else None
            wait = backoff(self._troubles, advised)
            self._troubles += 1
            await self._waiting.pause(wait)

    async def _poll(self) -> None:
        if poll_how(len(self._watched)) == "list":
            fence = Fence(min(self._oldest.values()))
            seen = await self._waiting.while_going(self._provider.recent(fence, _POLL_PAGES))
            for batch in seen.batches:
                self._tell(batch.id, batch)
        # Absence from a listing is no news: ask for those by name, a few in each round.
        for number, batch_id in enumerate(list(self._watched)[:_STRAGGLERS]):
            if number and self._delay:
                await self._waiting.clock.sleep(self._delay)
            self._tell(batch_id, await self._waiting.while_going(self._provider.retrieve(batch_id)))

    def _tell(self, batch_id: str, batch: Batch | None) -> None:
        future = self._watched.pop(batch_id, None)
        if future is not None and not future.done():
            self._oldest.pop(batch_id, None)
            future.set_result(batch)

    def give_up(self, reason: BaseException) -> None:
        watched, self._watched = self._watched, {}
        for future in watched.values():
            if not future.done():
                future.set_exception(reason)


class OurBatches(msgspec.Struct, frozen=True):
    """The batches of this run that an account lists, by the names they bear."""

    listed: dict[str, tuple[str, ...]] = {}
    # Names of batches that the user says are not to count.
    disowned: frozenset[str] = frozenset()

    def named(self, token: str) -> tuple[str, ...]:
        return self.listed.get(token, ())


class LiveAccount:
    """What live calls want of an account, wherever they are made."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        # A call that is turned away holds up all others of the account.
        self.cooldown = Cooldown()

    @property
    def live_format(self) -> LiveFormat:
        return live_format(self.provider)

    @property
    def calls(self) -> LiveConnection:
        return calls_of(self.provider)


class ProviderAccount(LiveAccount):
    """One account: admission, polling, and the breaker that shuts it."""

    def __init__(
        self,
        provider: Provider,
        number: int,
        waiting: Waiting,
        poller: Poller,
        *,
        learned: dict[str, Learned],
        tokens_per_byte: Callable[[str], float],
        others: Callable[[str], Load] = lambda _: Load(),
        tell_create: Callable[[], None] = lambda: None,
    ) -> None:
        """`others`: what other runs have at this account, by model. `tell_create`: so that they know of ours."""
        super().__init__(provider)
        self.number = number
        self.poller = poller
        self.learned = learned
        self.tokens_per_byte = tokens_per_byte
        self._others = others
        self._tell_create = tell_create
        self.halted: ProviderError | None = None
        self.fetching = asyncio.Semaphore(2)
        self.uploading = asyncio.Semaphore(3)
        # One create at a time keeps the fence of each one honest.
        self.creating = asyncio.Lock()
        self.stocktaking = asyncio.Lock()
        self.our_batches: OurBatches | None = None
        # Whether this ledger has sent all that it lists.
        self.all_on_record = False
        # Whether it did not say in this pass what it has of this run; who sends something there asks again.
        self.asked_in_vain = False
        self.turns = ModelSwapping(provider.connection, waiting)
        self._waiting = waiting
        self._creates: deque[float] = deque()
        # Why the last call that may be repeated did not get through; nothing once one did.
        self._held_up_by: str | None = None

    @property
    def batches(self) -> BatchConnection:
        return batches_of(self.provider)

    @property
    def batch_format(self) -> BatchFormat:
        return batch_format(self.provider)

    @property
    def trouble(self) -> str | None:
        """What holds this account up, in words."""
        if self.cooldown.times >= _TELL_PAUSES:
            return f"{self.provider.name}: calls are turned away; pausing"
        return self.poller.trouble or self._held_up_by

    def halt(self, reason: ProviderError, *, watch: bool = False) -> None:
        """Nothing more is sent with this account until somebody has mended it; what waits for it is told.

        `watch`: what it has is still waited for.
        """
        self.halted = self.halted or reason
        if not watch:
            self.poller.give_up(reason)

    def created(self) -> None:
        self._creates.append(self._waiting.clock.now())
        self._tell_create()

    def admits(self, model: Model, estimate: int, carried: Iterable[tuple[Attempt, str]]) -> bool:
        """Whether one more shard of this model may be sent now."""
        now = self._waiting.clock.now()
        while self._creates and self._creates[0] < now - _HOUR:
            self._creates.popleft()
        holding = [(attempt, name) for attempt, name in carried if attempt.holds_queue_room]
        others = self._others(model.name)
        load = Load(
            batches=len(holding) + others.batches,
            creates_last_hour=len(self._creates) + others.creates_last_hour,
            tokens=sum(attempt.estimate for attempt, name in holding if name == model.name) + others.tokens,
        )
        learned = self.learned.get(model.name, Learned())
        return may_go(estimate, self.batch_format.limits(model), load, learned)

    async def patiently(self, call: Callable[[], Awaitable[T]], tries: int = 6, pause: float | None = None) -> T:
        """Repeat a harmless call while the provider is only in passing trouble, and until the user has had enough.

        A pause that is given is short: a pass that does not wait for anything else takes it all the same.
        """
        number = 0
        while True:
            try:
                answer = await self._waiting.while_going(call())
            except (Throttled, Unavailable) as error:
                self._held_up_by = str(error)
                number += 1
                if number >= tries:
                    raise
                advised = error.retry_after if isinstance(error, Throttled) else None
                if pause is None or advised is not None:
                    await self._waiting.pause(backoff(number - 1, advised))
                else:
                    await self._waiting.while_going(self._waiting.clock.sleep(pause))
            else:
                self._held_up_by = None
                return answer
