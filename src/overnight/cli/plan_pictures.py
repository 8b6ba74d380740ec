"""A plan as a table, with the requests that were asked for."""

import json
from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.api import ArmPlan, Plan
from overnight.cli.words import batches, price_lines, short_names
from overnight.core.wording import number_of
from overnight.prices import dollars
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line

_NUMBERS = ("turns", "rows", "shared", "on record", "requests", "batches", "MB", "est. tokens", "at most")


def pictures(plan: Plan) -> Iterator[RenderableType]:
    yield _arms(plan)
    for note in (*plan.notes, *_money_notes(plan)):
        yield Text(f"note: {one_line(note)}", style="yellow")
    yield from price_lines((arm.model, arm.price_source) for arm in plan.arms)
    for shown in plan.shown:
        yield Text(f"\n{shown.arm}, item {one_line(shown.item)}:", style="bold")
        yield json.dumps(shown.request, indent=2, ensure_ascii=False)
    for file in plan.written:
        yield f"wrote {file}"


def _money_notes(plan: Plan) -> Iterator[str]:
    """What to know about the cost before paying it."""
    for note in sorted({arm.price_note for arm in plan.arms if arm.price_note}):
        models = sorted({arm.model for arm in plan.arms if arm.price_note == note})
        yield f"price of {', '.join(models)}: {note}"
    cap = plan.budget.total if plan.budget else None
    if cap is not None and plan.ceiling is not None and plan.ceiling > cap:
        yield f"the budget of {dollars(cap)} may not be enough for everything at its longest"


def _arms(plan: Plan) -> Table:
    names = short_names([arm.arm for arm in plan.arms])
    known = plan.total("on_record") > 0
    turns = any(arm.turns > 1 for arm in plan.arms)
    left_out = {name for name, shown in {"on record": known, "turns": turns}.items() if not shown}
    headings = [name for name in _NUMBERS if name not in left_out]
    table = columns("arm", *headings, numbers=_NUMBERS)
    several = len({arm.stage for arm in plan.arms}) > 1
    for arm in plan.arms:
        name = f"{arm.stage}: {names[arm.arm]}" if several else names[arm.arm]
        table.add_row(name, *([f"{arm.turns:,}"] if turns else []), *_cells(arm, known=known))
    if len(plan.arms) > 1:
        table.add_row(Text("all", style="dim"), *([""] if turns else []), *_cells(_sum(plan), known=known))
    return table


def _cells(arm: ArmPlan, *, known: bool) -> list[str]:
    cells = [f"{arm.rows:,}", f"{arm.shared:,}"]
    if known:
        cells.append(f"{arm.on_record:,}")
    return [
        *cells,
        f"{arm.requests:,}",
        f"{arm.batches:,}" if arm.processing == "batch" else "live",
        _megabytes(arm.bytes),
        f"{arm.input_tokens:,}",
        "unknown" if arm.ceiling is None else dollars(arm.ceiling),
    ]


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}" if size >= 1e6 else f"{size / 1e6:.3f}"


def _sum(plan: Plan) -> ArmPlan:
    fields = ("rows", "shared", "on_record", "requests", "batches", "bytes", "input_tokens")
    total = ArmPlan(stage="", arm="", provider="", model="", ceiling=plan.ceiling)
    for field in fields:
        setattr(total, field, plan.total(field))
    return total


def last_line(plan: Plan) -> str:
    """`fruit: 300 requests in 1 batch; nothing was sent`."""
    requests = number_of(plan.total("requests"), "request")
    limited = [arm.max_output_tokens for arm in plan.arms]
    output = sum(tokens for tokens in limited if tokens is not None)
    most = f", at most {output:,} tokens out" if None not in limited else ""
    if plan.ceiling is not None:
        most += f" and {dollars(plan.ceiling)}"
    if plan.expected is not None and any(arm.of is not None or arm.turns > 1 for arm in plan.arms):
        most += f", about {dollars(plan.expected)} with answers of a usual length"
    return f"{plan.study}: {requests} {_ways(plan)}{most}; nothing was sent"


def _ways(plan: Plan) -> str:
    """`in 3 batches`, `live`, or `in 3 batches and live`."""
    live = [arm.processing == "live" for arm in plan.arms]
    if all(live):
        return "live"
    sent = f"in {batches(plan.total('batches'))}"
    return f"{sent} and live" if any(live) else sent
