"""Which models or items move on to a later phase: the rule, what was measured, and the decision, which is pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Literal, NamedTuple, Protocol

import msgspec

# Who moves on: each model by itself, each item by itself, or the whole stage as soon as one model does.
MoveOn = Literal["models", "items", "all"]
Sense = Literal[">", ">=", "<", "<="]
# What one measure is of.
Unit = Literal["model", "item"]

# So many of those that did not move on are named.
_SHOWN = 3
_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le}


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """`flip_rate > 0.02`."""

    measure: str
    sense: Sense
    threshold: float

    @property
    def text(self) -> str:
        return f"{self.measure} {self.sense} {self.threshold:g}"

    def holds(self, value: float) -> bool:
        return bool(_COMPARE[self.sense](value, self.threshold))


class After(msgspec.Struct, frozen=True, kw_only=True):
    """A stage begins when another is over. With a rule, only what the rule lets through is asked.

    `expect` is the share that the user expects to move on: it is for plans, and decides nothing.
    """

    stage: str
    move_on: MoveOn = "all"
    rule: Rule | None = None
    expect: float | None = None

    @property
    def unit(self) -> Unit:
        return "item" if self.move_on == "items" else "model"


class Measured(NamedTuple):
    """What was measured of one model or item, over `n` observations; no value where nothing could be measured."""

    unit: str
    n: int
    value: float | None
    lwr: float | None
    upr: float | None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the rule holds for one model or item, and by which figures."""

    unit: str
    n: int
    value: float | None
    lwr: float | None
    upr: float | None
    moved: bool
    why: str


def decide(after: After, units: Iterable[str], measured: Mapping[str, Measured]) -> Iterator[Decision]:
    """For each unit in turn. What could not be measured does not move on: nothing is known that speaks for it."""
    rule = after.rule
    assert rule is not None
    for unit in units:
        found = measured.get(unit)
        if found is None:
            why = f"{after.stage} says nothing of it"
            yield Decision(unit=unit, n=0, value=None, lwr=None, upr=None, moved=False, why=why)
            continue
        moved = found.value is not None and rule.holds(found.value)
        yield Decision(**found._asdict(), moved=moved, why=_why(rule, found, moved=moved))


def _why(rule: Rule, found: Measured, *, moved: bool) -> str:
    if found.value is None:
        return "nothing could be measured"
    return f"{rule.measure} {found.value:.6g} is {'' if moved else 'not '}{rule.sense} {rule.threshold:g}"


def moved_on_text(stage: str, after: After, decisions: Sequence[Decision]) -> str:
    """`deeper: 1 of 3 models moved on (flip_rate > 0.02); not: a, b`."""
    assert after.rule is not None
    moved = [one for one in decisions if one.moved]
    others = [one.unit for one in decisions if not one.moved]
    what = {"model": "models", "item": "items"}[after.unit]
    if after.move_on == "all":
        told = "everything is asked" if moved else "nothing is asked"
        return f"{stage}: {told}, because {after.rule.text} in {len(moved):,} of {len(decisions):,} {what}"
    shown = f"; not: {', '.join(others[:_SHOWN])}" if others else ""
    more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
    return f"{stage}: {len(moved):,} of {len(decisions):,} {what} moved on ({after.rule.text}){shown}{more}"


class Phased(Protocol):
    """The part of a stage that says which phase it is in."""

    @property
    def name(self) -> str: ...
    @property
    def of(self) -> str | None: ...
    @property
    def after(self) -> After | None: ...


def phase_numbers(stages: Iterable[Phased]) -> dict[str, int]:
    """By stage, from 1 on: a stage is in the phase of the one whose rows it takes, and comes after another's."""
    numbers: dict[str, int] = {}
    for stage in stages:
        before = 0 if stage.after is None else numbers[stage.after.stage]
        numbers[stage.name] = before + 1 if stage.of is None else numbers[stage.of]
    return numbers
