"""Answers to one input, compared in pairs: every two candidates, in both orders, on every statement.

An item is an input with all answers to it. What has no partner there is not asked about.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Ask, Item, Message, thinking_text
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template
from overnight.study.prompts import vote_starts
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.form import examples_text
from overnight.tasks._judging.judging import STATEMENT_COLUMNS, JudgingSpec, LeftOut, of_statement
from overnight.tasks._pairs.answer_form import AnswerForm, Reading
from overnight.tasks._pairs.questions import SAMPLES, is_structured

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
    item, first, second = (_unescaped(part) for part in names.split("|"))
    return AnswerPair(item, first, second, int(replicate or 0))


def _escaped(name: str) -> str:
    for mark, written in _ESCAPES:
        name = name.replace(mark, written)
    return name


def _unescaped(written: str) -> str:
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


class _Branch(NamedTuple):
    arm: Arm
    prompt: int
    first_vote: int


class Rank:
    """Templates are filled with a statement, an input and two answers, and end in the form of the verdict."""

    name = "rank"
    version = "1"
    reads_items = True
    most_turns = 1
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

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        templates: Mapping[str, Template] | None = None,
        systems: Mapping[str, Template] | None = None,
        replicates: int = 1,
        left_out: LeftOut | None = None,
    ) -> None:
        """`templates` go by template name, `systems` by arm name."""
        self._templates = dict(templates or {})
        self._systems = dict(systems or {})
        self._replicates = replicates
        self.left_out = left_out or {}
        self._prompts: list[tuple[Template, Template | None, bool]] = []
        self._branches = list(self._grown(arms))

    def _grown(self, arms: Sequence[Arm]) -> Iterator[_Branch]:
        votes = vote_starts(self._templates)
        whole: dict[tuple[str, bool], Template] = {}
        for arm in arms:
            if arm.template not in self._templates:
                continue  # opened from a run's record, to read only
            kind = (arm.template, is_structured(arm))
            if kind not in whole:
                text = FORM.asked_in(self._templates[arm.template].text, structured=kind[1])
                whole[kind] = Template(text, arm.template)
            prompt = (whole[kind], self._systems.get(arm.name), arm.direction == "reverse")
            if prompt not in self._prompts:
                self._prompts.append(prompt)
            yield _Branch(arm, self._prompts.index(prompt), votes[arm.template])

    @classmethod
    def from_spec(cls, arms: Sequence[Arm], spec: Mapping[str, Any]) -> "Rank":
        known = msgspec.convert(spec, JudgingSpec)
        return cls(
            arms,
            templates={entry.name: Template(entry.text, entry.name) for entry in known.templates},
            systems={arm: Template(text, "system") for arm, text in known.systems.items()},
            replicates=known.replicates,
            left_out=known.left_out,
        )

    def spec(self) -> dict[str, Any]:
        return {
            "templates": [{"name": name, "text": template.text} for name, template in self._templates.items()],
            "systems": {arm: template.text for arm, template in self._systems.items()},
            "replicates": self._replicates,
            "left_out": self.left_out,
        }

    def item_of(self, address: str) -> str:
        return pair_at(address).item

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - all pairs are asked about
        for item in items:
            answers = answers_of(item.fields)
            fields = {**item.fields, "examples": examples_text(item.fields)}
            for one, other in combinations(sorted(answers), 2):
                if one[1] == other[1]:
                    pair = AnswerPair(item.id, one[0], other[0], one[1])
                    yield from self._asks(pair, fields, (answers[one], answers[other]))

    def _asks(self, pair: AnswerPair, fields: Mapping[str, Any], answers: tuple[str, str]) -> Iterator[Ask]:
        address = pair_address(pair)
        prompts = [self._messages(*prompt, fields, answers) for prompt in self._prompts]
        for arm, place, first_vote in self._branches:
            for replicate in range(self._replicates):
                yield Ask(
                    arm=arm, item=address, messages=prompts[place], replicate=replicate, vote=first_vote + replicate
                )

    def _messages(
        self,
        template: Template,
        system: Template | None,
        turned: bool,
        fields: Mapping[str, Any],
        answers: tuple[str, str],
    ) -> tuple[Message, ...]:
        shown = answers[::-1] if turned else answers
        whole = {**fields, **dict(zip(SAMPLES, shown, strict=True))}
        asked = Message("user", template.render(whole))
        instruction = system.render(whole) if system else ""
        return (Message("system", instruction), asked) if instruction else (asked,)

    def follow_up(self, thread: Thread) -> Sequence[Ask]:  # noqa: ARG002 - a verdict is the last word
        return ()

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, pair = thread.arm, pair_at(thread.item.id)
        fields = thread.item.fields
        first, second = (pair.second, pair.first) if arm.direction == "reverse" else (pair.first, pair.second)
        lengths = {name: len(answer) for name, answer in answers_of(fields).items()}
        for result in thread.turns:
            answered = result.outcome == "answered" and result.answer is not None
            reading = FORM.read(result.answer or "", structured=is_structured(arm)) if answered else Reading("none")
            yield {
                "template": arm.template,
                "thinking": thinking_text(arm.model.options.thinking),
                "parsed": reading.verdict != "unparsed" if answered else None,
                "subject": pair.item,
                **of_statement(fields),
                "first_id": first,
                "second_id": second,
                "direction": arm.direction,
                "verdict": reading.verdict,
                "winner_id": {"first": first, "second": second}.get(reading.verdict),
                "confidence": reading.confidence,
                "explanation": reading.explanation,
                "first_length": lengths.get((first, pair.replicate)),
                "second_length": lengths.get((second, pair.replicate)),
            }
