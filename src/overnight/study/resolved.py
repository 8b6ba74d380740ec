"""A study made ready: files read, models found at their providers, arms named, items opened."""

import msgspec

from overnight.core.ask import Arm
from overnight.core.template import Template
from overnight.study.arms import Branch, build_arms
from overnight.study.identity import Definition, define
from overnight.study.items import ItemSource, Needs, open_items
from overnight.study.models import resolve_models
from overnight.study.origin import Origin, Route
from overnight.study.pace import BatchSettings, PollSettings, timeout_seconds
from overnight.study.prompts import Prompts, read_prompts
from overnight.study.study import Settings, Study, read_settings
from overnight.tasks._contract import Task
from overnight.tasks.generate import Generate


class ResolvedStage(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One stage with everything the engine needs; `notes` are what the user should know before paying."""

    name: str
    task: Task
    arms: tuple[Arm, ...]
    items: ItemSource
    replicates: int
    seed: int
    dedupe: bool
    batch: BatchSettings
    poll: PollSettings
    timeout_seconds: float
    notes: tuple[str, ...]


class Resolved(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """A study's stages, and what defines their questions, as they were at one reading of its files."""

    name: str
    stages: tuple[ResolvedStage, ...]
    definition: Definition


def definition(study: Study) -> Definition:
    """What may not change between runs of the study, but may grow: see `differences`."""
    return resolve(study).definition


def resolve(study: Study) -> Resolved:
    """Raises a StudyError for everything that is wrong with the study and can be known before it is sent."""
    origin = study.origin
    settings = read_settings(study)
    prompts = read_prompts(settings, origin)
    candidates, notes = resolve_models(settings.models, origin)
    branches = build_arms(settings.task, prompts.names, candidates, settings.grid, origin)
    systems, routes = _systems(branches, prompts)
    items = _opened(settings, prompts, routes, origin)
    arms = tuple(branch.arm for branch in branches)
    task = Generate(
        arms,
        templates=prompts.templates,
        messages=prompts.messages,
        systems=systems,
        replicates=settings.replicates,
    )
    stage = ResolvedStage(
        name=settings.task,
        task=task,
        arms=arms,
        items=items,
        replicates=settings.replicates,
        seed=settings.seed,
        dedupe=settings.dedupe,
        batch=settings.batch or BatchSettings(),
        poll=settings.poll or PollSettings(),
        timeout_seconds=timeout_seconds(settings.timeout, origin),
        notes=(*notes, *_constant_templates(prompts)),
    )
    defined = define(stage, prompts, branches, items.id_column)
    return Resolved(name=settings.name, stages=(stage,), definition=defined)


def _systems(branches: list[Branch], prompts: Prompts) -> tuple[dict[str, Template], dict[Route, Template]]:
    """The system text of each arm that has one, by the arm's name; and each by its place in the study."""
    by_place: dict[Route, Template] = {}
    by_arm: dict[str, Template] = {}
    for branch in branches:
        route: Route = ("system",)
        template = prompts.system
        if branch.system is not None:
            route = ("models", branch.entry, "system")
            template = by_place.get(route) or Template(branch.system, "system")
        if template:
            by_place[route] = template
            by_arm[branch.arm.name] = template
    return by_arm, by_place


def _opened(settings: Settings, prompts: Prompts, systems: dict[Route, Template], origin: Origin) -> ItemSource:
    """The items, with the columns checked that are known by now, and the first row read to see that it can be."""
    asking = {prompts.routes[name]: template for name, template in prompts.templates.items()} | systems
    needs = Needs(tuple(asking.values()), prompts.messages)
    items = open_items(settings.items, settings.id, origin, needs)
    if items.columns is not None:
        for route, template in asking.items():
            if problem := template.missing(items.columns):
                raise origin.error(route, problem)
        if problem := needs.missing(items.columns):
            raise origin.error(("messages",), problem)
    next(items.read())
    return items


def _constant_templates(prompts: Prompts) -> list[str]:
    return [
        f"template '{name}' names no column: every item is asked the same"
        for name, template in prompts.templates.items()
        if not template.names
    ]
