"""One run: rows by arm, money, pace, troubles in words, batches over time, and what may be done with it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from overnight.api.report import batch_facts
from overnight.api.run_words import batch_words, is_open, open_batches
from overnight.api.status import RunStatus
from overnight.core.ask import Arm
from overnight.core.clock import duration_text, time_text
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine
from overnight.ledger.ledger import look_at
from overnight.prices import dollars
from overnight.reporting import run_sections
from overnight.reporting.page.html import Fact, part_html
from overnight.reporting.parts import Section, Sentence, Table
from overnight.reporting.run_facts import BatchFacts
from overnight.reporting.shown_text import escaped
from overnight.reporting.wording import percent_text
from overnight.serving.commands import Command
from overnight.serving.known_runs import KnownRun
from overnight.serving.pace import Rate
from overnight.serving.screens.layout import Screen, facts_html, link, live_part, sentences_html
from overnight.serving.screens.runs import being_read, progress_html, state_html, waits_text
from overnight.tables.costs import KEPT_COLUMNS, kept_cost_rows

_MOST_BATCHES = 60
_SHOWN_LINES = 12


@dataclass(frozen=True, kw_only=True)
class RunRecords:
    """What the ledger says of a run beside its status."""

    counts: pl.DataFrame
    costs: pl.DataFrame
    batches: Sequence[BatchFacts]


def run_records(run: KnownRun) -> RunRecords:
    with look_at(run.folder) as view, view.at_one_moment():
        arms: dict[int, Arm] = view.stages.arms()
        counted = [
            (arms[arm].stage, arms[arm].name, outcome, cause, count)
            for (arm, outcome, cause), count in view.counts.outcomes().items()
        ]
        schema = {"stage": pl.String, "arm": pl.String, "word": pl.String, "cause": pl.String, "rows": pl.Int64}
        return RunRecords(
            counts=pl.DataFrame(counted, schema=schema, orient="row").sort("stage", "arm", "word", "cause"),
            costs=pl.DataFrame(list(kept_cost_rows(view)), schema=KEPT_COLUMNS, orient="row"),
            batches=list(batch_facts(view)),
        )


def run_screen(run: KnownRun, rate: Rate | None, command: Command | None) -> Screen:
    status = run.status
    if status.trouble is not None:
        body = f'<p class="finding">This run cannot be read.</p>{sentences_html([status.trouble])}'
        return Screen(title=run.name, body=live_part("run", body), run=run.name, part="", live=True)
    records = run_records(run)
    top = (
        f'<p class="state">{state_html(status)} <span class="note">begun {escaped(status.begun_at)}</span></p>'
        f'<div class="progress">{progress_html(status)}</div>'
        f"{sentences_html(filter(None, [waits_text(status)]))}{facts_html(_facts(run, rate))}"
    )
    doing = _verbs(run) + _command_html(command)
    sections = [_troubles(status), run_sections.came_back(records.counts), run_sections.bill(records.costs)]
    sections.append(run_sections.over_time(records.batches))
    body = live_part("top", top) + live_part("doing", doing)
    body += "".join(live_part(section.title, _section_html(section)) for section in sections if section is not None)
    body += live_part("batches", _open_batches(status))
    return Screen(title=run.name, body=body, run=run.name, part="", live=True)


def _section_html(section: Section) -> str:
    return f"<section><h2>{escaped(section.title)}</h2>{''.join(map(part_html, section.parts))}</section>"


def _facts(run: KnownRun, rate: Rate | None) -> list[Fact]:
    status = run.status
    total, pending = status.total("rows"), status.total("pending")
    cap = run.budget.total if run.budget is not None else None
    known = status.priced != "none"
    facts = [
        Fact(word="rows", value=f"{total:,}", more=f"{number_of(len(status.arms), 'arm')}"),
        Fact(word="settled", value=percent_text((total - pending) / total) if total else "\u2013"),
        Fact(
            word="spent",
            value=dollars(status.spent) if known else "not known",
            more=f"of {dollars(cap)}" if cap is not None else "",
        ),
        Fact(word="set aside", value=dollars(status.reserved) if known else "not known"),
        Fact(word="presumed spent", value=dollars(status.presumed) if known else "not known"),
        Fact(word="tokens", value=f"{status.input_tokens:,} in", more=f"{status.output_tokens:,} out"),
    ]
    if is_open(status):
        facts += _pace_facts(status, rate)
    return facts


def _pace_facts(status: RunStatus, rate: Rate | None) -> Iterator[Fact]:
    if rate is None:
        why = "being measured" if status.worked_on else "nobody works on it"
        yield Fact(word="rate", value="\u2013", more=why)
        return
    a_minute = 60 * rate.per_second
    yield Fact(word="rate", value=f"{a_minute:,.0f}" if a_minute >= 10 else f"{a_minute:.1f}", more="rows a minute")
    if rate.seconds_left is not None:
        yield Fact(word="end in sight", value=f"about {duration_text(rate.seconds_left)}", more="at this rate")


def _verbs(run: KnownRun) -> str:
    """What a user may type of a run that is not over, each as a link to the page that asks once more."""
    if not is_open(run.status) and not run.status.total("pending"):
        return ""
    resume = link("Resume", "run", run.name, "resume", more=' class="button"')
    cancel = link("Cancel", "run", run.name, "cancel", more=' class="button"')
    return f'<p class="doing">{resume} {cancel}</p>'


def _command_html(command: Command | None) -> str:
    """What was begun here, and what it says."""
    if command is None:
        return ""
    code = command.exit_code
    how = "at work" if code is None else f"ended with exit code {code}"
    said = "\n".join(list(command.lines)[-_SHOWN_LINES:])
    lines = f'<pre tabindex="0" aria-label="What it says">{escaped(said)}</pre>' if said else ""
    return (
        f'<section class="command"><p>{escaped(command.verb)}, begun here at {escaped(command.begun_text)}: {how}</p>'
        f"{lines}</section>"
    )


def _troubles(status: RunStatus) -> Section | None:
    """What does not go as it should, in words."""
    texts = [*status.to_do, *(f"{text}." for text in status.left_out)]
    if status.cancelled:
        texts.append("The run is called off: nothing more is sent until somebody types `overnight run`.")
    carried = open_batches(status.batches)
    carried = [being_read(batch) for batch in carried] if status.worked_on else carried
    doubtful = (batch for batch in carried if batch.state == "unsure" or batch.message or batch.doubt)
    texts += [f"Shard {batch.shard} ({batch.arm}): {batch_words(batch)}." for batch in doubtful]
    if status.asked_again:
        tries = ", ".join(f"{cause} {count:,}" for cause, count in status.asked_again.items())
        texts.append(f"Tries that failed and were made again, by cause: {tries}.")
    if status.answered_twice:
        texts.append(f"{number_of(status.answered_twice, 'row')} answered by a batch that had been given up, too.")
    if status.presumed:
        texts.append(
            f"{dollars(status.presumed)} are presumed spent, for rows that were run and whose bill did not come."
        )
    failed = status.total("failed")
    if failed:
        texts.append(f"{number_of(failed, 'row')} failed for good: the causes are below.")
    if not texts:
        return None
    return Section(title="Troubles", parts=[Sentence(text) for text in texts])


def _open_batches(status: RunStatus) -> str:
    carried = open_batches(status.batches)
    carried = [being_read(batch) for batch in carried] if status.worked_on else carried
    if not carried:
        return ""
    names = short_names([batch.arm for batch in carried])
    shown = carried[:_MOST_BATCHES]
    table = Table(
        columns={
            "shard": [_shard(batch) for batch in shown],
            "arm": [names[batch.arm] for batch in shown],
            "rows": [batch.rows for batch in shown],
            "done": [batch.completed + batch.failed for batch in shown],
            "stands": [batch_words(batch) for batch in shown],
            "sent at": [time_text(batch.submitted_at) for batch in shown],
            "batch": [batch.batch_id or "" for batch in shown],
        },
        title="Open batches",
    )
    more = len(carried) - len(shown)
    rest = f"<p class=note>and {number_of(more, 'more batch', 'more batches')}</p>" if more else ""
    return f"<section><h2>Open batches</h2>{part_html(table)}{rest}</section>"


def _shard(batch: BatchLine) -> str:
    return str(batch.shard) + (f", try {batch.attempt}" if batch.attempt > 1 else "") + (", live" if batch.live else "")
