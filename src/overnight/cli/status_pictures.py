"""How runs stand, as tables: one run with its arms and open batches, or an overview of many."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from overnight.api import RunStatus
from overnight.cli.words import (
    OUTCOMES,
    batch_words,
    causes_text,
    is_open,
    money_text,
    open_batches,
    short_names,
    state_words,
    tokens_text,
)
from overnight.core.clock import time_text
from overnight.core.wording import number_of
from overnight.prices import dollars
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line

_STYLES = {"answered": "green", "refused": "yellow", "truncated": "yellow", "failed": "red", "pending": "cyan"}
# Batches of one run that are listed before the rest is only counted.
_MOST_BATCHES = 20
_WIDE = 100


def overview(runs: Sequence[RunStatus]) -> Table:
    table = columns("run", "state", "settled", "rows", "failed", "begun", numbers=("settled", "rows", "failed"))
    for run in runs:
        rows = run.total("rows")
        settled = rows - run.total("pending")
        table.add_row(
            Text(run.run, style="bold"),
            Text(state_words(run), style=_state_style(run)),
            f"{settled:,}",
            f"{rows:,}",
            _count(run.total("failed"), "failed"),
            Text(run.begun_at, style="dim"),
        )
    return table


def one_run(run: RunStatus, advice: Sequence[str], width: int) -> RenderableType:
    """Arms by outcome, what is open at the provider, and what to do about it."""
    parts: list[RenderableType] = [
        Text.assemble(
            (run.run, "bold"), ": ", (state_words(run), _state_style(run)), (f", begun {run.begun_at}", "dim")
        ),
        Padding(_arms(run), (1, 0, 0, 2)),
    ]
    found = open_batches(run.batches)
    if found:
        parts.append(Padding(_batches(run, width), (1, 0, 0, 2)))
    if len(found) > _MOST_BATCHES:
        parts.append(Text(f"  and {len(found) - _MOST_BATCHES:,} more batches", style="dim"))
    parts.append(Padding(_facts(run, advice), (1, 0, 0, 2)))
    return Group(*parts)


def _arms(run: RunStatus) -> Table:
    names = short_names([arm.arm for arm in run.arms])
    several_stages = len({arm.stage for arm in run.arms}) > 1
    table = columns(*(("stage",) if several_stages else ()), "arm", "rows", *OUTCOMES, numbers=("rows", *OUTCOMES))
    for arm in run.arms:
        counts = (_count(getattr(arm, outcome), outcome) for outcome in OUTCOMES)
        stage = (arm.stage,) if several_stages else ()
        table.add_row(*stage, names[arm.arm], f"{arm.rows:,}", *counts)
    if len(run.arms) > 1:
        counts = (_count(run.total(outcome), outcome) for outcome in OUTCOMES)
        stage = ("",) if several_stages else ()
        table.add_row(*stage, Text("all", style="dim"), f"{run.total('rows'):,}", *counts)
    return table


def _batches(run: RunStatus, width: int) -> Table:
    """The batch ids are there to be copied: where it is narrow, they come before the times."""
    names = short_names([arm.arm for arm in run.arms])
    timed = width >= _WIDE
    table = columns("shard", "arm", "done", "state", *(("sent",) if timed else ()), "batch", numbers=("shard", "done"))
    for batch in open_batches(run.batches)[:_MOST_BATCHES]:
        table.add_row(
            str(batch.shard),
            names.get(batch.arm, batch.arm),
            f"{batch.completed + batch.failed:,}/{batch.rows:,}",
            batch_words(batch),
            *((time_text(batch.submitted_at),) if timed else ()),
            batch.batch_id or "",
        )
    return table


def _facts(run: RunStatus, advice: Sequence[str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    if run.waiting_shards:
        grid.add_row("waiting", f"{number_of(run.waiting_shards, 'shard')} still to be sent")
    if run.causes:
        grid.add_row("causes", causes_text(run.causes))
    if run.asked_again:
        grid.add_row("asked again", causes_text(run.asked_again))
    if run.answered_twice:
        grid.add_row("answered twice", f"{run.answered_twice:,} rows, in a batch and live; the first answer counts")
    for line in run.left_out:
        grid.add_row("left out", one_line(line))
    grid.add_row("tokens", tokens_text(run.input_tokens, run.output_tokens))
    aside = f", {dollars(run.reserved)} set aside" if run.reserved else ""
    grid.add_row("cost", money_text(run.spent, run.priced, run.presumed) + aside)
    grid.add_row("folder", run.path)
    for number, line in enumerate(advice):
        grid.add_row("next" if number == 0 else "", one_line(line))
    return grid


def advice_for(run: RunStatus) -> list[str]:
    """What to type next."""
    if run.to_do:
        return list(run.to_do)
    if is_open(run):
        return [f"overnight resume {run.run}"]
    if run.total("failed"):
        return [f"overnight results {run.run} --failed"]
    return [f"overnight results {run.run}"]


def _count(count: int, outcome: str) -> Text:
    return Text(f"{count:,}", style=_STYLES[outcome] if count else "dim")


def _state_style(run: RunStatus) -> str:
    if run.trouble is not None or run.to_do or run.total("failed"):
        return "red"
    return "yellow" if is_open(run) or run.cancelled else "green"
