"""What studies say of judging by statements, the same for every task that does: whose answers, by which templates."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from overnight.study.arms import Branch, build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.handing_on import given_to
from overnight.study.items import ItemSource, Need
from overnight.study.models import entries, resolve_models, takes
from overnight.study.origin import Origin, Route
from overnight.study.prompts import (
    Systems,
    TemplateEntry,
    Templates,
    check_templates,
    read_systems,
    read_templates,
)
from overnight.study.stage import WrittenStage
from overnight.study.task_kind import Draft, Made
from overnight.tasks._judging.candidates import CandidateRows, open_candidates
from overnight.tasks._judging.form import JudgedForm
from overnight.tasks._judging.judging import Judging
from overnight.tasks._prompt_files import prompt_names, prompt_text
from overnight.tasks._specs.reading import check_spec, read_spec

# What an item must have so that its statement can be told in tables.
_TOLD = "statement_id"


class JudgingStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of such a task has besides the common keys."""

    templates: list[str | TemplateEntry] | None = None
    spec: str | None = None
    candidates: list[str] | dict[str, str] | None = None


class Judges(NamedTuple):
    """The parts of a draft that every such task has."""

    asked: Templates
    branches: tuple[Branch, ...]
    systems: Systems
    rows: CandidateRows | None
    needs: dict[Route, Need]
    notes: tuple[str, ...]


class _Named:
    """A column that is needed although no template shows it."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def missing(self, columns: Iterable[str]) -> str | None:
        lacking = [name for name in self.names if name not in columns]
        if not lacking:
            return None
        return f"the items have no '{lacking[0]}': judging takes answers to the inputs of a spec"


def check_judging(stage: JudgingStage, origin: Origin) -> None:
    """Everything that can be known without opening a file."""
    if stage.items is not None:
        raise origin.error(("items",), f"{stage.task} takes `of`, a stage's answers, or `candidates`, folders of them")
    for index, entry in enumerate(entries(stage.models)):
        if entry.json_schema is not None:
            raise origin.error(("models", index, "json_schema"), f"{stage.task} has a form of its own for its answers")
    check_templates(stage.templates, origin)
    for key, other in (("spec", "candidates"), ("candidates", "spec")):
        if getattr(stage, key) is not None and getattr(stage, other) is None:
            raise origin.error((key,), f"`{key}` goes with `{other}`, which is missing")
    if stage.spec is not None:
        check_spec(stage.spec, origin)
    if stage.candidates is not None and not stage.candidates:
        raise origin.error(("candidates",), "no folder is named")


def read_judges(
    stage: JudgingStage,
    origin: Origin,
    buckets: StudyBuckets | None,
    schema: Mapping[str, Any],
    *,
    given: tuple[str, ...] = (),
    directions: tuple[Any, ...] = ("forward",),
    grouped: bool = False,
) -> Judges:
    """Templates, arms and items. `given` are names that the task fills in itself, for each question."""
    shipped = {name: prompt_text(stage.task, name) for name in prompt_names(stage.task)}
    asked = read_templates(stage.templates or ("default",), origin, shipped)
    models, notes = resolve_models(stage.models, origin, buckets)
    arms = build_arms(stage.name, tuple(asked.texts), models, stage.grid, origin, directions)
    branches = tuple(with_schema(arms, schema))
    systems = read_systems(branches, stage.system)
    rows = None
    if stage.candidates is not None and stage.spec is not None:
        rows = open_candidates(stage.candidates, read_spec(stage.spec, origin), origin, grouped=grouped)
    needs = _needs(stage, asked, systems, given)
    return Judges(asked, branches, systems, rows, needs, tuple(notes))


def _needs(stage: JudgingStage, asked: Templates, systems: Systems, given: tuple[str, ...]) -> dict[Route, Need]:
    asker = stage.name if stage.of is not None else None
    known = (*given_to(stage), *given)
    needs = {route: Need(template, known, asker) for route, template in (asked.by_place | systems.by_place).items()}
    needs["of",] = Need(_Named(_TOLD), known, asker)
    return needs


def with_schema(branches: Iterable[Branch], schema: Mapping[str, Any]) -> Iterator[Branch]:
    """Arms whose provider holds answers to a schema get this one."""
    for branch in branches:
        arm = branch.arm
        options = msgspec.structs.replace(arm.model.options, json_schema=dict(schema))
        model = msgspec.structs.replace(arm.model, options=options)
        yield branch._replace(arm=msgspec.structs.replace(arm, model=model)) if takes(model) else branch


def draft_judging(task: type[Judging], stage: JudgingStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    """Of a task that takes answers one by one."""
    if stage.group is not None:
        raise origin.error(("group",), f"{stage.task} takes answers one by one; leave `group` out")
    judges = read_judges(stage, origin, buckets, JudgedForm(task.form).schema())

    def make(source: ItemSource) -> Made:  # noqa: ARG001 - all that is asked of it are columns
        left_out = {} if judges.rows is None else judges.rows.left_out()
        made = task(
            [branch.arm for branch in judges.branches],
            templates=judges.asked.texts,
            systems=judges.systems.by_arm,
            replicates=stage.replicates,
            left_out=left_out,
        )
        return Made(made, () if judges.rows is None else tuple(judges.rows.notes(left_out)))

    return Draft(
        stage=stage,
        origin=origin,
        branches=judges.branches,
        make=make,
        definition={"templates": judges.asked.definition},
        needs=judges.needs,
        notes=judges.notes,
        rows=judges.rows,
    )
