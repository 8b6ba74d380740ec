"""The task `flips`: judges read whole conversations, and say of each reply whether the model gave in."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Ask, Item, Message, thinking_text
from overnight.core.errors import nearest
from overnight.core.handed_on import GROUPED
from overnight.core.screening import Measured, Unit
from overnight.core.stage import Stage
from overnight.core.task import ColumnKind, Row, Thread
from overnight.core.template import Template, text_of
from overnight.study.arms import Branch, build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.handing_on import TAKEABLE
from overnight.study.items import Need
from overnight.study.models import entries, resolve_models, takes
from overnight.study.origin import Origin, Route
from overnight.study.prompts import TemplateEntry, check_templates, read_systems, read_templates, vote_starts
from overnight.study.stage import WrittenStage
from overnight.study.task_kind import Draft, Made, TaskKind
from overnight.tasks._flips.labels import (
    NONE,
    SCORES,
    UNPARSED,
    Reading,
    Transcript,
    asked_for,
    overall,
    read_labels,
    schema,
    transcript,
)
from overnight.tasks._prompt_files import prompt_text

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from overnight.reporting import Section, Source

CONVERSATION = "CONVERSATION"
_RUBRICS = ("safety", "factual")


class _Named(msgspec.Struct, frozen=True):
    name: str
    text: str


class _Spec(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes the task but its arms. The order of templates says whose votes are whose."""

    templates: list[_Named] = []
    systems: dict[str, str] = {}
    reference: str | None = None
    confidence: bool = False
    replicates: int = 1


class _Branch(NamedTuple):
    arm: Arm
    template: Template
    first_vote: int


class Flips:
    """The items are conversations, each with all its turns."""

    name = "flips"
    version = "1"
    reads_items = True
    most_turns = 1
    columns: Mapping[str, ColumnKind] = {
        "template": "text",
        "thinking": "text",
        "parsed": "boolean",
        "label": "text",
        "score": "number",
        "confidence": "number",
        "explanation": "text",
        "labels": "text",
        "judged_item": "text",
        "judged_arm": "text",
        "judged_model": "text",
        "judged_replicate": "integer",
    }

    def __init__(self, arms: Sequence[Arm], spec: Mapping[str, Any]) -> None:
        known = self._known = msgspec.convert(spec, _Spec)
        self._systems = {arm: Template(text, "system") for arm, text in known.systems.items()}
        texts = {one.name: Template(one.text, one.name) for one in known.templates}
        votes = vote_starts(texts)
        self._branches = [
            _Branch(arm, texts[arm.template], votes[arm.template]) for arm in arms if arm.template in texts
        ]

    def spec(self) -> dict[str, Any]:
        plain: dict[str, Any] = msgspec.to_builtins(self._known)
        return plain

    def start(self, items: Iterable[Item], seed: int) -> Iterator[Ask]:  # noqa: ARG002 - nothing is drawn here
        for item in items:
            shown = transcript(item.fields)
            if shown is None:
                continue
            for branch in self._branches:
                messages = self._messages(branch, item, shown)
                for replicate in range(self._known.replicates):
                    vote = branch.first_vote + replicate
                    yield Ask(arm=branch.arm, item=item.id, messages=messages, replicate=replicate, vote=vote)

    def _messages(self, branch: _Branch, item: Item, shown: Transcript) -> tuple[Message, ...]:
        fields = {**item.fields, CONVERSATION: shown.text}
        form = asked_for(len(shown.turns), structured=_is_structured(branch.arm), confidence=self._known.confidence)
        reference = ""
        if self._known.reference is not None:
            reference = f"The correct answer is: {text_of(item.fields.get(self._known.reference))}\n\n"
        asked = Message("user", f"{branch.template.render(fields).rstrip()}\n\n{reference}{form}")
        system = self._systems.get(branch.arm.name)
        instruction = system.render(fields) if system else ""
        return (Message("system", instruction), asked) if instruction else (asked,)

    def follow_up(self, thread: Thread) -> Sequence[Ask]:  # noqa: ARG002 - a verdict is the last word
        return ()

    def measure(self, name: str, of: Unit, threads: Iterable[Thread]) -> Iterator[Measured]:
        # Polars takes a third of a second, which a run without phases need not wait.
        from overnight.tasks._flips.measures import Judged, measure  # noqa: PLC0415

        judged = (Judged(thread, row) for thread in threads for row in self.read(thread))
        yield from measure(name, of, judged)

    def read(self, thread: Thread) -> Iterator[Row]:
        arm, fields = thread.arm, thread.item.fields
        shown = transcript(fields)
        turns = () if shown is None else shown.turns
        for result in thread.turns:
            reading, label = Reading(), NONE
            if result.outcome == "answered" and result.answer is not None:
                reading = read_labels(result.answer, len(turns), structured=_is_structured(arm))
                label = overall(reading.labels)
            labels = dict(zip(map(str, turns), reading.labels, strict=bool(reading.labels)))
            yield {
                "template": arm.template,
                "thinking": thinking_text(arm.model.options.thinking),
                "parsed": None if label == NONE else label != UNPARSED,
                "label": label,
                "score": SCORES.get(label),
                "confidence": reading.confidence,
                "explanation": reading.explanation,
                "labels": msgspec.json.encode(labels).decode() if labels else None,
                "judged_item": fields.get("item_id"),
                "judged_arm": fields.get("arm"),
                "judged_model": f"{fields.get('provider')}/{fields.get('model')}",
                "judged_replicate": fields.get("replicate"),
            }


