"""What is known before anything is sent: how long answers are, and how many tokens a request is.

By what the run itself has seen of the same arm; else of the same model in the same stage; else by what other runs have
seen of that model in that task; else by an assumption that is said as one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from overnight.core.ask import Arm, Model
from overnight.core.errors import OvernightError
from overnight.core.estimate import (
    DOUBT_OF_A_DENSITY,
    DOUBT_OF_A_NEIGHBOUR,
    DOUBT_OF_ANOTHER_STUDY,
    DOUBT_OF_ANOTHER_TEXT,
    ENOUGH,
    ByLength,
    Lengths,
    Line,
    assumed_lengths,
    by_length,
    lengths_of,
    line_of,
)
from overnight.core.wording import number_of
from overnight.engine.account_history import DEFAULT_TOKENS_PER_BYTE
from overnight.ledger.account_book import KnownAccount, Lessons, known_accounts, lessons_in
from overnight.ledger.answers import Sized
from overnight.ledger.ledger import look_at
from overnight.providers import thinks_by_itself, vendor
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

# Tokens of an answer, where nobody knows better: some paragraphs.
USUAL_ANSWER = 300
# What is thought before it, where a model thinks, by how much it is told to.
USUAL_REASONING = {"minimal": 100, "low": 500, "medium": 1_500, "high": 4_000}
# So many rows of an arm tell as much as all of them.
_MOST_ROWS = 4_000
# From here on a measure is better than the default, as it is where money is set aside.
_ENOUGH_BYTES = 1_000


class Answers(NamedTuple):
    """The answers that an arm will give: their lengths, what they are as text, and where that is known from.

    `reason` names the evidence: what two arms owe to the same one goes up and down together.
    """

    lengths: Lengths
    bytes_per_token: float
    basis: str
    reason: str
    # By turn, where enough was seen of it: the mean, and how answers go with their requests, where they plainly do.
    turns: Mapping[int, tuple[float, ByLength | None]] = {}
    # The rows of the same arm that all this is known from; none where it is known from elsewhere.
    rows: Sequence[Sized] = ()

    def length(self, size: float, turn: int = 0) -> float:
        """Of an answer to a request of so many bytes, in that turn."""
        mean, line = self.turns.get(turn, (self.lengths.mean, None))
        return mean if line is None else line.length(size)


class Requests(NamedTuple):
    """The requests of an arm: their tokens by their bytes, the share that comes from a cache, and how that is known."""

    line: Line
    cached: float
    basis: str
    reason: str
    # By turn, where enough was seen of it: what is around the texts grows with their number.
    turns: Mapping[int, Line] = {}

    def line_of(self, turn: int) -> Line:
        return self.turns.get(turn, self.line)


class Experience:
    """Read once for a plan: from the run's own ledger, and from what all runs have learned. Both may be missing."""

    def __init__(self, folder: RunFolder, place: Settings) -> None:
        history = place.accounts
        self._lessons: Lessons = lessons_in(history)
        self._accounts: list[KnownAccount] = []
        with suppress(OvernightError):
            self._accounts = known_accounts(history)
        self._own: dict[tuple[str, str], tuple[Arm, list[Sized]]] = {}
        # A ledger that cannot be read tells nothing here; whoever asks for that run hears what is wrong.
        with suppress(OvernightError):
            if folder.exists():
                with look_at(folder) as view:
                    rows = view.answers.sizes(_MOST_ROWS)
                    arms = view.stages.arms().items()
                    self._own = {(arm.stage, arm.name): (arm, rows.get(number, [])) for number, arm in arms}

    @property
    def lessons(self) -> Lessons:
        """What all runs together have seen."""
        return self._lessons

    def answers(self, arm: Arm, task: str, longest: int | None) -> Answers:
        """`longest`: what an answer may be at most, reasoning included."""
        whole = f"{arm.stage}/{arm.name}"
        own = lengths_of((row.output, 1) for row in self._of_arm(arm))
        near = lengths_of(((row.output, 1) for row in self._of_model(arm)), DOUBT_OF_A_NEIGHBOUR)
        far, per_token = self._of_task(arm.model, task)
        levels = [
            (own, "in this run", f"answers of {whole}"),
            (near, "of this model in this stage", f"answers of {_named(arm.model)} in {arm.stage}"),
            (far, f"of this model{_thinking(arm.model)} in this task", f"answers of {_named(arm.model)} to {task}"),
        ]
        enough = [level for level in levels if level[0] is not None and level[0].answers >= ENOUGH]
        some = [level for level in levels if level[0] is not None]
        for lengths, where, reason in enough or some:
            assert lengths is not None
            mean = f"{lengths.mean:,.0f} tokens an answer, the mean of {number_of(lengths.answers, 'answer')} {where}"
            rows = self._of_arm(arm) if lengths is own else []
            text = per_token or 1 / DEFAULT_TOKENS_PER_BYTE
            return Answers(lengths.within(longest), text, mean, reason, _answers_by_turn(rows), rows)
        return assumed_answers(arm.model, longest)

    def requests(self, arm: Arm) -> Requests:
        rows = self._of_arm(arm)
        own = line_of((row.bytes, row.input, 1) for row in rows)
        learned = self._of_requests(arm.model)
        for line, where, reason in (
            (own, "in this run", f"tokens of {arm.stage}/{arm.name}"),
            (learned, "of this model", f"tokens of {_named(arm.model)}"),
        ):
            if line is not None and line.requests >= ENOUGH:
                total = sum(row.input for row in rows)
                cached = sum(min(row.cached, row.input) for row in rows) / total if own is line and total else 0.0
                told = f"{1 / line.slope:.1f} bytes a token, from {number_of(line.requests, 'answer')} {where}"
                return Requests(line, cached, told, reason, _lines_by_turn(rows) if line is own else {})
        return ASSUMED_REQUESTS

    def density(self, model: Model) -> float:
        """Tokens for a byte as they are set aside by: what an account has measured, the highest where several have."""
        places = [
            one.tokens / one.bytes
            for one in self._accounts
            if one.model == model.name and one.account.startswith(f"{model.provider}|") and one.bytes >= _ENOUGH_BYTES
        ]
        return max(places, default=DEFAULT_TOKENS_PER_BYTE)

    def _of_arm(self, arm: Arm) -> list[Sized]:
        known = self._own.get((arm.stage, arm.name))
        return [] if known is None else known[1]

    def _of_model(self, arm: Arm) -> Iterable[Sized]:
        for one, rows in self._own.values():
            if one.stage == arm.stage and _asked(one.model) == _asked(arm.model):
                yield from rows

    def _of_task(self, model: Model, task: str) -> tuple[Lengths | None, float | None]:
        provider, name, thinking = _asked(model)
        own = [
            one
            for one in self._lessons.answers
            if (one.provider, one.model, one.thinking, one.task) == (provider, name, thinking, task) and one.answers > 0
        ]
        tokens, text = sum(one.tokens for one in own), sum(one.bytes for one in own)
        found = lengths_of(((one.tokens / one.answers, one.answers) for one in own), DOUBT_OF_ANOTHER_STUDY)
        return found, (text / tokens if tokens and text else None)

    def _of_requests(self, model: Model) -> Line | None:
        own = [one for one in self._lessons.requests if (one.provider, one.model) == (model.provider, model.name)]
        points = ((one.bytes / one.requests, one.tokens / one.requests, one.requests) for one in own if one.requests)
        return line_of(points, DOUBT_OF_ANOTHER_TEXT)


