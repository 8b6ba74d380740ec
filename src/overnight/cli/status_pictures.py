"""How runs stand, as tables: one run with its arms and open batches, or an overview of many."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from overnight.api import ArmStatus, BatchCheck, RunStatus
from overnight.api.run_words import batch_words, batches, is_open, open_batches, state_words
from overnight.cli.words import (
    OUTCOMES,
    arms_note,
    causes_text,
    check_words,
    model_names,
    money_text,
    summed_by_model,
    tokens_text,
)
from overnight.core.clock import time_text
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine
from overnight.prices import dollars
from overnight.terminal.columns import columns
from overnight.terminal.plain_text import one_line, shortened

_STYLES = {"answered": "green", "refused": "yellow", "truncated": "yellow", "failed": "red", "pending": "cyan"}
# Batches of one run that are listed before the rest is only counted.
_MOST_BATCHES = 20
# Lines that are neither an arm, a batch nor a fact: the first one, headings, and empty ones between.
_OTHER_LINES = 9
# What is said of a batch; the ids are last, where nothing can push them out.
_BATCH = ("shard", "arm", "done", "state", "sent", "batch")
_NARROWEST_ARM = 8
_GAP = 2
# A line with a whole batch id and a time.
_WIDE = 110
# A line with a whole batch id, and what the batch does.
_ONE_LINE = 96


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


def one_run(
    run: RunStatus, advice: Sequence[str], width: int, *, every_arm: bool = False, height: int | None = None
) -> RenderableType:
    """Arms by outcome, what is open at the provider, and what to do about it; in so many lines, where they are few."""
    parts: list[RenderableType] = [
        Text.assemble(
            (run.run, "bold"), ": ", (state_words(run), _state_style(run)), (f", begun {run.begun_at}", "dim")
        ),
    ]
    facts = _facts(run, advice)
    # Where it is narrow, what a batch does and what to do next take two lines.
    narrow = int(width < _ONE_LINE)
    left = None if height is None else height - facts.row_count - narrow - _OTHER_LINES
    arms = _arms(run, every_arm=every_arm, most=left)
    parts.append(Padding(arms, (1, 0, 0, 2)))
    if summed_by_model(len(run.arms), every_arm=every_arm):
        parts.append(Padding(arms_note(len(run.arms), "-v"), (0, 0, 0, 2)))
    found = open_batches(run.batches)
    asked = {one.batch_id: one for one in run.checked}
    room = _MOST_BATCHES if left is None else max(0, min(_MOST_BATCHES, (left - arms.row_count) // (1 + narrow)))
    if found and room:
        parts.append(Padding(_batches(run, found[:room], asked, width), (1, 0, 0, 2)))
    if len(found) > room:
        more = number_of(len(found) - room, "more batch", "more batches") if room else f"{batches(len(found))} open"
        parts.append(Text(f"  {'and ' if room else ''}{more}", style="dim"))
    parts.append(Padding(facts, (1, 0, 0, 2)))
    return Group(*parts)


def _arms(run: RunStatus, *, every_arm: bool, most: int | None) -> Table:
    """A line for each arm, or for each model of a stage where there are many; at most so many, and one for all."""
    summed = summed_by_model(len(run.arms), every_arm=every_arm)
    arm_names = short_names([arm.arm for arm in run.arms])
    models = model_names((arm.provider, arm.model) for arm in run.arms)
    several_stages = len({arm.stage for arm in run.arms}) > 1
    lines: dict[tuple[str, str], list[ArmStatus]] = {}
    for arm in run.arms:
        name = models[arm.provider, arm.model] if summed else arm_names[arm.arm]
        lines.setdefault((arm.stage, name), []).append(arm)
    first = (*(("stage",) if several_stages else ()), "model" if summed else "arm")
    table = columns(*first, *(("arms",) if summed else ()), "rows", *OUTCOMES, numbers=("arms", "rows", *OUTCOMES))
    whole = most is None or len(lines) < most
    for (stage, name), own in list(lines.items())[: None if whole else max(0, (most or 0) - 2)]:
        table.add_row(*((stage,) if several_stages else ()), name, *_counts(own, summed=summed))
    before = ("",) if several_stages else ()
    if not whole:
        table.add_row(*before, Text(f"and {len(lines) - table.row_count:,} more", style="dim"))
    if len(lines) > 1:
        table.add_row(*before, Text("all", style="dim"), *_counts(run.arms, summed=summed))
    return table


def _counts(arms: Sequence[ArmStatus], *, summed: bool) -> Iterator[RenderableType]:
    if summed:
        yield f"{len(arms):,}"
    yield f"{sum(arm.rows for arm in arms):,}"
    for outcome in OUTCOMES:
        yield _count(sum(getattr(arm, outcome) for arm in arms), outcome)


def _batches(run: RunStatus, found: Sequence[BatchLine], asked: Mapping[str, BatchCheck], width: int) -> Table:
    """The batch ids are there to be copied: they are never cut, and where it is narrow, they come before the times.

    What the provider was asked goes before what is on record.
    """
    names = short_names([arm.arm for arm in run.arms])
    rows = [_batch_cells(batch, asked, names) for batch in found]
    timed = width >= _WIDE
    kept = [index for index in range(len(_BATCH)) if timed or _BATCH[index] != "sent"]
    longest = [max(len(row[index]) for row in rows) for index in range(len(_BATCH))]
    others = sum(max(longest[index], len(_BATCH[index])) + _GAP for index in kept if _BATCH[index] != "arm")
    room = max(_NARROWEST_ARM, width - others - _GAP)
    table = columns(*(_BATCH[index] for index in kept[:-1]), numbers=("shard", "done"))
    table.add_column(_BATCH[-1], no_wrap=True, min_width=longest[-1])
    for row in rows:
        row[_BATCH.index("arm")] = shortened(row[_BATCH.index("arm")], room)
        table.add_row(*(row[index] for index in kept))
    return table


def _batch_cells(batch: BatchLine, asked: Mapping[str, BatchCheck], names: Mapping[str, str]) -> list[str]:
    now = asked.get(batch.batch_id or "")
    done = batch if now is None else now
    return [
        str(batch.shard),
        names.get(batch.arm, batch.arm),
        f"{done.completed + done.failed:,}/{batch.rows:,}",
        batch_words(batch) if now is None else check_words(now),
        time_text(batch.submitted_at) or "",
        batch.batch_id or "",
    ]


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
    for line in run.phases:
        grid.add_row("phases", one_line(line))
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
    if is_open(run) and run.worked_on:
        return [f"another process works on it: overnight watch {run.run}"]
    if is_open(run):
        return [nobody_text(run)]
    if run.total("failed"):
        return [f"overnight results {run.run} --failed"]
    return [f"overnight results {run.run}"]


def nobody_text(run: RunStatus) -> str:
    """A run that waits for somebody to type something."""
    ended = sum(one.ended for one in run.checked)
    if ended:
        have = f"{batches(ended)} {'has' if ended == 1 else 'have'} ended"
        return f"{have}, to be collected: overnight resume {run.run}"
    return f"nobody works on it now, and nothing is collected until: overnight resume {run.run}"


def _count(count: int, outcome: str) -> Text:
    return Text(f"{count:,}", style=_STYLES[outcome] if count else "dim")


def _state_style(run: RunStatus) -> str:
    if run.trouble is not None or run.to_do or run.total("failed"):
        return "red"
    return "yellow" if is_open(run) or run.cancelled else "green"
