"""A stage half made: its texts read, its models found and its arms named; its items are not opened yet."""

from collections.abc import Sequence
from typing import NamedTuple

from overnight.core.ask import Buckets
from overnight.core.errors import StudyError
from overnight.core.template import Template
from overnight.engine.decisions import Mode, first_processing
from overnight.providers import batch_format, live_format, vendor
from overnight.study.arms import Branch, build_arms
from overnight.study.comparing import Comparison, builtin_templates, check_places, read_comparison, with_answer_forms
from overnight.study.handing_on import HANDED_ON
from overnight.study.items import MessagesColumn, Need
from overnight.study.models import resolve_models
from overnight.study.origin import Origin, Route
from overnight.study.prompts import Prompts, read_prompts
from overnight.study.stage import StageSettings
from overnight.tasks.generate import LAST_ANSWER


class Draft(NamedTuple):
    """`systems` go by the arms' names; `needs`, what is asked of each item, by the place that asks it.

    `comparison` is there for the task `compare`, whose templates ask nothing of single items.
    """

    settings: StageSettings
    origin: Origin
    prompts: Prompts
    branches: tuple[Branch, ...]
    systems: dict[str, Template]
    needs: dict[Route, Need]
    notes: tuple[str, ...]
    comparison: Comparison | None = None


def draft_stage(settings: StageSettings, origin: Origin, buckets: Buckets | None = None) -> Draft:
    draft = _compared if settings.task == "compare" else _generated
    return draft(settings, origin, buckets)


def _compared(settings: StageSettings, origin: Origin, buckets: Buckets | None) -> Draft:
    comparison = read_comparison(settings)
    prompts = read_prompts(settings, origin, builtin_templates())
    candidates, notes = resolve_models(settings.models, origin, buckets)
    arms = build_arms(settings.name, prompts.names, candidates, settings.grid, origin, comparison.directions)
    branches = tuple(with_answer_forms(arms, prompts.templates, comparison.form))
    systems, by_place = _systems(branches, prompts)
    check_places({prompts.routes[name]: one for name, one in prompts.templates.items()} | by_place, origin)
    return Draft(settings, origin, prompts, branches, systems, {}, tuple(notes), comparison)


def _generated(settings: StageSettings, origin: Origin, buckets: Buckets | None) -> Draft:
    prompts = read_prompts(settings, origin)
    candidates, notes = resolve_models(settings.models, origin, buckets)
    branches = tuple(build_arms(settings.name, prompts.names, candidates, settings.grid, origin))
    systems, by_place = _systems(branches, prompts)
    needs = _needs(settings, prompts, by_place)
    return Draft(settings, origin, prompts, branches, systems, needs, (*notes, *_constant_templates(prompts)))


def check_processing(draft: Draft, mode: Mode) -> None:
    """Each model's provider must take what the study's mode sends."""
    for branch in draft.branches:
        seller = vendor(branch.arm.model.provider)
        try:
            (batch_format if first_processing(mode, seller) == "batch" else live_format)(seller)
        except StudyError as error:
            raise draft.origin.error(("models", branch.entry), str(error)) from None


def _systems(branches: Sequence[Branch], prompts: Prompts) -> tuple[dict[str, Template], dict[Route, Template]]:
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


def _needs(settings: StageSettings, prompts: Prompts, systems: dict[Route, Template]) -> dict[Route, Need]:
    given = HANDED_ON if settings.of is not None else ()
    asker = settings.name if settings.of is not None else None
    asking = {prompts.routes[name]: template for name, template in prompts.templates.items()} | systems
    needs = {route: Need(template, given, asker) for route, template in asking.items()}
    if prompts.messages is not None:
        needs["messages",] = Need(MessagesColumn(prompts.messages), given, asker)
    for index, turn in enumerate(prompts.turns):
        needs["turns", index] = Need(turn, (*given, LAST_ANSWER), asker)
    return needs


def _constant_templates(prompts: Prompts) -> list[str]:
    return [
        f"template '{name}' names no column: every item is asked the same"
        for name, template in prompts.templates.items()
        if not template.names
    ]
