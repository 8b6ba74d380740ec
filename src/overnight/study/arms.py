"""The arms of a study: each template with each model, thinking setting and direction, less what the grid leaves out."""

import hashlib
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, Literal, NamedTuple

import msgspec

from overnight.core.ask import Arm, thinking_text
from overnight.core.errors import UnknownName, nearest
from overnight.providers import resolve_model
from overnight.study.models import Candidate
from overnight.study.origin import Origin, Route

_canonical = msgspec.json.Encoder(order="deterministic")
_SHORT = 8


class GridRule(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Arms that have one of the values in every field that is given."""

    template: str | list[str] | None = None
    model: str | list[str] | None = None
    thinking: str | int | list[str | int] | None = None
    direction: str | list[str] | None = None


class Grid(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """Which arms are asked: all, or those a rule of `include` matches; less those a rule of `exclude` does."""

    include: list[GridRule] | None = None
    exclude: list[GridRule] | None = None


class Branch(NamedTuple):
    """An arm, its model's place in the study's list, and the system text that the model has for itself.

    `key` is where that list stands: a task may have further models beside `models`.
    """

    arm: Arm
    entry: int
    system: str | None
    key: str = "models"

    @property
    def traits(self) -> dict[str, str]:
        """What a rule of the grid looks at."""
        model = self.arm.model
        return {
            "template": self.arm.template,
            "model": f"{model.provider}/{model.name}",
            "thinking": thinking_text(model.options.thinking),
            "direction": self.arm.direction,
        }

    @property
    def definition(self) -> dict[str, Any]:
        """All that makes this arm's questions, in plain values; the key that pays for them is no part of it."""
        model = self.arm.model
        return {
            "template": self.arm.template,
            "provider": model.provider,
            "model": model.name,
            "direction": self.arm.direction,
            "system": self.system,
            "base_url": model.base_url,
            "options": msgspec.to_builtins(model.options),
        }


def check_grid(grid: Grid | None, origin: Origin) -> None:
    for field, rules in _rules(grid):
        if not rules:
            raise origin.error(("grid", field), "the list is empty")
        for index, rule in enumerate(rules):
            route: Route = ("grid", field, index)
            given = _given(rule)
            if not given:
                raise origin.error(route, "a rule names at least one of template, model, thinking, direction")
            for name, values in given.items():
                if not values:
                    raise origin.error((*route, name), "the list is empty")


def build_arms(
    stage: str,
    templates: Sequence[str],
    candidates: Sequence[Candidate],
    grid: Grid | None,
    origin: Origin,
    directions: Sequence[Literal["forward", "reverse"]] = ("forward",),
    key: str = "models",
) -> list[Branch]:
    """Names are given before the grid is applied, and the first to claim one keeps it: so what is added
    to the end of a list, or let in again by the grid, renames nothing that was there."""
    branches: list[Branch] = []
    names: set[str] = set()
    asked: dict[bytes, int] = {}
    for template, (entry, model, system), direction in product(templates, candidates, directions):
        arm = Arm(stage=stage, name="", template=template, model=model, direction=direction)
        draft = Branch(arm, entry, system, key)
        definition = _canonical.encode(draft.definition)
        if definition in asked:
            same = f"{key}[{asked[definition]}] asks the same: every option is equal"
            raise origin.error((key, entry), same)
        asked[definition] = entry
        name = _free_name(arm_name(draft.traits, model.name), definition, names)
        names.add(name.casefold())
        branches.append(draft._replace(arm=msgspec.structs.replace(arm, name=name)))
    return _apply(grid, branches, origin)


def arm_name(traits: Mapping[str, str], model: str) -> str:
    """`template__provider__model__thinking__direction`."""
    provider = traits["model"].removesuffix(f"/{model}")
    parts = (traits["template"], provider, model, traits["thinking"], traits["direction"])
    return "__".join(re.sub(r"[^A-Za-z0-9_.-]", "-", part) for part in parts)


def _free_name(name: str, definition: bytes, taken: set[str]) -> str:
    """Files are named after arms, and some file systems take `A` and `a` for one."""
    digest = hashlib.blake2b(definition, digest_size=16).hexdigest()
    candidates = (name, *(f"{name}__{digest[:length]}" for length in range(_SHORT, len(digest) + 1)))
    return next(free for free in candidates if free.casefold() not in taken)


def _apply(grid: Grid | None, branches: list[Branch], origin: Origin) -> list[Branch]:
    kept = branches
    for field, rules in _rules(grid):
        matched = set()
        for index, rule in enumerate(rules):
            matched |= _matches(rule, branches, origin, ("grid", field, index))
        kept = [branch for branch in kept if (branch.arm.name in matched) == (field == "include")]
    if not kept:
        raise origin.error(("grid",), "no arm is left")
    return kept


def _matches(rule: GridRule, branches: list[Branch], origin: Origin, route: Route) -> set[str]:
    """Names of the arms that the rule is about; a rule about nothing is a slip of the pen."""
    found = branches
    for name, written in _given(rule).items():
        stored = {branch.arm.model.provider for branch in branches if branch.arm.model.buckets is not None}
        values = [_full_name(value, stored) for value in written] if name == "model" else written
        there = sorted({branch.traits[name] for branch in branches})
        for value in values:
            if value not in there:
                known = f"{nearest(value, there)} (there are: {', '.join(there)})"
                raise origin.error((*route, name), f"no arm has the {name} '{value}'{known}")
        found = [branch for branch in found if branch.traits[name] in values]
    if not found:
        raise origin.error(route, "no arm has all of this together")
    return {branch.arm.name for branch in found}


def _given(rule: GridRule) -> dict[str, list[str]]:
    given: dict[str, list[str]] = {}
    for name in GridRule.__struct_fields__:
        written = getattr(rule, name)
        if written is not None:
            values = written if isinstance(written, list) else [written]
            given[name] = [str(value) for value in values]
    return given


def _full_name(model: str, bucketed: Container[str]) -> str:
    try:
        return "/".join(resolve_model(model, bucketed=bucketed))
    except UnknownName:
        return model


def _rules(grid: Grid | None) -> Iterable[tuple[str, list[GridRule]]]:
    for field in Grid.__struct_fields__:
        rules = getattr(grid, field, None)
        if rules is not None:
            yield field, rules
