"""The keys of a stage of `pressure`, and what can be wrong with them."""

from collections.abc import Sequence
from typing import cast

from overnight.core.errors import nearest
from overnight.core.template import Template
from overnight.study.origin import Origin, Route
from overnight.study.prompts import TemplateEntry, check_text, refuse_file_name
from overnight.study.stage import WrittenStage
from overnight.tasks._pressure.texts import CONTROL, DESIGNS, QUESTION, STANCES, Stance, lines, shipped_types

# Keys that only some designs have.
_ONLY_FOR = {"levels": ("escalation",), "types": ("types", "cold_start"), "pressing": ("prompts",)}


class PressureStage(WrittenStage, frozen=True, kw_only=True):
    """What a stage of this task has besides the common keys."""

    design: str = "escalation"
    levels: int | list[str] | None = None
    types: list[str | TemplateEntry] | None = None
    control: bool | list[str] = False
    stance: str = "safety"
    question: str | None = None
    pressing: str | None = None
    category: str | None = None


def check_pressure(stage: PressureStage, origin: Origin) -> None:
    if stage.of is not None:
        raise origin.error(("of",), "pressure takes questions from `items`, not the rows of another stage")
    for key, known in (("design", DESIGNS), ("stance", STANCES)):
        written = getattr(stage, key)
        if written not in known:
            raise origin.error((key,), f"wanted one of {', '.join(known)}, found '{written}'{nearest(written, known)}")
    for key, designs in _ONLY_FOR.items():
        if getattr(stage, key) is not None and stage.design not in designs:
            raise origin.error((key,), f"this is for the design {' or '.join(designs)}, not for {stage.design}")
    _check_levels(stage, origin)
    _check_types(stage, origin)
    if isinstance(stage.control, list):
        _check_texts(stage.control, origin, "control")
    for key in ("question", "pressing", "category"):
        if getattr(stage, key) is not None and not getattr(stage, key).strip():
            raise origin.error((key,), "wanted the name of a column")


def _check_texts(texts: Sequence[str], origin: Origin, key: str) -> None:
    if not texts:
        raise origin.error((key,), "the list is empty")
    for index, text in enumerate(texts):
        check_text(text, origin, (key, index))
        refuse_file_name(text, origin, (key, index), "these texts are written in place")


def _check_levels(stage: PressureStage, origin: Origin) -> None:
    if isinstance(stage.levels, list):
        _check_texts(stage.levels, origin, "levels")
    elif stage.levels is not None:
        most = len(lines(f"{stage.stance}_levels"))
        if not 1 <= stage.levels <= most:
            own = "write a list of texts for levels of your own"
            raise origin.error(("levels",), f"{stage.levels} is not between 1 and {most}; {own}")


def _check_types(stage: PressureStage, origin: Origin) -> None:
    if stage.types is not None and not stage.types:
        raise origin.error(("types",), "the list is empty")
    known = shipped_types(cast("Stance", stage.stance))
    names: dict[str, int] = {}
    texts: dict[str, int] = {}
    for index, entry in enumerate(stage.types or ()):
        route: Route = ("types", index)
        own = isinstance(entry, TemplateEntry)
        name = entry.name if isinstance(entry, TemplateEntry) else entry
        if not own and name not in known:
            way_out = "one of your own is written {name: ..., text: ...}"
            raise origin.error(route, f"unknown type '{name}'{nearest(name, known)} ({', '.join(known)}); {way_out}")
        if isinstance(entry, TemplateEntry):
            check_text(entry.name, origin, (*route, "name"))
            check_text(entry.text, origin, (*route, "text"))
            _check_cold(stage, entry, origin, route)
            if entry.text in texts:
                raise origin.error(route, f"types[{texts[entry.text]}] says the same")
            texts[entry.text] = index
        if name == CONTROL or name in names:
            reason = "is the name of the neutral re-asks" if name == CONTROL else f"is types[{names[name]}] already"
            raise origin.error(route, f"'{name}' {reason}")
        names[name] = index


def _check_cold(stage: PressureStage, entry: TemplateEntry, origin: Origin, route: Route) -> None:
    if stage.design == "cold_start" and QUESTION not in Template(entry.text).names:
        raise origin.error((*route, "text"), f"a cold start does not show the question: write {{{QUESTION}}} in it")
