"""What to know about a plan's cost before paying it: the same words on the command line and in a notebook."""

import re
from collections.abc import Iterator, Sequence

from overnight.api.plans.counting import ArmPlan
from overnight.core.money import Budget
from overnight.prices import dollars

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?= )")
_LIMIT = "set `max_tokens`, or `budget: {output_tokens: 800}` for the longest answer to expect"
_LIMIT_IN_FILE = "write a limit into every request"


def cost_notes(arms: Sequence[ArmPlan], ceiling: int | None, budget: Budget | None, *, ready: bool) -> Iterator[str]:
    """On prices that are not exact, on what `about` is counted with, and on how to get a ceiling.

    `ready`: for a ready-made file, which no study says anything of.
    """
    for note in sorted({arm.price_note for arm in arms if arm.price_note}):
        models = sorted({arm.model for arm in arms if arm.price_note == note})
        yield f"price of {', '.join(models)}: {note}"
    priced = [arm for arm in arms if arm.expected is not None]
    for told, whose in _gathered(priced, "usual_from"):
        yield f"about: counted with {told}{whose}"
    for told, whose in _gathered(priced, "tokens_from"):
        yield f"tokens: {told}{whose}"
    if endless := [arm for arm in priced if arm.max_output_tokens is None]:
        todo = _LIMIT_IN_FILE if ready else _LIMIT
        yield f"at most: unknown, because nothing limits answers{_whose(priced, endless)}; {todo}"
        if any(_is_capped(arm, budget) for arm in endless):
            yield "budget: nothing is sent before answers have a limit, because one could cost anything"
    cap = budget.total if budget else None
    if cap is not None and ceiling is not None and ceiling > cap:
        yield f"the budget of {dollars(cap)} may not be enough for everything at its longest"


def _is_capped(arm: ArmPlan, budget: Budget | None) -> bool:
    return budget is not None and (budget.total is not None or arm.stage in budget.stages)


def _gathered(priced: Sequence[ArmPlan], field: str) -> Iterator[tuple[str, str]]:
    """What arms rest on; where they differ in numbers only, once for all of them, from the least to the most."""
    kinds: dict[str, list[ArmPlan]] = {}
    for arm in priced:
        kinds.setdefault(_NUMBER.sub("#", getattr(arm, field)), []).append(arm)
    for kind, own in kinds.items():
        texts = dict.fromkeys(getattr(arm, field) for arm in own)
        told = kind
        for numbers in zip(*(_NUMBER.findall(text) for text in texts), strict=True):
            told = told.replace("#", _range(numbers), 1)
        yield told, _whose(priced, own)


def _range(numbers: Sequence[str]) -> str:
    ordered = sorted(set(numbers), key=lambda one: float(one.replace(",", "")))
    return ordered[0] if len(ordered) == 1 else f"{ordered[0]} to {ordered[-1]}"


def _whose(priced: Sequence[ArmPlan], some: Sequence[ArmPlan]) -> str:
    """` (gpt-4.1)`; nothing where it goes for all."""
    return "" if len(some) == len(priced) else f" ({', '.join(dict.fromkeys(arm.model for arm in some))})"
