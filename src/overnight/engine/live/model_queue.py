"""One model of one account, live: which call is next, when it may begin, and what becomes of its reply.

Calls flow from one slice to the next without a gap. Everything that may let another call begin (a reply, an
announcement on record, the end of a pause) ends in `pump`.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from typing import Protocol

from overnight.core.ask import Model
from overnight.core.errors import OutOfCredit, ProviderError, Unauthorized, Unavailable
from overnight.core.result import MOST_TOKENS, Result, failed
from overnight.engine.live.pace import Cooldown, Pace, Pacing, Ticket
from overnight.engine.live.replies import BUDGETS, MOST_PAUSES, UNREACHABLE_PAUSES, fared, used_tokens
from overnight.engine.waiting import Waiting
from overnight.providers.contract import LiveConnection, LiveFormat, Reply
from overnight.providers.provider import Provider

# Fewer rows than this ahead of the calls, or than two rounds of them: time for the next slice.
AHEAD = 100
# What an answer takes of a limit on tokens before any has come, where no `max_tokens` says.
_FIRST_OUTPUT = 256
_SHARE_OF_NEW = 0.1


class Feeder(Protocol):
    """A slice, as its model_queue sees it."""

    model: Model

    def next_line(self) -> int | None:
        """The next line that is announced and not begun; None when there is none for now."""
        ...

    def body(self, line: int) -> bytes: ...
    def size(self, line: int) -> int: ...
    def custom_id(self, line: int) -> str: ...
    def landed(self, line: int, raw: bytes | None, result: Result, *, again: bool = False) -> None:
        """`again`: it is asked anew, at no cost in tries."""
        ...

    def wake(self) -> None: ...


class CallAccount(Protocol):
    """An account, as a queue of its calls sees it."""

    @property
    def provider(self) -> Provider: ...
    @property
    def live_format(self) -> LiveFormat: ...
    @property
    def calls(self) -> LiveConnection: ...
    @property
    def cooldown(self) -> Cooldown: ...
    @property
    def halted(self) -> ProviderError | None: ...
    @property
    def tokens_per_byte(self) -> Callable[[str], float]: ...


class CallQueue(Protocol):
    """One model of one account, as slices and the scheduler see it: its calls are made here, or by an actor."""

    # Rows that slices have brought and that have not begun.
    ahead: int
    failure: ProviderError | None

    @property
    def size(self) -> int:
        """Calls that may be under way at once."""
        ...

    @property
    def hungry(self) -> bool: ...
    @property
    def stopped(self) -> bool: ...
    def stop(self) -> None: ...
    def wake(self) -> None: ...
    def join(self, feeder: Feeder) -> None: ...
    def leave(self, feeder: Feeder) -> None: ...
    def waiting_calls(self, feeder: Feeder) -> int: ...
    def check(self) -> None: ...
    def pump(self) -> None: ...


class Call:
    """One row on its way."""

    __slots__ = ("feeder", "line", "tokens", "turned_away")

    def __init__(self, feeder: Feeder, line: int, tokens: int) -> None:
        self.feeder = feeder
        self.line = line
        self.tokens = tokens
        self.turned_away = 0


class ModelQueue:
    def __init__(
        self, account: CallAccount, waiting: Waiting, pacing: Pacing, stir: Callable[[], None], most: int
    ) -> None:
        """`most`: so many calls at once, and never more."""
        self._account = account
        self._provider = account.provider
        self._format = account.live_format
        self._connection = account.calls
        self._waiting = waiting
        self._stir = stir
        self._feeders: list[Feeder] = []
        self._again: deque[Call] = deque()
        self._output = float(_FIRST_OUTPUT)
        self._density: float | None = None
        self._timer: asyncio.Task[None] | None = None
        self._under_way: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._fault: BaseException | None = None
        self.pace = Pace(pacing, account.cooldown, most)
        # Rows that slices have brought and that have not begun.
        self.ahead = 0
        self.failure: ProviderError | None = None
        waiting.when_stopped(self.stop)

    @property
    def size(self) -> int:
        return self.pace.window.size

    @property
    def hungry(self) -> bool:
        return self.ahead < max(AHEAD, 2 * self.size)

    @property
    def idle(self) -> bool:
        return not self._under_way

    @property
    def fault(self) -> str | None:
        return None if self._fault is None else f"{type(self._fault).__name__}: {self._fault}"

    @property
    def stopped(self) -> bool:
        """Whether no further call begins: the user's wish, an account that is of no use, or a fault of our own."""
        trouble = self.failure is not None or self._fault is not None
        return self._stopped or trouble or self._account.halted is not None

    def stop(self) -> None:
        self._stopped = True
        self.wake()

    def wake(self) -> None:
        """Let every slice see whether it can go on."""
        for feeder in self._feeders:
            feeder.wake()

    def join(self, feeder: Feeder) -> None:
        self._feeders.append(feeder)
        self.pump()

    def leave(self, feeder: Feeder) -> None:
        """Its calls that wait for another try are given up; none is under way."""
        self._feeders.remove(feeder)
        self._again = deque(call for call in self._again if call.feeder is not feeder)
        if not self._feeders and self._timer is not None:
            self._timer.cancel()

    def waiting_calls(self, feeder: Feeder) -> int:
        """Calls of this slice that wait for a pause to end, or for another try."""
        return sum(call.feeder is feeder for call in self._again)

    def check(self) -> None:
        """A fault of our own in a call is raised where somebody sees it."""
        if self._fault is not None:
            raise self._fault

    def pump(self) -> None:
        """Begin every call that may begin now."""
        while not self.stopped and (call := self._next()) is not None:
            now = self._waiting.clock.now()
            wait = self.pace.wait(call.tokens, now)
            if wait > 0:
                self._again.appendleft(call)
                if wait < math.inf:
                    self._pump_in(wait)
                return
            ticket = self.pace.launch(call.tokens, now)
            task = asyncio.create_task(self._call(call, ticket))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    def _fails(self, fault: BaseException) -> None:
        """No further call begins; those under way are taken in first, and then it is raised where somebody sees it."""
        self._fault = self._fault or fault
        self.wake()

    def _next(self) -> Call | None:
        if self._again:
            return self._again.popleft()
        for feeder in self._feeders:
            line = feeder.next_line()
            if line is not None:
                self.ahead -= 1
                return Call(feeder, line, self._estimate(feeder, line))
        return None

    def _estimate(self, feeder: Feeder, line: int) -> int:
        if self._density is None:
            self._density = self._account.tokens_per_byte(feeder.model.name)
        return int(feeder.size(line) * self._density + (feeder.model.options.max_tokens or self._output)) + 1

    def _pump_in(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.create_task(self._pump_later(seconds))

    async def _pump_later(self, seconds: float) -> None:
        await self._waiting.clock.sleep(seconds)
        self._timer = None
        self._pump_safely()

    def _pump_safely(self) -> None:
        try:
            self.pump()
        except Exception as fault:  # noqa: BLE001 - the task's edge
            self._fails(fault)

    # --- what comes back

    async def _call(self, call: Call, ticket: Ticket) -> None:
        try:
            reply = await self._connection.call(call.feeder.model, call.feeder.body(call.line))
            self._take(call, ticket, reply)
        except Exception as fault:  # noqa: BLE001 - the task's edge
            # It may have been answered, and billed: on record as lost, so that the slice can be closed.
            call.feeder.landed(call.line, None, failed("lost", f"{type(fault).__name__}: {fault}"))
            self._fails(fault)
        self._pump_safely()
        if self.hungry:
            self._stir()

    def _take(self, call: Call, ticket: Ticket, reply: Reply) -> None:
        pace, now = self.pace, self._waiting.clock.now()
        raw: bytes | None = None
        result = failed("lost", reply.problem)
        if reply.sent and reply.status is not None and reply.problem is None:
            raw = self._format.live_line(call.feeder.custom_id(call.line), reply)
            result = self._format.decode(raw).result or failed("unreadable")
        outcome = fared(reply, result)
        if outcome in ("landed", "dead"):
            pace.landed(ticket, used_tokens(result), reply.rates, now)
            self._learn(result)
        elif outcome == "lost":
            pace.lost(ticket, now)
        else:
            call.turned_away += 1
            busy = outcome != "limited"
            pace.turned_away(ticket, reply.rates, now, reply.retry_after, busy=busy)
            if outcome == "unreachable" or call.turned_away <= BUDGETS[outcome]:
                self._again.append(call)
                self._check_breaker(outcome, reply, result)
                return
        call.feeder.landed(call.line, raw, result)
        if outcome == "dead":
            self._fail((OutOfCredit if result.cause == "no_credit" else Unauthorized)(self._words(result)))

    def _learn(self, result: Result) -> None:
        """How long answers are, so that the next ones can be reserved for."""
        if result.usage.output is not None and result.usage.output <= MOST_TOKENS:
            self._output += (result.usage.output - self._output) * _SHARE_OF_NEW

    def _check_breaker(self, outcome: str, reply: Reply, result: Result) -> None:
        """An account that nobody gets through to is left alone."""
        most = UNREACHABLE_PAUSES if outcome == "unreachable" else MOST_PAUSES
        if self._account.cooldown.times >= most:
            self._fail(Unavailable(f"{self._provider.name}: {reply.problem}" if reply.problem else self._words(result)))

    def _words(self, result: Result) -> str:
        return f"{self._provider.name}: {result.detail or result.cause}"

    def _fail(self, error: ProviderError) -> None:
        self.failure = self.failure or error
        self.wake()
