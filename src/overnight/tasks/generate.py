"""The task `generate`: each item is put to each arm, as often as there are replicates, and answered in text.

Further turns go on in the same conversation, each when the answer before it has landed.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Ask, Item, Message, thinking_text
from overnight.core.errors import StudyError
from overnight.core.handed_on import HANDED_ON
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template, columns_text, nearest_column
from overnight.study.arms import build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.handing_on import given_to
from overnight.study.items import ItemSource, Need
from overnight.study.models import resolve_models
from overnight.study.origin import Origin, Route
from overnight.study.prompts import (
    Systems,
    TemplateEntry,
    Templates,
    check_templates,
    check_text,
    read_systems,
    read_templates,
    refuse_file_name,
    vote_starts,
)
from overnight.study.stage import WrittenStage
from overnight.study.task_kind import Command, Draft, Made, TaskKind
from overnight.tasks._json_answers import AnswerSchema, columns_of
from overnight.tasks._prompt_files import prompt_names, prompt_text
from overnight.tasks._rendering import rendered, with_instructions
from overnight.tasks._specs.inputs import open_spec
from overnight.tasks._specs.reading import check_spec
from overnight.tasks._specs.speceval_generate import SpecEvalFlags
from overnight.tasks._written_messages import MessagesColumn, messages_of
from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    from overnight.reporting import Section, Source

# What a further turn may name besides the item's columns: the model's last answer, which wins over a column.
LAST_ANSWER = "answer"
# An input of a specification is the whole question, unless a template says otherwise.
AS_IT_IS = "input"
# Prompts that are rendered together: few enough that long texts take little memory.
_AT_ONCE = 50


class _Named(msgspec.Struct, frozen=True):
    name: str
    text: str


class _Spec(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes the task but its arms. Templates are a list: their order says which votes are whose."""

    templates: list[_Named] = []
    messages: str | None = None
    systems: dict[str, str] = {}
    turns: list[str] = []
    replicates: int = 1


class _Branch(NamedTuple):
    """An arm, which of the rendered prompts it is asked, and where its votes begin."""

    arm: Arm
    prompt: int
    first_vote: int


