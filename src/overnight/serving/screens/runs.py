"""The first screen: every run with its progress, its money, and what it waits for."""

from collections.abc import Sequence

import msgspec

from overnight.api.run_state import whereabouts
from overnight.api.run_words import open_batches, state_words
from overnight.api.status import RunStatus
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine
from overnight.prices import dollars
from overnight.reporting.shown_text import escaped
from overnight.reporting.wording import percent_text
from overnight.serving.known_runs import KnownRun
from overnight.serving.screens.layout import Screen, chip, link, live_part, strip_html

_TONES = {"answered": "good", "refused": "middling", "truncated": "light", "failed": "bad", "pending": "none"}


def runs_screen(runs: Sequence[KnownRun], where: str) -> Screen:
    if not runs:
        told = f"There are no runs in {where} yet; <code>overnight run STUDY</code> makes one."
        return Screen(title="Runs", body=live_part("runs", f"<p>{told}</p>"), live=True)
    lines = "".join(f"<li>{_run_html(run)}</li>" for run in runs)
    return Screen(title="Runs", body=live_part("runs", f'<ol class="runs">{lines}</ol>'), live=True)


def _run_html(run: KnownRun) -> str:
    status = run.status
    name = f"<h2>{link(run.name, 'run', run.name)}</h2>"
    if status.trouble is not None:
        return (
            f'{name}<p class="state">{chip("cannot be read", "bad")}</p><p class="wide">{escaped(status.trouble)}</p>'
        )
    return (
        f'{name}<p class="state">{state_html(status)}</p>'
        f'<div class="progress">{progress_html(status)}</div>'
        f'<p class="money">{escaped(money_text(run))}</p>'
        f'<p class="wide note">{escaped(waits_text(status))}</p>'
    )


def state_html(status: RunStatus) -> str:
    """How it stands, and whether somebody works on it now."""
    words = state_words(status)
    tone = "bad" if "decision" in words or "failed" in words else "good" if words == "done" else ""
    return chip(words, tone) + (f" {chip('at work', 'works')}" if status.worked_on else "")


def progress_html(status: RunStatus) -> str:
    """A strip of outcomes, and the numbers that it shows."""
    counts = {outcome: status.total(outcome) for outcome in _TONES}
    total = sum(counts.values())
    settled = total - counts["pending"]
    share = percent_text(settled / total, 0) if total else "0%"
    told = ", ".join(f"{count:,} {outcome}" for outcome, count in counts.items() if count) or "no rows yet"
    strip = strip_html([(_TONES[outcome], count) for outcome, count in counts.items()], told)
    return f'{strip}<p class="note">{share} of {number_of(total, "row")}: {told}</p>'


def money_text(run: KnownRun) -> str:
    """`$1.20 spent of $25.00`; what nobody can price is said, and is never nought."""
    status, budget = run.status, run.budget
    if status.priced == "none":
        spent = "cost not known: no prices"
    else:
        spent = f"{dollars(status.spent)} spent" + ("" if status.priced == "all" else ", and what has no price")
    cap = f" of {dollars(budget.total)}" if budget is not None and budget.total is not None else ""
    aside = f", {dollars(status.reserved)} set aside" if status.reserved else ""
    presumed = f", {dollars(status.presumed)} presumed spent" if status.presumed else ""
    return spent + cap + aside + presumed


def being_read(batch: BatchLine) -> BatchLine:
    """Rows of a batch that somebody is just reading are not missing."""
    return msgspec.structs.replace(batch, doubt=None) if batch.state == "fetched" else batch


def waits_text(status: RunStatus) -> str:
    """What is needed before it goes on."""
    if status.to_do:
        return status.to_do[0]
    carried = open_batches(status.batches)
    if status.worked_on:
        carried = [being_read(batch) for batch in carried]
    live = [batch for batch in carried if batch.live]
    if carried and len(live) < len(carried):
        read = sum(batch.state == "fetched" and batch.doubt is None for batch in carried)
        reading = f"; {number_of(read, 'batch', 'batches')} being read" if read else ""
        return f"Waits: {whereabouts(carried)}{reading}."
    if live:
        left = sum(batch.rows - batch.completed - batch.failed for batch in live)
        return f"{number_of(left, 'row')} being asked live."
    pending = status.total("pending")
    if status.cancelled and pending:
        return f"Called off with {number_of(pending, 'row')} open; only `overnight run` sends again."
    if pending:
        waits = "is" if pending == 1 else "are"
        return (
            f"{number_of(pending, 'row')} {waits} open and with nobody; resume goes on." if not status.worked_on else ""
        )
    return "" if status.total("rows") else "Its questions are being taken in."
