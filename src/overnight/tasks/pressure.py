"""The task `pressure`: a model answers a question, is pressed to take its answer back, and answers again.

Every turn holds the model's real answers so far. The conversation goes on after a refusal, which is often the right
stance, and ends where there are no words to go on from. A control arm asks again without any pressure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

import msgspec

from overnight.core.ask import Arm, Ask, Item, Message, thinking_text
from overnight.core.errors import StudyError
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template, columns_text, nearest_column, text_of
from overnight.study.arms import build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.identity import changed
from overnight.study.items import ItemSource, Need
from overnight.study.models import resolve_models
from overnight.study.origin import Origin, Route
from overnight.study.prompts import read_systems
from overnight.study.task_kind import Command, Draft, Made, TaskKind
from overnight.tasks._pressure.settings import PressureStage, check_pressure
from overnight.tasks._pressure.texts import (
    CONTROL,
    QUESTION,
    QUESTION_SETS,
    Design,
    Phrases,
    Stance,
    phrases,
    shipped_questions,
)
from overnight.terminal.parameters import Parameter

_TEXT = "text"
_PROMPT = "prompt"
_CATEGORY = "category"


class _Spec(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes the task but its arms."""

    phrases: Phrases = Phrases()
    question: str = QUESTION
    prompt: str = _PROMPT
    category: str = _CATEGORY
    systems: dict[str, str] = {}
    replicates: int = 1


class Pressure:
    """Arms with the same model share the first answer to a question: what differs is what is said next."""

    name = "pressure"
    version = "1"
    reads_items = True
    columns: Mapping[str, ColumnKind] = {
        "template": "text",
        "thinking": "text",
        "design": "text",
        "stance": "text",
        "type": "text",
        "category": "text",
        "level": "integer",
        "control": "boolean",
        "question": "text",
        "pressed_with": "text",
    }

    def __init__(self, arms: Sequence[Arm], spec: Mapping[str, Any]) -> None:
        known = self._known = msgspec.convert(spec, _Spec)
        self.most_turns = 1 + known.phrases.turns
        self._arms = {arm.name: arm for arm in arms}
        self._systems = {arm: Template(text, "system") for arm, text in known.systems.items()}
        names = {arm.template for arm in arms}
        self._openings = {name: known.phrases.opening(name) for name in names}
        self._said = {name: known.phrases.said(name, None) for name in names}

    def spec(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self._known)
        return plain

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        for item in items:
            fields = self._fields(item)
            self._check_turns(item, fields)
            for arm in self._arms.values():
                messages = self._opening(arm, fields)
                for replicate in range(self._known.replicates):
                    yield Ask(arm=arm, item=item.id, messages=messages, replicate=replicate, vote=replicate)

    def follow_up(self, thread: Thread) -> Sequence[Ask]:
        """The next turn, after an answer, a refusal or a cut; nothing where no words came that one could go on from."""
        number = len(thread.turns)
        if not 1 <= number < self.most_turns:
            return ()
        arm, fields = thread.arm, self._fields(thread.item)
        messages = [*self._opening(arm, fields)]
        for template, result in zip(self._turns(arm, thread.item), thread.turns, strict=False):
            if result.outcome == "failed" or result.answer is None or not result.answer.strip():
                return ()
            text = template.render({**fields, "answer": result.answer})
            messages += [Message("assistant", result.answer), Message("user", text)]
        return (
            Ask(
                arm=arm,
                item=thread.item.id,
                messages=tuple(messages),
                replicate=thread.replicate,
                turn=number,
                vote=thread.replicate,
            ),
        )

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, item, plan = thread.arm, thread.item, self._known.phrases
        control = arm.template == CONTROL
        cold = plan.design == "cold_start"
        question = item.fields.get(self._known.question)
        category = item.fields.get(self._known.category)
        said = self._turns(arm, item)
        for turn in range(len(thread.turns)):
            pressed = said[turn - 1].text if 0 < turn <= len(said) else None
            if cold and not control:
                pressed = self._openings[arm.template].text
            yield {
                "template": arm.template,
                "thinking": thinking_text(arm.model.options.thinking),
                "design": plan.design,
                "stance": plan.stance,
                "type": arm.template,
                "category": None if category is None else text_of(category),
                "level": int(not control) if cold else turn,
                "control": control,
                "question": None if question is None else text_of(question),
                "pressed_with": pressed,
            }

    def _turns(self, arm: Arm, item: Item) -> list[Template]:
        if self._known.phrases.design != "prompts" or arm.template == CONTROL:
            return self._said[arm.template]
        return self._known.phrases.said(arm.template, text_of(item.fields.get(self._known.prompt)))

    def _opening(self, arm: Arm, fields: Mapping[str, Any]) -> tuple[Message, ...]:
        asked = Message("user", self._openings[arm.template].render(fields))
        system = self._systems.get(arm.name)
        instruction = system.render(fields) if system else ""
        return (Message("system", instruction), asked) if instruction else (asked,)

    def _fields(self, item: Item) -> dict[str, Any]:
        """The item's own, and the question under the name that texts know it by."""
        return {**item.fields, QUESTION: self._text_of(item, self._known.question)}

    def _text_of(self, item: Item, column: str) -> str:
        if column not in item.fields:
            known = f"{columns_text(item.fields.keys())}{nearest_column(column, item.fields.keys())}"
            raise StudyError(f"item '{item.id}' has no column '{column}'; {known}")
        text = text_of(item.fields[column])
        if not text.strip():
            raise StudyError(f"item '{item.id}': column '{column}' is empty")
        return text

    def _check_turns(self, item: Item, fields: Mapping[str, Any]) -> None:
        """What a later turn lacks is said before the first one is paid for."""
        if self._known.phrases.design == "prompts":
            self._text_of(item, self._known.prompt)
        for texts in self._said.values():
            for template in texts:
                template.render({**fields, "answer": ""})


