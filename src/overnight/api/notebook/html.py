"""Tables and bars for notebooks. Every text is escaped: names and answers may be a stranger's."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from overnight.core.clock import duration_text
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine, Priced, Snapshot
from overnight.prices import dollars

# So many lines are drawn; of more, the rest is counted.
_MOST_LINES = 30
_LONGEST_TEXT = 200
_COLOURS = {"answered": "#2e7d32", "failed": "#c62828", "ahead": "#80b0c8", "pending": "#ddd"}
OUTCOMES = ("answered", "refused", "truncated", "failed", "pending")

Cell = str | int | None


def text_html(text: str) -> str:
    """In one line, not too long, and harmless. What the page's formulas would be made of is a plain dollar."""
    line = " ".join(text.split())
    shown = line if len(line) <= _LONGEST_TEXT else f"{line[: _LONGEST_TEXT - 1]}…"
    return escape(shown).replace("$", "&#36;")


def table_html(headings: Sequence[str], lines: Iterable[Sequence[Cell]]) -> str:
    """Numbers stand to the right, with their thousands apart; what is not known is empty."""
    found = list(lines)
    rows = "".join(f"<tr>{''.join(map(_cell, line))}</tr>" for line in found[:_MOST_LINES])
    head = "".join(f'<th style="text-align:left">{text_html(heading)}</th>' for heading in headings)
    left = len(found) - _MOST_LINES
    more = paragraph_html(f"and {number_of(left, 'more line')}") if left > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _cell(value: Cell) -> str:
    if isinstance(value, int):
        return f'<td style="text-align:right">{value:,}</td>'
    return f'<td style="text-align:left">{text_html(value or "")}</td>'


def title_html(name: str, text: str) -> str:
    return f"<div><b>{text_html(name)}</b>: {text_html(text)}</div>"


def paragraph_html(text: str) -> str:
    return f'<div style="color:#666">{text_html(text)}</div>'


def parts_html(parts: Iterable[str]) -> str:
    return f"<div>{''.join(parts)}</div>"


def money(nano: int | None) -> str:
    """In dollars, whatever is kept inside; what has no price is unknown and never nothing."""
    return "unknown" if nano is None else dollars(nano)


def spent_text(spent: int, presumed: int, priced: Priced) -> str:
    if priced == "none":
        return "cost unknown: no prices"
    unbilled = f", and {dollars(presumed)} presumed spent" if presumed else ""
    return f"{dollars(spent)} spent{unbilled}{'' if priced == 'all' else ', and what has no price'}"


def outcomes_text(counts: Mapping[str, int]) -> str:
    """`297 answered, 1 failed`: what there is none of is left out."""
    shown = [name for name in OUTCOMES if counts[name] or name == "answered"]
    return ", ".join(f"{counts[name]:,} {name}" for name in shown)


def counts_of(counted: object) -> dict[str, int]:
    """The count of each outcome, of a snapshot or an arm."""
    return {name: int(getattr(counted, name)) for name in OUTCOMES}


def batches_html(batches: Iterable[BatchLine]) -> str:
    """What is open at providers, with ids that can be copied whole; nothing where nothing is."""
    still = [batch for batch in batches if batch.state != "closed"]
    lines = [
        (batch.batch_id or "", batch.arm, batch.status or batch.state, batch.completed + batch.failed, batch.rows)
        for batch in still
    ]
    return table_html(("batch", "arm", "state", "done", "rows"), lines) if lines else ""


def progress_html(snapshot: Snapshot, time_scale: float = 1.0) -> str:
    """How far a run is: a bar, the counts, the money, and the batches under way."""
    total = max(snapshot.total, 1)
    lengths = {
        "answered": snapshot.settled - snapshot.failed,
        "failed": snapshot.failed,
        "ahead": snapshot.ahead,
        "pending": snapshot.pending - snapshot.ahead,
    }
    bar = "".join(
        f'<div style="width:{100 * count / total:.2f}%;background:{_COLOURS[name]}"></div>'
        for name, count in lengths.items()
        if count
    )
    facts = [outcomes_text(counts_of(snapshot)), spent_text(snapshot.spent, snapshot.presumed, snapshot.priced)]
    if snapshot.seconds_left is not None:
        facts.append(f"about {duration_text(snapshot.seconds_left / time_scale)} left")
    if snapshot.trouble:
        facts.append(snapshot.trouble)
    return parts_html(
        (
            title_html(snapshot.run, f"{snapshot.settled:,} of {number_of(snapshot.total, 'row')}"),
            f'<div style="display:flex;height:10px;max-width:600px;background:#ddd">{bar}</div>',
            paragraph_html("; ".join(facts)),
            batches_html(snapshot.batches),
        )
    )