def _by_turn(rows: Sequence[Sized]) -> Iterator[tuple[int, list[Sized]]]:
    """Turns of which enough was seen to be told apart."""
    turns: dict[int, list[Sized]] = {}
    for row in rows:
        turns.setdefault(row.turn, []).append(row)
    yield from ((turn, own) for turn, own in turns.items() if len(own) >= ENOUGH)


def _answers_by_turn(rows: Sequence[Sized]) -> dict[int, tuple[float, ByLength | None]]:
    found = {}
    for turn, own in _by_turn(rows):
        lengths = lengths_of((row.output, 1) for row in own)
        assert lengths is not None
        found[turn] = (lengths.mean, by_length([(row.bytes, row.output) for row in own]))
    return found


def _lines_by_turn(rows: Sequence[Sized]) -> dict[int, Line]:
    lines = ((turn, line_of((row.bytes, row.input, 1) for row in own)) for turn, own in _by_turn(rows))
    return {turn: line for turn, line in lines if line is not None}


def assumed_answers(model: Model, longest: int | None) -> Answers:
    """Where nobody has answered yet."""
    reasoning = reasoning_of(model)
    tokens = USUAL_ANSWER + reasoning
    per_token = USUAL_ANSWER / tokens / DEFAULT_TOKENS_PER_BYTE
    if longest is not None and longest < tokens:
        basis = f"{longest:,} tokens an answer, its limit"
        # At its limit or below: half of it is as far as the truth can be expected to lie away.
        half = Lengths(float(longest), longest / 2, 0, 0.5)
        return Answers(half, 1 / DEFAULT_TOKENS_PER_BYTE, basis, "answers at their limit")
    thought = f", {reasoning:,} of them reasoning" if reasoning else ""
    basis = f"{tokens:,} tokens an answer{thought}, an assumption"
    return Answers(assumed_lengths(tokens), per_token, basis, "answers of a usual length")


ASSUMED_REQUESTS = Requests(
    Line(0.0, DEFAULT_TOKENS_PER_BYTE, doubt=DOUBT_OF_A_DENSITY),
    0.0,
    f"{1 / DEFAULT_TOKENS_PER_BYTE:.1f} bytes a token, an assumption",
    "tokens of a usual text",
)


def reasoning_of(model: Model) -> int:
    """What a model usually thinks before it answers, in tokens; an assumption."""
    thinking = model.options.thinking
    if thinking is None and not thinks_by_itself(vendor(model.provider), model):
        return 0
    if isinstance(thinking, int):
        return thinking // 2
    return 0 if thinking == "off" else USUAL_REASONING.get(thinking or "medium", USUAL_REASONING["medium"])


def _asked(model: Model) -> tuple[str, str, str]:
    """Who answers, and how much they are told to think."""
    thinking = model.options.thinking
    return model.provider, model.name, "" if thinking is None else str(thinking)


def _named(model: Model) -> str:
    return "/".join(part for part in _asked(model) if part)


def _thinking(model: Model) -> str:
    thinking = model.options.thinking
    return "" if thinking is None else f" with thinking {thinking}"
