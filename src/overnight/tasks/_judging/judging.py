"""Answers held to a statement, one by one: the questions, and what judges made of each answer.

An item is one answer with its input and its statement. An answer that is empty is never put to a judge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Self, TypedDict

import msgspec

from overnight.core.ask import Arm, Ask, Item, thinking_text
from overnight.core.errors import RowDamaged
from overnight.core.handed_on import HANDED_ON
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template
from overnight.tasks._judge_prompts import JudgePrompts, KeptPrompts, VerdictForm
from overnight.tasks._judging.candidate_names import candidate_name
from overnight.tasks._judging.form import NONE, UNPARSED, JudgedForm, Judgement
from overnight.tasks._judging.written_prompts import JUDGE_PROMPT, prompt_for
from overnight.tasks._specs.reading import examples_text

# By candidate, and by why they are not judged: answers of folders that are none.
LeftOut = dict[str, dict[str, int]]


class JudgingSpec(KeptPrompts, frozen=True, kw_only=True):
    """All that makes the task but its arms."""

    left_out: LeftOut = msgspec.field(default_factory=dict)
    # Whether each statement has a judge prompt of its own; and those that came from files.
    by_prompt: bool = False
    prompt_files: dict[str, str] = msgspec.field(default_factory=dict)


# What tells whose an answer is, which, and the answer itself.
_NEEDED = frozenset({"answer", "item_id", "replicate", "arm", "provider", "model", "template", "thinking"})

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


class StatementFields(TypedDict, total=False):
    """What rows say of what was judged, as an item has it."""

    statement_id: Any
    section: Any
    type: Any
    authority_level: Any
    input_index: Any


class AnswerFields(TypedDict, total=False):
    """What tells whose an answer is, and the answer; not all that was said before it.

    Answers from folders bring `candidate`, those of a stage the rest.
    """

    answer: Any
    replicate: Any
    candidate: Any
    arm: Any
    provider: Any
    model: Any
    template: Any
    thinking: Any


class StatementJudging:
    """What tasks that judge by statements have in common: their prompts, and whom nobody is asked about."""

    name: str
    columns: Mapping[str, ColumnKind]
    form: ClassVar[VerdictForm]
    version = "1"
    reads_items = True
    most_turns = 1

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        templates: Mapping[str, Template] | None = None,
        systems: Mapping[str, Template] | None = None,
        replicates: int = 1,
        left_out: LeftOut | None = None,
        by_prompt: bool = False,
        prompt_files: Mapping[str, str] | None = None,
    ) -> None:
        """`templates` go by template name, `systems` by arm name, `prompt_files` by statement.

        `by_prompt`: each statement has a judge prompt of its own, from these files or handed on with the answer.
        """
        self.left_out = left_out or {}
        self.by_prompt = by_prompt
        self.prompt_files = dict(prompt_files or {})
        self._prompts = JudgePrompts(arms, self.form, templates, systems, replicates)
        self.kept_fields = self._kept({name for text in self._prompts.texts for name in text.names})

    def _kept(self, named: AbstractSet[str]) -> tuple[str, ...]:
        """What of an answer is kept with an item: all that rows say of it, and what prompts name."""
        return tuple(name for name in HANDED_ON if name in _NEEDED or name in named)

    @classmethod
    def from_spec(cls, arms: Sequence[Arm], spec: Mapping[str, Any]) -> Self:
        known = msgspec.convert(spec, JudgingSpec)
        return cls(
            arms,
            left_out=known.left_out,
            by_prompt=known.by_prompt,
            prompt_files=known.prompt_files,
            **known.arguments(),
        )

    def spec(self) -> dict[str, Any]:
        own = {"by_prompt": self.by_prompt, "prompt_files": self.prompt_files}
        return JudgingSpec.of(self._prompts, left_out=self.left_out, **own).plain()

    def _shown(self, item: Item) -> dict[str, Any] | None:
        """What templates may name of an item; None where its statement has no judge prompt, and is to have one."""
        fields = {**item.fields, "examples": examples_text(item.fields)}
        if not self.by_prompt:
            return fields
        prompt = prompt_for(item.fields, self.prompt_files)
        return None if prompt is None else {**fields, JUDGE_PROMPT: prompt}

    def follow_up(self, thread: Thread) -> Sequence[Ask]:  # noqa: ARG002 - a verdict is the last word
        return ()


class _Judged(StatementFields, AnswerFields, total=False):
    """What `read` looks at of an item, which also holds the input and all that was said."""


_READ: msgspec.json.Decoder[_Judged] = msgspec.json.Decoder(_Judged)


class Judging(StatementJudging):
    """Templates are filled with a statement, an input and an answer, and end in the form of the verdict."""

    name: str
    form: ClassVar[JudgedForm]
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

    def decode_item(self, line: bytes) -> dict[str, Any]:
        return dict(_READ.decode(line))

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        for item in items:
            shown = self._shown(item)
            if shown is not None and str(item.fields.get("answer") or "").strip():
                yield from self._asks(item.id, shown)

    def _asks(self, name: str, fields: Mapping[str, Any]) -> Iterator[Ask]:
        return self._prompts.asks(name, lambda _: fields)

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, fields = thread.arm, thread.item.fields
        try:
            candidate = candidate_name(fields)
        except KeyError as error:
            raise RowDamaged(thread.item.id, "is about no answer that the run has") from error
        for result in thread.turns:
            said = Judgement(NONE)
            if result.outcome == "answered" and result.answer is not None:
                said = self.form.read(result.answer)
            yield {
                "template": arm.template,
                "thinking": thinking_text(arm.model.options.thinking),
                "parsed": None if said.label == NONE else said.label != UNPARSED,
                "candidate": candidate,
                **of_statement(fields),
                "judged_length": len(str(fields.get("answer") or "")),
                **said._asdict(),
            }


class Comply(Judging):
    """Does it keep to the statement, or not?"""

    name = "comply"
    form = JudgedForm("comply")


class Grade(Judging):
    """How well does it keep to the statement, from 1 to 5?"""

    name = "grade"
    form = JudgedForm("grade")
