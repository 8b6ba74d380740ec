"""One model of one account whose calls an actor makes. What the leader does with a queue, it does with this one."""

from collections import Counter
from collections.abc import Callable
from itertools import count

from overnight.core.errors import OutOfCredit, ProviderError, Unauthorized, Unavailable
from overnight.core.result import failed
from overnight.engine.live.model_queue import AHEAD, CallAccount, Feeder
from overnight.engine.live.replies import INTERRUPTED
from overnight.engine.spread.messages import QueueNews, Row, Rows, StopQueue, Told
from overnight.engine.waiting import Waiting

# Rows that an actor has at least; twice as many as the calls that it makes at once. All of them are lost with it.
_LEAST = 8
_KINDS: dict[str, type[ProviderError]] = {"OutOfCredit": OutOfCredit, "Unauthorized": Unauthorized}


class ActorFault(RuntimeError):
    """A fault of our own, in an actor."""


class RemoteQueue:
    def __init__(
        self,
        number: int,
        account: CallAccount,
        waiting: Waiting,
        stir: Callable[[], None],
        send: Callable[[Told], None],
    ) -> None:
        self.number = number
        self._account = account
        self._stir = stir
        self._send = send
        self._numbers = count(1)
        self._feeders: list[Feeder] = []
        # What the actor has: by number, whose it is.
        self._there: dict[int, tuple[Feeder, int]] = {}
        self._given_back: Counter[int] = Counter()
        self._stopped = False
        self._fault: Exception | None = None
        self.size = 1
        self.ahead = 0
        self.failure: ProviderError | None = None
        # Whether there is an actor to call.
        self.open = False
        waiting.when_stopped(self.stop)

    @property
    def hungry(self) -> bool:
        return self.ahead < max(AHEAD, 2 * self.size)

    @property
    def stopped(self) -> bool:
        trouble = self.failure is not None or self._fault is not None
        return self._stopped or trouble or self._account.halted is not None

    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self._tell_stop()
        self.wake()

    def _tell_stop(self) -> None:
        if self.open:
            self._send(StopQueue(queue=self.number))

    def wake(self) -> None:
        """Let every slice see whether it can go on; an account that is of no use calls no more."""
        if self._account.halted is not None and not self._stopped:
            self.stop()
            return
        for feeder in self._feeders:
            feeder.wake()

    def join(self, feeder: Feeder) -> None:
        self._feeders.append(feeder)
        self.pump()

    def leave(self, feeder: Feeder) -> None:
        self._feeders.remove(feeder)
        self._given_back.pop(id(feeder), None)

    def waiting_calls(self, feeder: Feeder) -> int:
        """Calls that were begun for all we had said, and that the actor has not made."""
        return self._given_back[id(feeder)]

    def check(self) -> None:
        if self._fault is not None:
            raise self._fault

    def pump(self) -> None:
        """Hand over what is announced, a little more than can be called at once."""
        room = max(_LEAST, 2 * self.size) - len(self._there)
        for feeder in self._feeders:
            rows: list[Row] = []
            while len(rows) < room and self.open and not self.stopped and (line := feeder.next_line()) is not None:
                rows.append(Row(next(self._numbers), feeder.custom_id(line), feeder.body(line)))
                self._there[rows[-1].number] = (feeder, line)
            if rows:
                room -= len(rows)
                self.ahead -= len(rows)
                self._send(Rows(queue=self.number, model=feeder.model, rows=tuple(rows)))
        if self.hungry:
            self._stir()

    # --- what the actor tells

    def take(self, news: QueueNews) -> None:
        self.size = news.size
        self._account.cooldown.times = news.pauses
        for landed in news.landed:
            if (owner := self._there.pop(landed.number, None)) is not None:
                owner[0].landed(owner[1], landed.raw, landed.result)
        for number in news.given_back:
            if (owner := self._there.pop(number, None)) is not None:
                self._given_back[id(owner[0])] += 1
        if news.failure is not None and self.failure is None:
            kind, words = news.failure
            self.failure = _KINDS.get(kind, Unavailable)(words)
        if news.fault is not None:
            self._fault = self._fault or ActorFault(news.fault)
        if news.given_back or self.stopped:
            self.wake()
        self.pump()

    def lost(self) -> None:
        """The actor is gone, and what it had was called, for all we know: asked anew, at no cost in tries."""
        self.open = False
        there, self._there = self._there, {}
        for feeder, line in there.values():
            feeder.landed(line, None, failed("lost", INTERRUPTED), again=True)

    def fail(self, error: Exception) -> None:
        """No actor can be had; or a fault of our own, which is raised where somebody sees it."""
        self.lost()
        if isinstance(error, ProviderError):
            self.failure = self.failure or error
        else:
            self._fault = self._fault or error
        self.wake()
