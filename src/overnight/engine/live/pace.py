"""How fast live calls may go: from what the user set, what replies tell of limits, and how calls fare.

Nothing here waits or calls anybody; time is handed in, and the same facts give the same pace.
"""

import math

import msgspec

from overnight.engine.live.window import Window
from overnight.providers.contract import Rates

# Limits per minute that are so low that one call after another is the right way.
TINY = 10.0
# Part of a bucket that is left in it: replies and calls overtake each other on the way.
_RESERVE = 0.03
# What comes in is counted a little low, so that our count errs on the safe side; replies put it right.
_CAUTION = 0.99
# A limit that the user set is spread evenly: not more than this many seconds of it at once.
_BURST_SECONDS = 1.0
PAUSE_FIRST = 1.0
PAUSE_LONGEST = 60.0
# A limit that nobody tells of: a little less than what got through before a refusal, less again after the next one.
# After every quiet spell it is a little more, and each time by twice as much: a limit that is there is soon met again,
# and a refusal that was none is soon forgotten.
_GUESS = 0.95
_TIGHTEN = 0.8
_RELAX = 0.05
_RELAX_MOST = 1.0
_QUIET_SECONDS = 20.0
# Answers that a guess rests on: how fast a few calls between two refusals got through says little.
_ENOUGH = 8
_LOWEST_GUESS = 1.0


