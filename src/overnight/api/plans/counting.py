"""What the arms of a study would send, counted request by request."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from overnight.api.plans.estimating import ArmEstimate, Place
from overnight.api.plans.experience import Answers, Experience
from overnight.api.plans.item_errors import SeenArm, risks_by_items
from overnight.api.plans.key_set import KeySet
from overnight.api.plans.pricing import PricesByArm
from overnight.core.ask import Arm, Ask, KeyMaker
from overnight.core.estimate import interval, together
from overnight.core.pack import Packer, Room, even, most_requests
from overnight.core.stage import Stage
from overnight.core.task import Rounds
from overnight.engine.batch.outbox import line_overhead
from overnight.engine.pricing import most_input
from overnight.prices import Processing
from overnight.prices.charges import ceiling
from overnight.providers import batch_format, ready_line, takes_batches, takes_calls, vendor

_NO_LIMIT = Room(requests=1_000_000_000, bytes=1 << 62)
# Characters that no alphabet has, some for each arm: one for each of its turns. All of them are four bytes.
_FIRST_MARK, _LAST_MARK = 0xF0000, 0x10FFFD
_MOST_TURNS, _MARK_BYTES = 16, 4
_MARKS = re.compile(rb"\xf3[\xb0-\xbf][\x80-\xbf]{2}|\xf4[\x80-\x8f][\x80-\xbf]{2}")


class ArmPlan(msgspec.Struct, kw_only=True):
    """What one arm would send. Money is in nano-dollars, and None where nobody can say.

    What follows from answers is counted with the longest answers there can be, where it says `max` or `ceiling`, and
    with answers as long as they are expected to be elsewhere.
    """

    stage: str
    arm: str
    provider: str
    model: str
    # How it is asked: `auto` finishes live what its batches have not finished in time.
    processing: Processing = "batch"
    # How many turns a conversation can have; each of them is a row and a request of its own.
    turns: int = 1
    rows: int = 0
    shared: int = 0
    on_record: int = 0
    requests: int = 0
    batches: int = 0
    bytes: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    # Tokens of the largest request.
    largest: int = 0
    # How long answers are and how that is known; of how many answers; and how many tokens a request is.
    usual_from: str = ""
    seen: int = 0
    tokens_from: str = ""
    max_output_tokens: int | None = None
    # What it is expected to come to; what is enough in nine of ten cases; and between what nine of ten lie.
    expected: int | None = None
    p90: int | None = None
    low: int | None = None
    high: int | None = None
    # The most that these requests can cost.
    ceiling: int | None = None
    # What is expected by batch and live, whatever is planned.
    batch: int | None = None
    live: int | None = None
    # How far off it may be, by reason: standard deviations. Those of one reason add up, also over arms.
    risks: dict[str, float] = {}
    price_note: str = ""
    # Whose price it is, and of which day.
    price_source: str = ""
    # By turn: requests, and the batches that they travel in.
    rounds: tuple[tuple[int, int], ...] = ()
    # The stage whose answers these requests will be about: all of them, as if none failed.
    of: str | None = None


class ArmCount:
    """One arm while its requests are counted."""

    def __init__(
        self,
        arm: Arm,
        stage: Stage,
        processing: Processing,
        prices: PricesByArm,
        output_tokens: int | None,
        experience: Experience,
        number: int,
    ) -> None:
        self.arm = arm
        self.vendor = vendor(arm.model.provider)
        self.keys = KeyMaker(arm)
        self.processing = processing
        self._overhead = line_overhead(batch_format(self.vendor), arm.model) if processing == "batch" else 0
        self._stage = stage
        self._price = prices.get((arm.stage, arm.name, processing))
        self.longest = arm.model.options.max_tokens or output_tokens
        self.answers = experience.answers(arm, stage.task.name, self.longest)
        # By turn, of the answer to the request that was counted last: what follows from it comes next.
        self.last_lengths: dict[int, float] = {}
        self._density = experience.density(arm.model)
        self.estimate = ArmEstimate(arm, experience.requests(arm), prices, processing)
        self._first_mark = _FIRST_MARK + number * _MOST_TURNS
        self._packers = {0: self._packer_for(None)}
        self._counted: Counter[int] = Counter()
        self._begun: Counter[int] = Counter()
        # First requests by their size, whose money is still to be added up.
        self._by_size: Counter[int] = Counter()
        self._asked = KeySet()
        price = self._price
        self.plan = ArmPlan(
            stage=arm.stage,
            arm=arm.name,
            provider=arm.model.provider,
            model=arm.model.name,
            processing=processing,
            turns=stage.task.most_turns,
            usual_from=self.answers.basis,
            seen=self.answers.lengths.answers,
            tokens_from=self.estimate.requests.basis,
            max_output_tokens=None if self.longest is None else 0,
            ceiling=None if self.longest is None or price is None else 0,
            price_note="unknown: no price" if price is None else price.note,
            price_source="" if price is None else price.source,
            of=stage.of,
        )

    def mark(self, turn: int) -> str:
        """What stands for an answer of this arm until there is one: no text has such a character."""
        return chr(min(self._first_mark + min(turn, _MOST_TURNS - 1), _LAST_MARK))

    def is_new(self, key: bytes) -> bool:
        """Whether this arm asks the question for the first time: others may share it, and go on otherwise."""
        return self._stage.task.most_turns > 1 and self._asked.add(key)

    def expect(self, total: int) -> None:
        """Segments are cut evenly, so the number of rows must be known first."""
        self._packers[0] = self._packer_for(total)

    def _packer_for(self, total: int | None) -> Packer:
        if self.processing == "live":
            return Packer(_NO_LIMIT)
        limits = batch_format(self.vendor).limits(self.arm.model)
        pace = self._stage.pace
        least = pace.least(limits.min_rows)
        requests = most_requests(limits.requests, pace.max_requests, least)
        segments = even(total, pace.segments, least) if pace.segments and total else None
        return Packer(Room(requests=requests, bytes=limits.bytes, line=limits.line_bytes, least=least), segments)

    def ready_line(self, custom_id: str, body: bytes) -> bytes:
        """A request as a file has it that can be sent by itself; live, the bare body."""
        return body if self.processing == "live" else ready_line(self.vendor, self.arm.model, custom_id, body)

    def encode(self, ask: Ask) -> bytes:
        return self.vendor.format.encode(ask)

    def add_first(self, sizes: Sequence[int]) -> list[int]:
        """Count first requests in, by the sizes of their bodies; the places of those that begin a new batch.

        Many are of one size: what they cost is added up by size when all are there (`add_up`).
        """
        plan, count = self.plan, len(sizes)
        whole = [size + self._overhead for size in sizes]
        begins = self._packers[0].cuts(whole, [0] * count)
        if self._counted[0] == 0:
            begins = [0, *begins]
        begun = len(begins) if self.processing == "batch" else 0
        self._counted[0] += count
        self._begun[0] += begun
        self._by_size.update(sizes)
        self.last_lengths[0] = self.answers.length(sizes[-1])
        plan.requests += count
        plan.batches += begun
        plan.bytes += sum(whole)
        if plan.max_output_tokens is not None:
            plan.max_output_tokens += count * (self.longest or 0)
        return begins

    def add_up(self) -> None:
        """What the first requests cost that were counted since the last time."""
        plan = self.plan
        for size, count in sorted(self._by_size.items()):
            self.estimate.add(size, self.answers.length(size), (), count=count)
            if plan.ceiling is not None and self._price is not None:
                most = ceiling(self._price, most_input(size + self._overhead, self._density), self.longest)
                plan.ceiling = None if most is None else plan.ceiling + count * most
        self._by_size.clear()

    def add(self, body: bytes, answers: Sequence["ArmCount"], turn: int) -> None:
        """Count one request in that follows from answers. `answers`: whose may stand in it by marks."""
        plan, size = self.plan, len(body)
        more: int | None = 0
        text = 0.0
        inside: list[tuple[Arm, Answers, int]] = []
        for arm, count, before in _marked(body, answers):
            size -= count * _MARK_BYTES
            text += count * arm.last_lengths.get(before, arm.answers.lengths.mean) * arm.answers.bytes_per_token
            more = None if more is None or arm.longest is None else more + count * arm.longest
            inside.append((arm.arm, arm.answers, count))
        whole = size + self._overhead + int(text)
        if turn not in self._packers:
            self._packers[turn] = self._packer_for(None)
        begins = self._packers[turn].starts_new(whole) or self._counted[turn] == 0
        self._counted[turn] += 1
        self._begun[turn] += int(begins and self.processing == "batch")
        plan.requests += 1
        plan.batches += int(begins and self.processing == "batch")
        plan.bytes += whole
        if plan.max_output_tokens is not None:
            plan.max_output_tokens += self.longest or 0
        length = self.last_lengths[turn] = self.answers.length(size + text, turn)
        self.estimate.add(size + text, length, inside, turn)
        if plan.ceiling is not None and self._price is not None:
            tokens = most_input(size + self._overhead, self._density)
            most = None if more is None else ceiling(self._price, tokens + more, self.longest)
            plan.ceiling = None if most is None else plan.ceiling + most

    def planned(self, arms: Mapping[Place, "ArmCount"], by_items: Mapping[Place, dict[str, float]]) -> ArmPlan:
        """With what it is expected to cost; all arms are counted to their ends."""
        plan, estimate = self.plan, self.estimate
        plan.input_tokens = round(estimate.tokens)
        plan.largest = round(estimate.largest)
        turns = range(max(self._counted, default=-1) + 1)
        plan.rounds = tuple((self._counted[turn], self._begun[turn]) for turn in turns)
        if isinstance(self._stage.task, Rounds) and plan.rounds:
            plan.rounds = tuple(self._in_rounds(self._stage.task.about_rounds))
            plan.batches = sum(batches for _, batches in plan.rounds)
        plan.output_tokens = round(estimate.answers)
        plan.batch = _whole(estimate.expected("batch")) if takes_batches(self.vendor) else None
        plan.live = _whole(estimate.expected("live")) if takes_calls(self.vendor) else None
        expected = estimate.expected(self.processing)
        if expected is not None:
            told = by_items.get((self.arm.stage, self.arm.name))
            answers = {place: (one.answers, one.plan.requests) for place, one in arms.items()}
            plan.risks = estimate.risks(answers) if told is None else told
            found = interval(expected, together([plan.risks]), plan.ceiling)
            plan.expected, plan.p90, plan.low, plan.high = map(round, found)
        return plan

    def _in_rounds(self, rounds: int) -> Iterator[tuple[int, int]]:
        """What is left, in as many rounds as are left: each travels by itself."""
        left, whole = self.plan.requests, self.plan.requests + self.plan.on_record
        count = min(max(1, round(rounds * left / max(whole, 1))), max(left, 1))
        full = self._begun[0]
        for number in range(count):
            rows = left // count + (number < left % count)
            yield rows, (-(-full * rows // max(left, 1)) if full else 0)


def planned_arms(arms: Mapping[Place, ArmCount]) -> tuple[ArmPlan, ...]:
    """All arms with their estimates; what is known from rows of the run itself is judged by its items."""
    seen = [
        SeenArm(place, one.answers, one.estimate, one.plan.requests)
        for place, one in arms.items()
        if one.answers.rows and one.estimate.expected(one.processing) is not None
    ]
    by_items = risks_by_items(seen)
    return tuple(one.planned(arms, by_items) for one in arms.values())


def _whole(amount: float | None) -> int | None:
    return None if amount is None else round(amount)


def _marked(body: bytes, arms: Sequence[ArmCount]) -> Iterator[tuple[ArmCount, int, int]]:
    """Whose answers stand in a request by their marks, how often, and of which turn."""
    found = Counter(_MARKS.findall(body))
    for arm in arms if found else ():
        for turn in range(_MOST_TURNS):
            if count := found.pop(arm.mark(turn).encode(), 0):
                yield arm, count, turn