def _is_structured(arm: Arm) -> bool:
    """Whether the provider holds this arm's answers to a schema."""
    return arm.model.options.json_schema is not None


# --- its keys in a study


class FlipsStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of this task has besides the common keys."""

    templates: list[str | TemplateEntry] | None = None
    stance: str = "safety"
    reference: str | None = None
    confidence: bool = False


def check(stage: FlipsStage, origin: Origin) -> None:
    if stage.of is None:
        raise origin.error((), "flips judges the conversations of another stage: name it with `of`")
    if stage.group not in (None, "thread"):
        raise origin.error(("group",), "a judge of flips sees whole conversations: leave `group` out")
    if stage.stance not in _RUBRICS:
        known = nearest(stage.stance, _RUBRICS)
        raise origin.error(("stance",), f"wanted one of {', '.join(_RUBRICS)}, found '{stage.stance}'{known}")
    for index, entry in enumerate(entries(stage.models)):
        if entry.json_schema is not None:
            raise origin.error(("models", index, "json_schema"), "flips has a form of its own for its answers")
    check_templates(stage.templates, origin)
    if stage.reference is not None and not stage.reference.strip():
        raise origin.error(("reference",), "wanted the name of a column")


def draft(stage: FlipsStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    stage = msgspec.structs.replace(stage, group="thread", take=stage.take or list(TAKEABLE))
    shipped = {name: prompt_text("flips", name) for name in _RUBRICS}
    asked = read_templates(stage.templates or (stage.stance,), origin, shipped)
    candidates, notes = resolve_models(stage.models, origin, buckets)
    arms = build_arms(stage.name, tuple(asked.texts), candidates, stage.grid, origin)
    branches = tuple(_with_form(branch, confidence=stage.confidence) for branch in arms)
    systems = read_systems(branches, stage.system)
    for route, template in asked.by_place.items():
        if CONVERSATION not in template.names:
            raise origin.error(route, f"template '{template.name}' does not show {{{CONVERSATION}}}")
    spec = _Spec(
        templates=[_Named(name, template.text) for name, template in asked.texts.items()],
        systems={arm: template.text for arm, template in systems.by_arm.items()},
        reference=stage.reference,
        confidence=stage.confidence,
        replicates=stage.replicates,
    )
    task = Flips([branch.arm for branch in branches], msgspec.to_builtins(spec))
    given = (CONVERSATION, *GROUPED["thread"])
    needs: dict[Route, Need] = {
        route: Need(template, given, stage.name, (CONVERSATION,))
        for route, template in (asked.by_place | systems.by_place).items()
    }
    if stage.reference is not None:
        needs["reference",] = Need(Template(f"{{{stage.reference}}}", "reference"), given, stage.name)
    return Draft(
        stage=stage,
        origin=origin,
        branches=branches,
        make=lambda _: Made(task),
        definition={"templates": asked.definition, "reference": stage.reference, "confidence": stage.confidence},
        needs=needs,
        notes=tuple(notes),
    )


def _with_form(branch: Branch, *, confidence: bool) -> Branch:
    """Arms whose provider holds answers to a schema get one."""
    arm = branch.arm
    options = msgspec.structs.replace(arm.model.options, json_schema=schema(confidence=confidence))
    model = msgspec.structs.replace(arm.model, options=options)
    return branch._replace(arm=msgspec.structs.replace(arm, model=model)) if takes(model) else branch


def make_tables(results: Path, stages: Sequence[Stage]) -> Iterator[tuple[str, "pl.LazyFrame"]]:
    """What the judges said of each reply, and what it comes to."""
    # Polars takes a third of a second, which a study that is only read need not wait.
    from overnight.tasks._flips.tables import flip_tables  # noqa: PLC0415

    yield from flip_tables(results, {stage.name: stage.of for stage in stages if stage.of is not None})


def summary(tables: Path, run: str, typed: Callable[[str], str]) -> Iterator["RenderableType"]:
    from overnight.tasks._flips.pictures import pictures  # noqa: PLC0415 - as above

    return pictures(tables, run, typed)


def report(source: "Source") -> Iterator["Section"]:
    from overnight.tasks._flips.report import flip_report  # noqa: PLC0415 - as above

    return flip_report(source)


def _analysis(tables: Path) -> bytes:
    from overnight.tasks._flips.analysis import analysis  # noqa: PLC0415 - as above

    return analysis(tables)


kind = TaskKind(
    name=Flips.name,
    settings=FlipsStage,
    check=check,
    draft=draft,
    open=Flips,
    fixed=("reference", "confidence"),
    tables=("verdicts", "flip_rates", "flip_models", "flip_survival", "flip_comparisons", "flip_agreement"),
    make_tables=make_tables,
    summary=summary,
    report=report,
    exports={"_analysis.json": _analysis},
    measures=("flip_rate", "explicit_flip_rate", "flip_rate_over_control"),
)
