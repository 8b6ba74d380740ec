"""Phases: a stage that comes after another, and the rule by which models or items move on to it."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, cast, get_args

import msgspec

from overnight.core.errors import UnknownName, nearest
from overnight.core.screening import After, MoveOn, Rule, Sense
from overnight.core.stage import Stage
from overnight.core.task import Rounds
from overnight.study.origin import Origin

_RULE = re.compile(r"\s*(?P<measure>\w+)\s*(?P<sense>>=|<=|>|<)\s*(?P<number>[-+.\deE]+)\s*(?P<percent>%?)\s*")
_WANTED = "wanted a measure, one of > >= < <=, and a number, as in `flip_rate > 0.02`"
# A measure's own name, and those of its limits.
_ENDINGS = ("", "_lwr", "_upr")


class AfterEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Which stage it comes after; who moves on, and when; and what share of them is expected to."""

    stage: str
    move_on: str | None = None
    when: str | None = None
    expect: float | None = None


class Staged(Protocol):
    """The part of a stage that is read here."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> str: ...
    @property
    def after(self) -> str | AfterEntry | None: ...


class Half(Protocol):
    """A stage half made: where it was written."""

    @property
    def origin(self) -> Origin: ...


def check_after(after: str | AfterEntry | None, origin: Origin, *, has_items: bool) -> None:
    """What can be known of it without the other stages."""
    if after is None:
        return
    if not has_items:
        raise origin.error(("after",), "this is for a stage with `items`; rows of another stage come when these do")
    if isinstance(after, str):
        return
    choices = get_args(MoveOn)
    if (after.when is None) != (after.move_on is None):
        lacking, there = ("move_on", "when") if after.move_on is None else ("when", "move_on")
        raise origin.error(("after",), f"`{there}` needs `{lacking}` beside it: who moves on, and when")
    if after.move_on is not None and after.move_on not in choices:
        found = f"wanted {', '.join(choices)}, found '{after.move_on}'{nearest(after.move_on, choices)}"
        raise origin.error(("after", "move_on"), found)
    if after.when is not None:
        _read_rule(after.when, origin)
    if after.expect is not None and not 0 <= after.expect <= 1:
        raise origin.error(("after", "expect"), f"{after.expect:g} is not a share between 0 and 1")
    if after.expect is not None and after.when is None:
        raise origin.error(("after", "expect"), "without `when` everything moves on; leave `expect` out")


def _read_rule(text: str, origin: Origin) -> Rule:
    match = _RULE.fullmatch(text)
    try:
        number = None if match is None else float(match["number"])
    except ValueError:
        number = None
    if match is None or number is None:
        raise origin.error(("after", "when"), f"{_WANTED}; found '{text}'")
    share = number / 100 if match["percent"] else number
    return Rule(measure=match["measure"], sense=cast("Sense", match["sense"]), threshold=share)


def check_phases(
    stages: Sequence[Staged], origins: Sequence[Origin], measures: Callable[[], Mapping[str, Sequence[str]]]
) -> None:
    """The stage that one comes after is listed before it, and measures what the rule names.

    `measures` are those of every task, by its name.
    """
    for index, (stage, origin) in enumerate(zip(stages, origins, strict=True)):
        after = as_entry(stage.after)
        if after is None:
            continue
        route = ("after",) if isinstance(stage.after, str) else ("after", "stage")
        earlier = {one.name: one for one in stages[:index]}
        if after.stage not in earlier:
            before = f" (before it: {', '.join(earlier)})" if earlier else "; the first stage comes after none"
            late = any(one.name == after.stage for one in stages)
            found = f"'{after.stage}' is not listed before this one" if late else f"there is no stage '{after.stage}'"
            raise origin.error(route, f"{found}{nearest(after.stage, earlier)}{before}", UnknownName)
        if after.when is None:
            continue
        rule, task = _read_rule(after.when, origin), earlier[after.stage].task
        able = {name: found for name, found in measures().items() if found}
        known = [f"{name}{end}" for name in able.get(task, ()) for end in _ENDINGS]
        if not known:
            those = f"stages of {' and '.join(able)} do" if able else "no task does"
            raise origin.error(route, f"'{after.stage}' is a stage of {task}, which measures nothing; {those}")
        if rule.measure not in known:
            there = ", ".join(able[task])
            found = f"{task} does not measure '{rule.measure}'{nearest(rule.measure, known)}"
            raise origin.error(("after", "when"), f"{found} (it measures {there}, each also with _lwr and _upr)")


def check_moving(stages: Sequence[Stage], drafts: Sequence[Half]) -> None:
    """What a rule decides on must have been asked in the phase before."""
    by_name = {stage.name: stage for stage in stages}
    for stage, draft in zip(stages, drafts, strict=True):
        after = stage.after
        if after is None:
            continue
        if isinstance(stage.task, Rounds):
            raise draft.origin.error(("after",), "a stage that asks in rounds cannot come after another")
        if after.rule is None or after.move_on != "models":
            continue
        source = by_name[after.stage]
        asked = source if source.of is None else by_name[source.of]
        known = list(dict.fromkeys(arm.model.full_name for arm in asked.arms))
        for name in dict.fromkeys(arm.model.full_name for arm in stage.arms):
            if name not in known:
                text = f"{name} is not asked in '{asked.name}', so that nothing is known of it{nearest(name, known)}"
                choice = "`move_on: all` asks all models as soon as one of those meets the rule"
                raise draft.origin.error(("models",), f"{text} (asked there: {', '.join(known)}); {choice}")


def as_entry(after: str | AfterEntry | None) -> AfterEntry | None:
    return AfterEntry(stage=after) if isinstance(after, str) else after


def after_of(written: str | AfterEntry | None) -> After | None:
    """In the engine's words. It has been checked."""
    after = as_entry(written)
    if after is None:
        return None
    rule = None if after.when is None else _read_rule(after.when, Origin())
    move_on = cast("MoveOn", after.move_on or "all")
    return After(stage=after.stage, move_on=move_on, rule=rule, expect=after.expect)


def after_definition(written: str | AfterEntry | None) -> dict[str, Any]:
    """What of it may not change while a run goes on: all but what is expected."""
    after = after_of(written)
    if after is None:
        return {}
    return {"after": {"stage": after.stage, "move_on": after.move_on, "when": after.rule and after.rule.text}}
