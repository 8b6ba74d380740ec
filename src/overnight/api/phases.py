"""Phases of a study: what each is expected to cost, what it has cost, and who moved on to it."""

from collections.abc import Mapping, Sequence

import msgspec

from overnight.api.plans.counting import ArmPlan
from overnight.core.screening import Decision, moved_on_text, phase_numbers
from overnight.core.stage import Stage
from overnight.engine.flow.phases import SAMPLE
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import View
from overnight.prices import dollars
from overnight.store.run_folder import RunFolder
from overnight.tables.screening import stage_rules

# The fact that tells what each stage was expected to cost when the run began.
EXPECTED = "expected"


class PhasePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One phase before it is paid for, in nano-dollars; None where nobody can say.

    `expected` and `ceiling` count everything as moving on; `by_rule` is what is expected to, or what has moved on.
    """

    number: int
    stages: tuple[str, ...]
    expected: int | None
    ceiling: int | None
    by_rule: int | None = None
    # The rules by which it begins; and whether they have decided.
    rules: tuple[str, ...] = ()
    decided: bool = False

    @property
    def text(self) -> str:
        about = "at an unknown price" if self.expected is None else f"about {dollars(self.expected)}"
        most = "" if self.ceiling is None else f", at most {dollars(self.ceiling)}"
        told = f"phase {self.number} ({', '.join(self.stages)}): {about}{most}"
        if not self.rules:
            return told
        if self.decided:
            return f"{told}, for what moved on ({'; '.join(self.rules)})"
        likely = "" if self.by_rule is None else f"; about {dollars(self.by_rule)} if as many do as you expect"
        return f"{told} if all move on ({'; '.join(self.rules)}){likely}; nothing if none does"


class PhaseCost(msgspec.Struct, frozen=True, kw_only=True):
    """One phase of a run, in nano-dollars: what it was expected to cost when the run began, and what it has cost."""

    number: int
    stages: tuple[str, ...]
    spent: int
    expected: int | None = None
    # Who moved on to it, in words; or what it waits for.
    moved_on: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        about = "" if self.expected is None else f", of about {dollars(self.expected)} expected"
        everybody = " if all move on" if self.expected is not None and self.number > 1 else ""
        told = "".join(f"; {one}" for one in self.moved_on)
        return f"phase {self.number} ({', '.join(self.stages)}): {dollars(self.spent)} spent{about}{everybody}{told}"


def decided(folder: RunFolder) -> dict[str, list[Decision]]:
    """By stage, where a rule has decided already."""
    if not folder.exists():
        return {}
    with look_at(folder) as view:
        rows = [stage for stage in stage_rules(view) if stage.after is not None and stage.after.rule is not None]
        return {stage.name: view.screening.decisions(stage.id) for stage in rows if view.screening.opened(stage.id)}


def phase_plans(
    stages: Sequence[Stage], arms: Sequence[ArmPlan], decisions: Mapping[str, Sequence[Decision]]
) -> tuple[PhasePlan, ...]:
    """None for a study in which no stage comes after another."""
    numbers = phase_numbers(stages)
    shares = _shares(stages, decisions)
    found = []
    for number in sorted(set(numbers.values())) if len(set(numbers.values())) > 1 else ():
        own = [stage for stage in stages if numbers[stage.name] == number]
        names = tuple(stage.name for stage in own)
        mine = [arm for arm in arms if arm.stage in names]
        ruled = [stage for stage in own if stage.after is not None and stage.after.rule is not None]
        expected, ceiling = (_sum([getattr(arm, field) for arm in mine]) for field in ("expected", "ceiling"))
        likely = [_scaled(arm.expected, shares[arm.stage]) for arm in mine]
        texts = (f"{one.after.move_on}: {one.after.rule.text}" for one in ruled if one.after and one.after.rule)
        found.append(
            PhasePlan(
                number=number,
                stages=names,
                expected=expected,
                ceiling=ceiling,
                by_rule=_sum(likely),
                rules=tuple(dict.fromkeys(texts)),
                decided=bool(ruled) and all(stage.name in decisions for stage in ruled),
            )
        )
    return tuple(found)


def _shares(stages: Sequence[Stage], decisions: Mapping[str, Sequence[Decision]]) -> dict[str, float | None]:
    """What share of each stage is expected to be asked; None where nobody has said. What is decided is counted."""
    shares: dict[str, float | None] = {}
    for stage in stages:
        if stage.of is not None:
            shares[stage.name] = shares[stage.of]
        elif stage.after is None or stage.name in decisions:
            shares[stage.name] = 1.0
        else:
            own = 1.0 if stage.after.rule is None else stage.after.expect
            before = shares[stage.after.stage]
            shares[stage.name] = None if own is None or before is None else own * before
    return shares


def _scaled(amount: int | None, share: float | None) -> int | None:
    return None if amount is None or share is None else round(amount * share)


def _sum(amounts: Sequence[int | None]) -> int | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None


def expected_costs(arms: Sequence[ArmPlan]) -> str:
    """By stage, as it is kept when a run begins."""
    names = dict.fromkeys(arm.stage for arm in arms)
    sums = {name: _sum([arm.expected for arm in arms if arm.stage == name]) for name in names}
    return msgspec.json.encode(sums).decode()


def phase_lines(folder: RunFolder) -> tuple[str, ...]:
    """A line for each phase of a run; none where no stage comes after another."""
    with look_at(folder) as view:
        return tuple(phase.text for phase in phase_costs(view))


def phase_costs(view: View) -> list[PhaseCost]:
    """Of a run as it stands; none where no stage comes after another."""
    rules = stage_rules(view)
    numbers = phase_numbers(rules)
    if len(set(numbers.values())) < 2:
        return []
    money = view.spending.by_stage()
    expected = msgspec.json.decode(view.facts.get(EXPECTED) or "{}", type=dict[str, int | None])
    found = []
    for number in sorted(set(numbers.values())):
        own = [stage for stage in rules if numbers[stage.name] == number]
        spent = sum(money[stage.name].settled for stage in own if stage.name in money)
        about = _sum([expected.get(stage.name) for stage in own])
        told = []
        for stage in own:
            after = stage.after
            if after is not None and view.screening.opened(stage.id) is None:
                sampled = ", and until more than a sample of it is asked" if view.facts.get(SAMPLE) else ""
                told.append(f"{stage.name} waits until {after.stage} is over{sampled}")
            elif after is not None and after.rule is not None:
                told.append(moved_on_text(stage.name, after, view.screening.decisions(stage.id)))
        names = tuple(stage.name for stage in own)
        found.append(PhaseCost(number=number, stages=names, spent=spent, expected=about, moved_on=tuple(told)))
    return found
