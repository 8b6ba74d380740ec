"""Answers held to a statement, one by one: the questions, and what judges made of each answer.

An item is one answer with its input and its statement. An answer that is empty is never put to a judge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec

from overnight.core.ask import Arm, Ask, Item, Message, thinking_text
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template
from overnight.study.prompts import vote_starts
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.form import NONE, UNPARSED, Form, JudgedForm, Judgement, examples_text
from overnight.tasks._pairs.questions import is_structured

# By candidate, and by why they are not judged: answers of folders that are none.
LeftOut = dict[str, dict[str, int]]


class _Named(msgspec.Struct, frozen=True):
    name: str
    text: str


class JudgingSpec(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes the task but its arms. Templates are a list: their order says which votes are whose."""

    templates: list[_Named] = []
    systems: dict[str, str] = {}
    replicates: int = 1
    left_out: LeftOut = {}


class _Branch(NamedTuple):
    arm: Arm
    prompt: int
    first_vote: int


# What rows say of what was judged; the same for all tasks that judge by statements.
STATEMENT_COLUMNS: Mapping[str, ColumnKind] = {
    "statement_id": "text",
    "section": "text",
    "statement_type": "text",
    "authority_level": "text",
    "input_index": "integer",
}


def of_statement(fields: Mapping[str, Any]) -> Row:
    """These columns, from an item's fields."""
    index = fields.get("input_index")
    return {
        "statement_id": fields.get("statement_id"),
        "section": fields.get("section") or None,
        "statement_type": fields.get("type") or None,
        "authority_level": fields.get("authority_level") or None,
        "input_index": index if isinstance(index, int) else None,
    }


class Judging:
    """Templates are filled with a statement, an input and an answer, and end in the form of the verdict."""

    name: str
    form: ClassVar[Form]
    version = "1"
    reads_items = True
    most_turns = 1
    columns: Mapping[str, ColumnKind] = {
        "template": "text",
        "thinking": "text",
        "parsed": "boolean",
        "candidate": "text",
        **STATEMENT_COLUMNS,
        "label": "text",
        "score": "number",
        "confidence": "number",
        "explanation": "text",
        "judged_length": "integer",
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
        self._form = JudgedForm(self.form)
        self._prompts: list[tuple[Template, Template | None]] = []
        self._branches = list(self._grown(arms))

    def _grown(self, arms: Sequence[Arm]) -> Iterator[_Branch]:
        votes = vote_starts(self._templates)
        whole: dict[tuple[str, bool], Template] = {}
        for arm in arms:
            if arm.template not in self._templates:
                continue  # opened from a run's record, to read only
            kind = (arm.template, is_structured(arm))
            if kind not in whole:
                text = self._form.asked_in(self._templates[arm.template].text, structured=kind[1])
                whole[kind] = Template(text, arm.template)
            prompt = (whole[kind], self._systems.get(arm.name))
            if prompt not in self._prompts:
                self._prompts.append(prompt)
            yield _Branch(arm, self._prompts.index(prompt), votes[arm.template])

    @classmethod
    def from_spec(cls, arms: Sequence[Arm], spec: Mapping[str, Any]) -> "Judging":
        known = msgspec.convert(spec, JudgingSpec)
        return cls(
            arms,
            templates={entry.name: Template(entry.text, entry.name) for entry in known.templates},
            systems={arm: Template(text, "system") for arm, text in known.systems.items()},
            replicates=known.replicates,
            left_out=known.left_out,
        )

    def spec(self) -> dict[str, Any]:
        known = JudgingSpec(
            templates=[_Named(name, template.text) for name, template in self._templates.items()],
            systems={arm: template.text for arm, template in self._systems.items()},
            replicates=self._replicates,
            left_out=self.left_out,
        )
        plain: dict[str, Any] = msgspec.to_builtins(known)
        return plain

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        for item in items:
            if not str(item.fields.get("answer") or "").strip():
                continue
            fields = {**item.fields, "examples": examples_text(item.fields)}
            prompts = [_messages(template, system, fields) for template, system in self._prompts]
            for arm, place, first_vote in self._branches:
                for replicate in range(self._replicates):
                    yield Ask(
                        arm=arm,
                        item=item.id,
                        messages=prompts[place],
                        replicate=replicate,
                        vote=first_vote + replicate,
                    )

    def follow_up(self, thread: Thread) -> Sequence[Ask]:  # noqa: ARG002 - a verdict is the last word
        return ()

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, fields = thread.arm, thread.item.fields
        for result in thread.turns:
            said = Judgement(NONE)
            if result.outcome == "answered" and result.answer is not None:
                said = self._form.read(result.answer)
            yield {
                "template": arm.template,
                "thinking": thinking_text(arm.model.options.thinking),
                "parsed": None if said.label == NONE else said.label != UNPARSED,
                "candidate": candidate_name(fields),
                **of_statement(fields),
                "judged_length": len(str(fields.get("answer") or "")),
                **said._asdict(),
            }


class Comply(Judging):
    """Does it keep to the statement, or not?"""

    name = "comply"
    form = "comply"


class Grade(Judging):
    """How well does it keep to the statement, from 1 to 5?"""

    name = "grade"
    form = "grade"


def _messages(template: Template, system: Template | None, fields: Mapping[str, Any]) -> tuple[Message, ...]:
    asked = Message("user", template.render(fields))
    instruction = system.render(fields) if system else ""
    return (Message("system", instruction), asked) if instruction else (asked,)
