"""A plan as a table, with the requests that were asked for."""

import json
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.api import ArmPlan, Plan
from overnight.api.plans.planned import interval_of
from overnight.api.run_words import batches
from overnight.cli.words import arms_note, model_names, price_lines, summed_by_model
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.prices import dollars
from overnight.terminal.columns import columns, fitting
from overnight.terminal.plain_text import one_line

_COUNTS = ("arms", "turns", "rows", "shared", "on record", "requests", "batches", "MB", "est. tokens")
_NUMBERS = (*_COUNTS, "seen", "about", "90%", "at most")

# What a narrow terminal goes without, the first of them first.
_SPARE = ("MB", "est. tokens", "shared", "seen", "rows", "batches")


def pictures(plan: Plan, width: int, *, every_arm: bool = False) -> Iterator[RenderableType]:
    """Summed by model where there are many arms, unless `every_arm` is wanted."""
    summed = summed_by_model(len(plan.arms), every_arm=every_arm)
    yield _models(plan, width) if summed else _arms(plan, width)
    if summed:
        yield arms_note(len(plan.arms), "-v")
    for phase in plan.phases:
        yield Text(one_line(phase.text))
    if plan.finishing is not None:
        yield Text(one_line(plan.finishing.text))
    for note in (*plan.notes, *plan.cost_notes):
        yield Text(f"note: {one_line(note)}", style="yellow")
    yield from price_lines((arm.model, arm.price_source) for arm in plan.arms)
    for shown in plan.shown:
        yield Text(f"\n{shown.arm}, item {one_line(shown.item)}:", style="bold")
        yield json.dumps(shown.request, indent=2, ensure_ascii=False)
    for file in plan.written:
        yield f"wrote {file}"


def _arms(plan: Plan, width: int) -> Table:
    names = short_names([arm.arm for arm in plan.arms])
    several = len({arm.stage for arm in plan.arms}) > 1
    lines = [(f"{arm.stage}: {names[arm.arm]}" if several else names[arm.arm], (arm,)) for arm in plan.arms]
    return _table(plan, "arm", lines, width)


def _models(plan: Plan, width: int) -> Table:
    """One line for each model of a stage, whatever it is asked with."""
    models: dict[tuple[str, str, str, str], list[ArmPlan]] = {}
    for arm in plan.arms:
        models.setdefault((arm.stage, arm.provider, arm.model, arm.processing), []).append(arm)
    several = len({arm.stage for arm in plan.arms}) > 1
    names = model_names([(provider, model) for _, provider, model, _ in models])
    lines = [
        (f"{stage}: {names[provider, model]}" if several else names[provider, model], tuple(own))
        for (stage, provider, model, _), own in models.items()
    ]
    return _table(plan, "model", lines, width)


def _table(plan: Plan, what: str, lines: Sequence[tuple[str, Sequence[ArmPlan]]], width: int) -> Table:
    """A line for each group of arms, and one for all of them; names and money are never cut."""
    shown = {
        "arms": what == "model",
        "turns": any(arm.turns > 1 for arm in plan.arms),
        "on record": plan.total("on_record") > 0,
        "shared": plan.total("shared") > 0,
    }
    rows = [{what: name} | _cells(own) for name, own in lines]
    if len(lines) > 1:
        rows.append({what: "all"} | _cells(plan.arms) | {"turns": ""})
    headings = fitting([what, *(name for name in _NUMBERS if shown.get(name, True))], rows, width, _SPARE)
    table = columns(*headings, numbers=_NUMBERS)
    for row in rows:
        name = Text(row[what], style="dim" if len(lines) > 1 and row is rows[-1] else "")
        table.add_row(name, *(row[heading] for heading in headings[1:]))
    return table


def _cells(arms: Sequence[ArmPlan]) -> dict[str, str]:
    """What some arms come to, by heading."""
    return {
        "arms": f"{len(arms):,}",
        "turns": f"{max(arm.turns for arm in arms):,}",
        "rows": _total(arms, "rows"),
        "shared": _total(arms, "shared"),
        "on record": _total(arms, "on_record"),
        "requests": _total(arms, "requests"),
        "batches": "live" if all(arm.processing == "live" for arm in arms) else _total(arms, "batches"),
        "MB": _megabytes(sum(arm.bytes for arm in arms)),
        "est. tokens": _total(arms, "input_tokens"),
        "seen": f"{min(arm.seen for arm in arms):,}",
        "about": _money([arm.expected for arm in arms]),
        "90%": "unknown" if (found := interval_of(arms)) is None else dollars(round(found.p90)),
        "at most": _money([arm.ceiling for arm in arms]),
    }


def _money(amounts: Sequence[int | None]) -> str:
    known = [amount for amount in amounts if amount is not None]
    return dollars(sum(known)) if len(known) == len(amounts) else "unknown"


def _total(arms: Sequence[ArmPlan], field: str) -> str:
    return f"{sum(int(getattr(arm, field)) for arm in arms):,}"


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}" if size >= 1e6 else f"{size / 1e6:.3f}"


def last_line(plan: Plan) -> str:
    """`fruit: 300 requests in 1 batch; nothing was sent`."""
    requests = number_of(plan.total("requests"), "request")
    limited = [arm.max_output_tokens for arm in plan.arms]
    output = sum(tokens for tokens in limited if tokens is not None)
    most = f", at most {output:,} tokens out" if None not in limited else ""
    if plan.ceiling is not None:
        most += f" and {dollars(plan.ceiling)}"
    found = interval_of(plan.arms)
    if found is not None:
        low, high = (dollars(round(amount)) for amount in (found.low, found.high))
        most += f", about {dollars(plan.expected or 0)} (90%: {low} to {high})"
    return f"{plan.study}: {requests} {_ways(plan)}{most}; {plan.sent_text}"


def _ways(plan: Plan) -> str:
    """`in 3 batches`, `live`, or `in 3 batches and live`."""
    live = [arm.processing == "live" for arm in plan.arms]
    if all(live):
        return "live"
    sent = f"in {batches(plan.total('batches'))}"
    return f"{sent} and live" if any(live) else sent
