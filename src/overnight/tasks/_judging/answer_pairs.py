"""Answers to one input, compared in pairs: every two candidates, in both orders, on every statement.

An item is an input with all answers to it. What has no partner there is not asked about.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Ask, Item, thinking_text
from overnight.core.errors import RowDamaged
from overnight.core.handed_on import HANDED_ON
from overnight.core.task import ColumnKind, Row, Thread
from overnight.tasks._judge_prompts import is_structured
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.judging import (
    STATEMENT_COLUMNS,
    AnswerFields,
    StatementFields,
    StatementJudging,
    of_statement,
)
from overnight.tasks._pairs.answer_form import AnswerForm, Reading
from overnight.tasks._pairs.questions import SAMPLES

FORM = AnswerForm(ties=True, none=True, explanation=True)

_ESCAPES = (("%", "%25"), ("|", "%7C"), ("#", "%23"))


class AnswerPair(NamedTuple):
    """Two candidates' answers to one input, in the order of the forward direction."""

    item: str
    first: str
    second: str
    # Which of several answers of each, where models were asked more than once.
    replicate: int = 0


def pair_address(pair: AnswerPair) -> str:
    """`no_spam_0|openai/a|openai/b`, with `#1` for the second answer of each. Marks inside names are escaped."""
    name = "|".join(_escaped(part) for part in pair[:3])
    return f"{name}#{pair.replicate}" if pair.replicate else name


def pair_at(address: str) -> AnswerPair:
    """The pair that `pair_address` has named."""
    names, _, replicate = address.partition("#")
    parts = names.split("|")
    try:
        item, first, second = map(_unescaped, parts) if "%" in names else parts
        return AnswerPair(item, first, second, int(replicate or 0))
    except ValueError as error:
        raise RowDamaged(address, "names no pair of answers") from error


def _escaped(name: str) -> str:
    for mark, written in _ESCAPES:
        name = name.replace(mark, written)
    return name


def _unescaped(written: str) -> str:
    if "%" not in written:
        return written
    for mark, escape in reversed(_ESCAPES):
        written = written.replace(escape, mark)
    return written


def answers_of(fields: Mapping[str, Any]) -> dict[tuple[str, int], str]:
    """By candidate and replicate, the answers that an item holds; empty ones are none."""
    found: dict[tuple[str, int], str] = {}
    for member in fields.get("members") or ():
        answer = member.get("answer")
        if isinstance(answer, str) and answer.strip():
            found[candidate_name(member), member.get("replicate", 0)] = answer
    return found


class _Judgeable(StatementFields, total=False):
    """What rows say of an item, and what its answers are."""

    members: list[AnswerFields]


_READ: msgspec.json.Decoder[_Judgeable] = msgspec.json.Decoder(_Judgeable)


class Rank(StatementJudging):
    """Templates are filled with a statement, an input and two answers, and end in the form of the verdict."""

    name = "rank"
    form = FORM
    columns: Mapping[str, ColumnKind] = {
        "template": "text",
        "thinking": "text",
        "parsed": "boolean",
        "subject": "text",
        **STATEMENT_COLUMNS,
        "first_id": "text",
        "second_id": "text",
        "direction": "text",
        "verdict": "text",
        "winner_id": "text",
        "confidence": "number",
        "explanation": "text",
        "first_length": "integer",
        "second_length": "integer",
    }

    # What rows say of the arm and the item that were read last.
    _last: "_Judged | None" = None

    def _kept(self, named: AbstractSet[str]) -> tuple[str, ...]:
        """A prompt may show all answers as they were handed on."""
        return HANDED_ON if "members" in named else super()._kept(named)

    def item_of(self, address: str) -> str:
        """Of the many rows of a table this is all that is wanted at first, and the rest when a row is read."""
        name, *others = address.split("|")
        return _unescaped(name) if len(others) == 2 else pair_at(address).item

    def addresses_of(self, item: str) -> str:
        return f"{_escaped(item)}|"

    def decode_item(self, line: bytes) -> dict[str, Any]:
        return dict(_READ.decode(line))

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - all pairs are asked about
        for item in items:
            answers, fields = answers_of(item.fields), self._shown(item)
            if fields is None:
                continue
            for one, other in combinations(sorted(answers), 2):
                if one[1] == other[1]:
                    pair = AnswerPair(item.id, one[0], other[0], one[1])
                    yield from self._asks(pair, fields, (answers[one], answers[other]))

    def _asks(self, pair: AnswerPair, fields: Mapping[str, Any], answers: tuple[str, str]) -> Iterator[Ask]:
        def shown(turned: bool) -> dict[str, Any]:
            return {**fields, **dict(zip(SAMPLES, answers[::-1] if turned else answers, strict=True))}

        return self._prompts.asks(pair_address(pair), shown)

    def alike(self, arm: Arm) -> Row:
        thinking = thinking_text(arm.model.options.thinking)
        return {"template": arm.template, "thinking": thinking, "direction": arm.direction}

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, pair = thread.arm, pair_at(thread.item.id)
        first, second = (pair.second, pair.first) if arm.direction == "reverse" else (pair.first, pair.second)
        judged = self._judged(thread.item.fields, arm)
        for result in thread.turns:
            answered = result.outcome == "answered" and result.answer is not None
            reading = FORM.read(result.answer or "", structured=judged.structured) if answered else Reading("none")
            yield {
                **judged.columns,
                "parsed": reading.verdict != "unparsed" if answered else None,
                "subject": pair.item,
                "first_id": first,
                "second_id": second,
                "verdict": reading.verdict,
                "winner_id": first if reading.verdict == "first" else second if reading.verdict == "second" else None,
                "confidence": reading.confidence,
                "explanation": reading.explanation,
                "first_length": judged.lengths.get((first, pair.replicate)),
                "second_length": judged.lengths.get((second, pair.replicate)),
            }

    def _judged(self, fields: Mapping[str, Any], arm: Arm) -> "_Judged":
        """Rows of one arm about one item follow each other, and are given the same two: they are looked at once."""
        if self._last is None or self._last.fields is not fields or self._last.arm is not arm:
            self._last = _Judged(fields, arm)
        return self._last


class _Judged:
    """What all rows of an arm about one item say, and how long the answers are, by candidate and replicate."""

    def __init__(self, fields: Mapping[str, Any], arm: Arm) -> None:
        self.fields, self.arm = fields, arm
        self.structured = is_structured(arm)
        self.lengths = {name: len(answer) for name, answer in answers_of(fields).items()}
        self.columns: Row = of_statement(fields)