class Pacing(msgspec.Struct, frozen=True, kw_only=True):
    """What the user has set; what is None is learned."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    concurrency: int | None = None


class Ticket(msgspec.Struct, frozen=True):
    """One call under way: when it began, what was reserved for it, and all that had been answered by then.

    Only what was answered before a call began is sure to be counted in what its reply says: calls overtake one
    another on the way there, and their replies on the way back.
    """

    at: float
    tokens: int
    requests_settled: int
    tokens_settled: int


class Bucket:
    """What is left of a limit: by our own count, held to what replies say.

    A limit that only replies tell of may be used up at once as far as they say that it is there.
    """

    def __init__(self, per_minute: float | None = None) -> None:
        self._set = per_minute
        self.limit = per_minute
        self._room = math.inf if per_minute is None else max(1.0, per_minute / 60 * _BURST_SECONDS)
        self._level = self._room
        self._at: float | None = None

    def wait(self, amount: float, now: float) -> float:
        """Seconds until `amount` may be taken. More than the bucket holds is taken when it is full."""
        if self.limit is None:
            return 0.0
        reserve = _RESERVE * self._room if self._set is None and self._room > 1 / _RESERVE else 0.0
        missing = min(amount + reserve, self._room) - self._now(now)
        return 0.0 if missing <= 1e-9 else missing / self._per_second

    @property
    def _per_second(self) -> float:
        return (self.limit or 0.0) / 60 * (_CAUTION if self._set is None else 1.0)

    def take(self, amount: float, now: float) -> None:
        if self.limit is not None:
            self._level = self._now(now) - amount

    def give_back(self, amount: float, now: float) -> None:
        self.take(-amount, now)

    def told(self, limit: float | None, remaining: float | None, unseen: float, since: float, now: float) -> None:
        """A reply's word, given at some time between `since` and `now`. `unseen` was taken by calls that the word
        may or may not include, like what came in meanwhile: our own count stands, within what the word leaves open.
        """
        if limit is None or limit <= 0:
            return
        known = self.limit is not None
        self.limit = limit if self._set is None else min(limit, self._set)
        if remaining is None or self._set is not None:
            if not known:
                self.learn(self.limit, now)
            return
        self._room = remaining + 1 if not known else min(limit, max(self._room, remaining + 1))
        level = self._now(now) if known else remaining
        most = remaining + (now - since) * self._per_second
        self._level, self._at = min(max(level, remaining - unseen), most, self._room), now

    def learn(self, limit: float, now: float) -> None:
        """A limit without a word on what is left of it: spread evenly."""
        self.limit = limit
        self._room = max(1.0, limit / 60 * _BURST_SECONDS)
        self._level, self._at = 0.0, now

    def relax(self, factor: float, now: float) -> None:
        """A learned limit may be higher; what is there stays there."""
        if self._set is None and self.limit is not None:
            self._now(now)
            self.limit *= factor
            self._room = max(1.0, self.limit / 60 * _BURST_SECONDS)

    def _now(self, now: float) -> float:
        since = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        self._level = min(self._room, self._level + since * self._per_second)
        return self._level


class Cooldown:
    """A pause for all calls of an account, after one of them was turned away."""

    def __init__(self) -> None:
        self.until = 0.0
        # Turned away so often in a row, calls of one moment counted once.
        self.times = 0
        self._since = -math.inf

    def begin(self, launched_at: float, now: float, advised: float | None = None) -> bool:
        """Whether this is news: calls that had begun before the last pause only add their advice."""
        news = launched_at >= self._since
        if news:
            self.times += 1
            self._since = now
            own = pause(self.times)
            # Advice is obeyed to the second; only where it has not helped before is more added to it.
            wait = own if advised is None else advised + (own if self.times > 3 else 0.0)
        else:
            wait = advised or 0.0
        self.until = max(self.until, now + wait)
        return news

    def over(self) -> None:
        """A call got through."""
        self.times = 0


def pause(times: int) -> float:
    """How long to wait after being turned away `times` times in a row."""
    return min(PAUSE_LONGEST, PAUSE_FIRST * 2.0 ** max(0, times - 1))


class Pace:
    """One model of one account. Its cooldown is the account's own."""

    def __init__(self, pacing: Pacing, cooldown: Cooldown, most: int | None = None) -> None:
        self.requests = Bucket(pacing.requests_per_minute)
        self.tokens = Bucket(pacing.tokens_per_minute)
        self.window = Window(pacing.concurrency, most)
        self.cooldown = cooldown
        self.in_flight = 0
        self._tokens_in_flight = 0
        self._requests_settled = 0
        self._tokens_settled = 0
        self._counted = 0
        self._counted_from: float | None = None
        self._guessed_at: float | None = None
        self._relaxed = _RELAX

    def wait(self, tokens: int, now: float) -> float:
        """Seconds until the next call may begin: 0 at once, infinity when another one must land first."""
        if self.cooldown.until > now:
            return self.cooldown.until - now
        if self.in_flight and self._sequential:
            return math.inf
        if self.in_flight >= self.window.size:
            self.window.pressed = True
            return math.inf
        return max(self.requests.wait(1, now), self.tokens.wait(tokens, now))

    @property
    def _sequential(self) -> bool:
        return self.requests.limit is not None and self.requests.limit <= TINY

    def launch(self, tokens: int, now: float) -> Ticket:
        """Reserve what the call may take."""
        if self._counted_from is None:
            self._counted_from = now
        self.in_flight += 1
        self._tokens_in_flight += tokens
        self.requests.take(1, now)
        self.tokens.take(tokens, now)
        return Ticket(now, tokens, self._requests_settled, self._tokens_settled)

    def landed(self, ticket: Ticket, used: int | None, rates: Rates, now: float) -> None:
        """Answered, whatever the answer says: what was reserved and not used is given back."""
        self._ended(ticket)
        self._counted += 1
        if used is not None:
            self.tokens.give_back(ticket.tokens - used, now)
        self._told(ticket, rates, now)
        self.cooldown.over()
        self.window.landed(now)
        self._relax(now)

    def turned_away(
        self, ticket: Ticket, rates: Rates, now: float, advised: float | None = None, *, busy: bool
    ) -> None:
        """Not run. `busy`: the provider's own trouble; else one of our limits."""
        self._ended(ticket)
        self._told(ticket, rates, now)
        news = self.cooldown.begin(ticket.at, now, advised)
        untold = rates.requests_limit is None and rates.tokens_limit is None
        if busy or untold:
            self.window.cut(ticket.at, now)
        if news and untold and not busy:
            self._guess(now)

    def lost(self, ticket: Ticket, now: float) -> None:
        """No answer came: too many at once may be why."""
        self._ended(ticket)
        self.cooldown.begin(ticket.at, now)
        self.window.cut(ticket.at, now)

    def _ended(self, ticket: Ticket) -> None:
        self.in_flight -= 1
        self._tokens_in_flight -= ticket.tokens
        self._requests_settled += 1
        self._tokens_settled += ticket.tokens

    def _told(self, ticket: Ticket, rates: Rates, now: float) -> None:
        unseen = self._requests_settled - ticket.requests_settled - 1 + self.in_flight
        self.requests.told(rates.requests_limit, rates.requests_remaining, unseen, ticket.at, now)
        unseen = self._tokens_settled - ticket.tokens_settled - ticket.tokens + self._tokens_in_flight
        self.tokens.told(rates.tokens_limit, rates.tokens_remaining, unseen, ticket.at, now)

    def _guess(self, now: float) -> None:
        """A limit that nobody tells of is about what got through between two times that it was met.

        Where next to nothing has got through yet, nothing is known of it: the pause is all. Where little has since the
        last guess, that one is only made tighter.
        """
        if self._counted < _ENOUGH and self._guessed_at is None:
            self._counted_from = self._counted_from if self._counted else None
            return
        since = max(1.0, now - (self._counted_from if self._counted_from is not None else now))
        got_through = 60 * self._counted / since * _GUESS
        before = self.requests.limit if self._guessed_at is not None else None
        tighter = got_through if before is None else before * _TIGHTEN
        guess = min(got_through, tighter) if self._counted >= _ENOUGH else tighter
        self.requests.learn(max(_LOWEST_GUESS, guess), now)
        self._guessed_at, self._counted, self._counted_from = now, 0, now
        self._relaxed = _RELAX

    def _relax(self, now: float) -> None:
        quiet = self._guessed_at is not None and now - self._guessed_at >= _QUIET_SECONDS
        if quiet and self.requests.limit is not None:
            self.requests.relax(1 + self._relaxed, now)
            self._relaxed = min(_RELAX_MOST, 2 * self._relaxed)
            self._guessed_at = now