# --- its keys in a study


def draft(stage: PressureStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    said = phrases(cast("Design", stage.design), cast("Stance", stage.stance), stage.levels, stage.types, stage.control)
    candidates, notes = resolve_models(stage.models, origin, buckets)
    branches = tuple(build_arms(stage.name, said.names, candidates, stage.grid, origin))
    systems = read_systems(branches, stage.system)
    if isinstance(stage.items, str) and stage.items in QUESTION_SETS and not (origin.folder / stage.items).exists():
        stage = msgspec.structs.replace(stage, items=shipped_questions(stage.items))

    def make(source: ItemSource) -> Made:
        spec = _Spec(
            phrases=said,
            question=_question_column(source, stage.question, origin),
            prompt=stage.pressing or _PROMPT,
            category=stage.category or _CATEGORY,
            systems={arm: template.text for arm, template in systems.by_arm.items()},
            replicates=stage.replicates,
        )
        _check_columns(source, stage, spec, origin)
        return Made(Pressure([branch.arm for branch in branches], msgspec.to_builtins(spec)), tuple(_notes_on(said)))

    needs: dict[Route, Need] = {route: Need(one, (QUESTION,)) for route, one in systems.by_place.items()}
    for template in said.templates():
        needs[said.design, template.name] = Need(template, (QUESTION, "answer"), None, (QUESTION, "answer"))
    return Draft(
        stage=stage,
        origin=origin,
        branches=branches,
        make=make,
        definition=_definition(stage, said),
        needs=needs,
        notes=tuple(notes),
    )


def _definition(stage: PressureStage, said: Phrases) -> dict[str, Any]:
    columns = {key: getattr(stage, key) for key in ("question", "pressing", "category")}
    types = {one.name: one.text for one in said.types}
    return {"design": said.design, "stance": said.stance, "levels": said.levels, "types": types, **columns} | (
        {"control": said.neutral}
    )


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """Types and a control may be added; those that are there keep their words."""
    before, now = old.get("types") or {}, new.get("types") or {}
    for name, text in before.items():
        if now.get(name, text) != text:
            yield changed(f"types.{name}", text, now[name])
    if old.get("control") and new.get("control") and old["control"] != new["control"]:
        yield changed("control", old["control"], new["control"])


def _question_column(source: ItemSource, written: str | None, origin: Origin) -> str:
    """The one named; else `question`, `text`, or the only one beside the id."""
    columns = _columns(source)
    others = [column for column in columns if column != source.id_column]
    usual = [name for name in (QUESTION, _TEXT) if name in columns]
    name = written or (usual[0] if usual else others[0] if len(others) == 1 else QUESTION)
    if name not in columns:
        known = f"{columns_text(columns)}{nearest_column(name, columns)}"
        raise origin.error(("question",), f"{source.name} has no column '{name}'; {known}; name it with `question`")
    return name


def _columns(source: ItemSource) -> tuple[str, ...]:
    """Rows that need not be alike are known by the first of them."""
    return tuple(source.columns if source.columns is not None else next(source.read()).fields)


def _check_columns(source: ItemSource, stage: PressureStage, spec: _Spec, origin: Origin) -> None:
    wanted = {"pressing": spec.prompt} if stage.design == "prompts" else {}
    wanted |= {"category": spec.category} if stage.category is not None else {}
    columns = _columns(source)
    for key, name in wanted.items():
        if name not in columns:
            known = f"{columns_text(columns)}{nearest_column(name, columns)}"
            raise origin.error((key,), f"{source.name} has no column '{name}'; {known}; name it with `{key}`")


def _notes_on(said: Phrases) -> Iterator[str]:
    if not said.neutral:
        yield "there is no control; `control: true` asks again without pressure, and tells repetition from pressure"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Flags:
    """Press models to take their answers back.

    Each model answers each question, hears an objection, and answers again, with its real answers so far. A stage
    of the task flips, in a study file, judges what came of it. The same command again goes on where the last ended.

    Examples:
      overnight pressure questions.txt --model openai/gpt-5-nano --control
      overnight pressure safety_questions --design types --types dismissal social_proof \\
        --model openai/gpt-4.1-mini anthropic/claude-haiku-4-5
      overnight pressure prompts.csv --design prompts --pressing objection --model gemini/gemini-2.5-flash
    """

    design: Annotated[
        str, Parameter(help="escalation, types, prompts or cold_start; default: escalation.", metavar="DESIGN")
    ] = "escalation"
    levels: Annotated[
        int | None, Parameter(help="How often an escalation presses, 1 to 5; default: 3.", metavar="N")
    ] = None
    types: Annotated[
        list[str] | None,
        Parameter(help="Types of pressure; default: all that ship.", metavar="NAME...", consume_multiple=True),
    ] = None
    control: Annotated[bool, Parameter(help="Ask again without pressure as well, for comparison.")] = False
    stance: Annotated[str, Parameter(help="safety or factual; default: safety.", metavar="STANCE")] = "safety"
    question: Annotated[
        str | None,
        Parameter(help="The column of the questions; default: question, text, or the only other.", metavar="COLUMN"),
    ] = None
    pressing: Annotated[
        str | None,
        Parameter(help="Design prompts: the column of what is said to press; default: prompt.", metavar="COLUMN"),
    ] = None
    category: Annotated[
        str | None, Parameter(help="The column of categories; default: category, if there is one.", metavar="COLUMN")
    ] = None

    def keys(self) -> dict[str, Any]:
        """As a study writes them."""
        own = ("design", "levels", "types", "control", "stance", "question", "pressing", "category")
        return {key: getattr(self, key) for key in own}


kind = TaskKind(
    name=Pressure.name,
    settings=PressureStage,
    check=check_pressure,
    draft=draft,
    open=Pressure,
    fixed=("design", "stance", "levels", "question", "pressing", "category"),
    differences=differences,
    command=Command(
        flags=Flags,
        items_help="Questions: a txt file with one on each line, csv, jsonl; or safety_questions, factual_questions.",
        items_name="questions",
        positional=True,
        named="pressure- and the file's name",
    ),
)
