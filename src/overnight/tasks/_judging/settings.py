"""What studies say of judging by statements, the same for every task that does: whose answers, by which templates."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from overnight.study.arms import Branch, build_arms
from overnight.study.buckets import StudyBuckets
from overnight.study.handing_on import given_to
from overnight.study.items import ItemSource, Need
from overnight.study.models import entries, resolve_models
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
from overnight.tasks._judge_prompts import with_schema
from overnight.tasks._judging.answer_pairs import Rank
from overnight.tasks._judging.candidates import CandidateRows, open_candidates
from overnight.tasks._judging.judging import Judging
from overnight.tasks._judging.written_prompts import (
    JUDGE_PROMPT,
    STATEMENT,
    from_stage,
    prompt_notes,
    read_prompt_files,
)
from overnight.tasks._prompt_files import prompt_names, prompt_text
from overnight.tasks._specs.reading import check_spec, read_spec

# What an item must have so that its statement can be told in tables.
_TOLD = "statement_id"


class JudgingStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of such a task has besides the common keys."""

    templates: list[str | TemplateEntry] | None = None
    spec: str | None = None
    candidates: list[str] | dict[str, str] | None = None
    # One judge prompt for each statement: the stage that writes them, or where they lie.
    prompts: str | None = None
    prompt_files: Any = None


class Judges(NamedTuple):
    """The parts of a draft that every such task has."""

    asked: Templates
    branches: tuple[Branch, ...]
    systems: Systems
    rows: CandidateRows | None
    prompt_files: dict[str, str] | None
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
    if stage.prompts is not None and stage.of is None:
        problem = "a stage's prompts go with answers of a stage, `of`; for `candidates` name files with `prompt_files`"
        raise origin.error(("prompts",), problem)
    if stage.prompts is not None and stage.prompt_files is not None:
        raise origin.error(("prompt_files",), "`prompts` says where judge prompts come from; leave one of the two out")


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
    by_prompt = _by_prompt(stage)
    asked = read_templates(stage.templates or ("written" if by_prompt else "default",), origin, shipped)
    models, notes = resolve_models(stage.models, origin, buckets)
    arms = build_arms(stage.name, tuple(asked.texts), models, stage.grid, origin, directions)
    branches = tuple(with_schema(arms, schema))
    systems = read_systems(branches, stage.system)
    spec = None if stage.spec is None else read_spec(stage.spec, origin)
    files = None if stage.prompt_files is None else read_prompt_files(stage.prompt_files, origin, spec)
    rows = None
    if stage.candidates is not None and spec is not None:
        rows = open_candidates(stage.candidates, spec, origin, prompts=files, grouped=grouped)
    if by_prompt:
        _check_shown(asked, systems, origin)
    needs = _needs(stage, asked, systems, (*given, *([JUDGE_PROMPT] if by_prompt else ())))
    return Judges(asked, branches, systems, rows, files, needs, tuple(notes))


def _by_prompt(stage: JudgingStage) -> bool:
    return stage.prompts is not None or stage.prompt_files is not None


def _check_shown(asked: Templates, systems: Systems, origin: Origin) -> None:
    """A judge prompt that no judge sees would be paid for nothing."""
    if any(JUDGE_PROMPT in template.names for template in systems.by_place.values()):
        return
    for route, template in asked.by_place.items():
        if JUDGE_PROMPT not in template.names:
            raise origin.error(route, f"template '{template.name}' does not show {{{JUDGE_PROMPT}}}, the judge prompt")


def _needs(stage: JudgingStage, asked: Templates, systems: Systems, given: tuple[str, ...]) -> dict[Route, Need]:
    asker = stage.name if stage.of is not None else None
    known = (*given_to(stage), *given)
    needs = {route: Need(template, known, asker) for route, template in (asked.by_place | systems.by_place).items()}
    needs["of",] = Need(_Named(_TOLD), known, asker)
    return needs


def draft_judging(task: type[Judging | Rank], judges: Judges, stage: JudgingStage, origin: Origin) -> Draft:
    """Of a task whose judges have been read."""

    def make(source: ItemSource) -> Made:
        left_out = {} if judges.rows is None else judges.rows.left_out()
        made = task(
            [branch.arm for branch in judges.branches],
            templates=judges.asked.texts,
            systems=judges.systems.by_arm,
            replicates=stage.replicates,
            left_out=left_out,
            by_prompt=_by_prompt(stage),
            prompt_files=judges.prompt_files,
        )
        notes = [] if judges.rows is None else list(judges.rows.notes(left_out))
        if judges.prompt_files is not None and judges.rows is None:
            statements = dict.fromkeys(str(item.fields.get(STATEMENT)) for item in source.read())
            notes += prompt_notes(judges.prompt_files, statements)
        return Made(made, tuple(notes))

    prompts: dict[str, Any] = {}
    if _by_prompt(stage):
        prompts = {"prompts": stage.prompts, "prompt_files": judges.prompt_files}
    return Draft(
        stage=stage,
        origin=origin,
        branches=judges.branches,
        make=make,
        definition={"templates": judges.asked.definition, **prompts},
        needs=judges.needs,
        notes=judges.notes,
        rows=judges.rows,
        beside=None if stage.prompts is None else from_stage(stage.prompts),
    )


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    """None may change or go, since answers may have been judged by it.

    More may come where answers lie in folders. Those of a stage were handed on, or left behind, with what there was.
    """
    before, now = old.get("prompt_files") or {}, new.get("prompt_files") or {}
    for statement, text in before.items():
        if statement not in now:
            yield f"prompt_files: the prompt of '{statement}' is gone"
        elif now[statement] != text:
            yield f"prompt_files: the prompt of '{statement}' changed"
    added = [statement for statement in now if statement not in before]
    if added and (not before or new.get("of") is not None):
        yield f"prompt_files: there was no prompt of '{added[0]}'"


def draft_one_by_one(task: type[Judging], stage: JudgingStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    """Of a task that takes answers one by one."""
    if stage.group is not None:
        raise origin.error(("group",), f"{stage.task} takes answers one by one; leave `group` out")
    return draft_judging(task, read_judges(stage, origin, buckets, task.form.schema()), stage, origin)