class Generate:
    """Templates are filled from an item's fields; or a column holds the messages themselves."""

    name = "generate"
    version = "1"
    # Besides these, one for each field that answers are to have by a schema.
    columns: Mapping[str, ColumnKind] = {"template": "text", "thinking": "text", "parsed": "boolean"}

    def __init__(
        self,
        arms: Sequence[Arm],
        *,
        templates: Mapping[str, Template] | None = None,
        messages: str | None = None,
        systems: Mapping[str, Template] | None = None,
        turns: Sequence[Template] = (),
        replicates: int = 1,
    ) -> None:
        """`templates` go by template name, `systems` by arm name; `messages` is a column instead of templates."""
        self.most_turns = 1 + len(turns)
        self.reads_items = bool(turns)
        self._templates = dict(templates or {})
        self._column = messages
        self._systems = dict(systems or {})
        self._turns = tuple(turns)
        self._replicates = replicates
        schemas = {arm.name: arm.model.options.json_schema for arm in arms}
        self._schemas = {arm: AnswerSchema(schema) for arm, schema in schemas.items() if schema is not None}
        self.columns = {**self.columns, **columns_of(self._schemas.values())}
        self._prompts: list[tuple[Template | None, Template | None]] = []
        self._branches: dict[str, _Branch] = {}
        first_votes = vote_starts(self._templates)
        for arm in arms:
            prompt = (self._templates.get(arm.template), self._systems.get(arm.name))
            if prompt not in self._prompts:
                self._prompts.append(prompt)
            place = self._prompts.index(prompt)
            self._branches[arm.name] = _Branch(arm, place, first_votes.get(arm.template, 0))
        self.kept_fields = self._kept()
        self._at_once = max(1, _AT_ONCE // max(1, len(self._prompts)))

    @classmethod
    def from_spec(cls, arms: Sequence[Arm], spec: Mapping[str, Any]) -> "Generate":
        """The task again from what `spec` gave; answers can be read, but nothing asked, when it is empty."""
        known = msgspec.convert(spec, _Spec)
        return cls(
            arms,
            templates={entry.name: Template(entry.text, entry.name) for entry in known.templates},
            messages=known.messages,
            systems={arm: Template(text, "system") for arm, text in known.systems.items()},
            turns=turn_templates(known.turns),
            replicates=known.replicates,
        )

    def spec(self) -> dict[str, Any]:
        known = _Spec(
            templates=[_Named(name, template.text) for name, template in self._templates.items()],
            messages=self._column,
            systems={arm: template.text for arm, template in self._systems.items()},
            turns=[template.text for template in self._turns],
            replicates=self._replicates,
        )
        plain: dict[str, Any] = msgspec.to_builtins(known)
        return plain

    def _kept(self) -> tuple[str, ...]:
        """All but the conversation, which says the item and the answer once more: only where it is asked about."""
        texts = (*self._templates.values(), *self._systems.values(), *self._turns)
        asked = {self._column, *(name for text in texts for name in text.names)}
        return tuple(name for name in HANDED_ON if name != "conversation" or asked & {"conversation", "members"})

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        coming, replicates = iter(items), range(self._replicates)
        while some := list(islice(coming, self._at_once)):
            prompts = [self._messages(some, template, system) for template, system in self._prompts]
            self._check_turns(some)
            for number, item in enumerate(some):
                for arm, place, first_vote in self._branches.values():
                    messages = prompts[place][number]
                    for vote, replicate in enumerate(replicates, first_vote):
                        yield Ask(arm=arm, item=item.id, messages=messages, replicate=replicate, vote=vote)

    def follow_up(self, thread: Thread) -> Sequence[Ask]:
        """The next turn, with the whole conversation so far before it; nothing after anything but an answer."""
        number = len(thread.turns)
        if not 1 <= number <= len(self._turns) or thread.turns[-1].outcome != "answered":
            return ()
        branch = self._branches[thread.arm.name]
        messages = [*self._messages([thread.item], *self._prompts[branch.prompt])[0]]
        for template, result in zip(self._turns, thread.turns, strict=False):
            if result.answer is None:
                return ()
            text = template.render({**thread.item.fields, LAST_ANSWER: result.answer})
            messages += [Message("assistant", result.answer), Message("user", text)]
        if not messages[-1].content.strip():
            return ()
        return (
            Ask(
                arm=branch.arm,
                item=thread.item.id,
                messages=tuple(messages),
                replicate=thread.replicate,
                turn=number,
                vote=branch.first_vote + thread.replicate,
            ),
        )

    def alike(self, arm: Arm) -> Row:
        known = {"template": arm.template, "thinking": thinking_text(arm.model.options.thinking)}
        return known if arm.name in self._schemas else {**dict.fromkeys(self.columns), **known}

    def read(self, thread: Thread) -> Iterator[Row]:
        schema = self._schemas.get(thread.arm.name)
        for result in thread.turns:
            read = None if schema is None or result.answer is None else schema.read(result.answer)
            parsed = None if schema is None or result.answer is None else read is not None
            yield {"parsed": parsed, **(read or {})}

    def _check_turns(self, items: Sequence[Item]) -> None:
        """What a later turn lacks is said before the first one is paid for."""
        for template in self._turns:
            rendered(template, [Item(item.id, {**item.fields, LAST_ANSWER: "any"}) for item in items])

    def _messages(
        self, items: Sequence[Item], template: Template | None, system: Template | None
    ) -> list[tuple[Message, ...]]:
        asked: list[tuple[Message, ...]]
        if template:
            asked = [(Message("user", text),) for text in rendered(template, items)]
        else:
            asked = [self._written_messages(item) for item in items]
        return asked if system is None else with_instructions(system, items, asked)

    def _written_messages(self, item: Item) -> tuple[Message, ...]:
        column = self._column
        if column is None or column not in item.fields:
            columns = item.fields.keys()
            known = f"{columns_text(columns)}{nearest_column(column or '', columns)}"
            raise StudyError(f"item '{item.id}' has no column '{column}' with its messages; {known}")
        try:
            return messages_of(item.fields[column])
        except (msgspec.DecodeError, UnicodeEncodeError) as error:
            wanted = 'wanted a list like [{"role": "user", "content": "..."}]'
            raise StudyError(f"item '{item.id}', column '{column}': {wanted}; {error}") from None


def turn_templates(texts: Iterable[str]) -> tuple[Template, ...]:
    """Further turns by the numbers they have in tables: the first question is turn 0."""
    return tuple(Template(text, f"turn {number}") for number, text in enumerate(texts, 1))


# --- its keys in a study


class GenerateStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of this task has besides the common keys."""

    prompt: str | None = None
    templates: list[str | TemplateEntry] | None = None
    messages: str | None = None
    turns: list[str] | None = None
    spec: str | None = None
    inputs: Any = None


def check(stage: GenerateStage, origin: Origin) -> None:
    _check_spec(stage, origin)
    given = [way for way in ("prompt", "templates", "messages") if getattr(stage, way) is not None]
    if len(given) > 1 or (not given and stage.inputs is None):
        found = " and ".join(given) or "none of them"
        raise origin.error((), f"wanted one of `prompt`, `templates` and `messages`, found {found}")
    if stage.prompt is not None:
        check_text(stage.prompt, origin, ("prompt",))
    check_templates(stage.templates, origin)
    if stage.messages is not None and not stage.messages.strip():
        raise origin.error(("messages",), "wanted the name of a column")
    if stage.turns is not None and not stage.turns:
        raise origin.error(("turns",), "the list is empty")
    for index, text in enumerate(stage.turns or ()):
        check_text(text, origin, ("turns", index))


def _check_spec(stage: GenerateStage, origin: Origin) -> None:
    if stage.spec is None:
        return
    if stage.inputs is None and not (stage.prompt or stage.templates or stage.messages):
        ways = "give its `inputs`, or say with `prompt` or `templates` what is asked about each statement"
        raise origin.error(("spec",), f"`spec` alone asks nothing: {ways}")
    check_spec(stage.spec, origin)


def draft(stage: GenerateStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    asked = _questions(stage, origin)
    turns = turn_templates(stage.turns or ())
    for index, text in enumerate(stage.turns or ()):
        refuse_file_name(text, origin, ("turns", index), "turns are written in place")
    candidates, notes = resolve_models(stage.models, origin, buckets)
    branches = tuple(build_arms(stage.name, tuple(asked.texts) or ("messages",), candidates, stage.grid, origin))
    systems = read_systems(branches, stage.system)
    rows = open_spec(stage.spec, stage.inputs, origin)

    def make(source: ItemSource) -> Made:
        task = Generate(
            [branch.arm for branch in branches],
            templates=asked.texts,
            messages=stage.messages,
            systems=systems.by_arm,
            turns=turns,
            replicates=stage.replicates,
        )
        more = () if rows is None else rows.notes()
        return Made(task, (*_hidden_answers(stage, turns, source.columns or ()), *more))

    return Draft(
        stage=stage,
        origin=origin,
        branches=branches,
        make=make,
        definition={"templates": asked.definition, "messages": stage.messages, "turns": stage.turns},
        needs=_needs(stage, asked, systems, turns),
        notes=(*notes, *_constant_templates(asked)),
        rows=rows,
    )


def _questions(stage: GenerateStage, origin: Origin) -> Templates:
    if stage.inputs is not None and not (stage.prompt or stage.templates or stage.messages):
        return Templates({AS_IT_IS: Template(f"{{{AS_IT_IS}}}", AS_IT_IS)}, {AS_IT_IS: ("inputs",)})
    if stage.prompt is None:
        about_specs = () if stage.spec is None else prompt_names("generate")
        shipped = {name: prompt_text("generate", name) for name in about_specs}
        return read_templates(stage.templates or (), origin, shipped)
    refuse_file_name(stage.prompt, origin, ("prompt",), "to use a file write templates: [{name}]")
    return Templates({"prompt": Template(stage.prompt)}, {"prompt": ("prompt",)})


def _needs(stage: GenerateStage, asked: Templates, systems: Systems, turns: Sequence[Template]) -> dict[Route, Need]:
    # A statement may have no examples.
    given = (*given_to(stage), "examples") if stage.spec is not None and stage.inputs is None else given_to(stage)
    asker = stage.name if stage.of is not None else None
    needs = {route: Need(template, given, asker) for route, template in (asked.by_place | systems.by_place).items()}
    if stage.messages is not None:
        needs["messages",] = Need(MessagesColumn(stage.messages), given, asker)
    for index, turn in enumerate(turns):
        needs["turns", index] = Need(turn, (*given, LAST_ANSWER), asker, (LAST_ANSWER,))
    return needs


def _constant_templates(asked: Templates) -> list[str]:
    return [
        f"template '{name}' names no column: every item is asked the same"
        for name, template in asked.texts.items()
        if not template.names
    ]


def _hidden_answers(stage: GenerateStage, turns: Sequence[Template], columns: Collection[str]) -> Iterator[str]:
    if any(LAST_ANSWER in turn.names for turn in turns) and (stage.of is not None or LAST_ANSWER in columns):
        yield f"{{{LAST_ANSWER}}} in `turns` is the model's last answer, not the items'"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Flags(SpecEvalFlags):
    """Ask models about every item of a table, or every input of a spec.

    The same command again goes on where the last one ended. A changed question needs a new --name, or --as to
    reuse the answers that still fit.

    Examples:
      overnight generate --items fruit.csv --prompt "Describe {text}." \\
        --model openai/gpt-4.1-mini
      overnight generate --items texts/ --template ask.txt --max-tokens 500 \\
        --model openai/gpt-4.1 openai/gpt-4.1-mini
      overnight generate --spec rules.jsonl --inputs inputs/ --model openai/gpt-4.1
      overnight generate --spec rules.jsonl --template judge_prompt --model openai/gpt-4.1
    """

    prompt: Annotated[
        str | None, Parameter(help="The question; {name} stands for the item's column of that name.", metavar="TEXT")
    ] = None
    template: Annotated[
        Path | None,
        Parameter(help="A file that holds the question, or judge_prompt, instead of --prompt.", metavar="FILE"),
    ] = None

    def keys(self) -> dict[str, Any]:
        by_spec = self.spec_keys()
        both = self.prompt is not None and self.template is not None
        if both or (self.prompt is None and self.template is None and not by_spec.get("inputs")):
            inputs = "a specification goes with --inputs; or, about its statements themselves, " if by_spec else ""
            raise StudyError(f"generate: {inputs}wanted one of --prompt and --template")
        templates = None if self.template is None else [str(self.template)]
        return {"prompt": self.prompt, "templates": templates, **by_spec}


def report(source: "Source") -> Iterator["Section"]:
    # Polars takes a third of a second, which a study that is only read need not wait.
    from overnight.tasks._answer_report import answer_report  # noqa: PLC0415

    return answer_report(source)


kind = TaskKind(
    name=Generate.name,
    settings=GenerateStage,
    check=check,
    draft=draft,
    open=Generate.from_spec,
    fixed=("messages", "turns"),
    item_keys=("spec", "inputs"),
    holds_tables=(("inputs",),),
    report=report,
    command=Command(
        flags=Flags,
        items_help="A csv, tsv, xlsx, jsonl or parquet file, or a folder of .txt files; or see --inputs.",
        optional=True,
        named="generate- and the items' file name",
    ),
)
