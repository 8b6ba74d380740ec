"""Plain words and short texts for what the engine counts: pure, and the same in every kind of display."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from rich.text import Text

from overnight.api import BatchCheck
from overnight.api.run_words import STATUSES, batches
from overnight.core.clock import duration_text
from overnight.core.wording import number_of
from overnight.engine.progress import Priced, Snapshot
from overnight.prices import dollars
from overnight.terminal.plain_text import one_line

OUTCOMES = ("answered", "refused", "truncated", "failed", "pending")

# So many arms are listed one by one; more of them are summed by model first.
_MOST_ARMS = 12


class Counted(Protocol):
    """A snapshot or anything else that has a count for every outcome."""

    @property
    def answered(self) -> int: ...
    @property
    def refused(self) -> int: ...
    @property
    def truncated(self) -> int: ...
    @property
    def failed(self) -> int: ...
    @property
    def pending(self) -> int: ...


def check_words(check: BatchCheck) -> str:
    """What a provider says of a batch now."""
    if check.trouble is not None:
        return f"could not be asked: {one_line(check.trouble)}"
    return f"ended ({one_line(check.status)})" if check.ended else STATUSES.get(check.status, one_line(check.status))


def outcomes_text(counts: Counted, *, always: Iterable[str] = ("answered",)) -> str:
    """`297 answered, 2 truncated, 1 failed`: what there is none of is left out."""
    shown = [outcome for outcome in OUTCOMES if getattr(counts, outcome) or outcome in always]
    return ", ".join(f"{getattr(counts, outcome):,} {outcome}" for outcome in shown)


def causes_text(causes: Mapping[str, int]) -> str:
    """`max_tokens 2, invalid_request 1`, the most frequent first."""
    ordered = sorted(causes.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{cause} {count:,}" for cause, count in ordered)


def tokens_text(input_tokens: int, output_tokens: int) -> str:
    """After the word tokens: `16 in, 160 out`."""
    return f"{input_tokens:,} in, {output_tokens:,} out"


def money_text(spent: int, priced: Priced, presumed: int = 0) -> str:
    """`$0.0123, and $0.0004 presumed spent`; an unknown price is unknown, never zero."""
    if priced == "none":
        return "unknown: no prices"
    unbilled = f", and {dollars(presumed)} presumed spent" if presumed else ""
    return f"{dollars(spent)}{unbilled}" + ("" if priced == "all" else ", and what has no price")


def price_lines(sources: Iterable[tuple[str, str]]) -> Iterator[str]:
    """`prices: genai-prices 0.2.1 as of 2026-11-16`, from models and sources; with the models where they differ."""
    models: dict[str, dict[str, None]] = {}
    for model, source in sources:
        if source:
            models.setdefault(source, {})[model] = None
    for source, names in models.items():
        whose = f" of {', '.join(names)}" if len(models) > 1 else ""
        yield one_line(f"prices{whose}: {source}")


def time_left(snapshot: Snapshot, time_scale: float) -> str:
    """In the time of the people who wait: a rehearsal's clock runs faster than theirs."""
    if snapshot.seconds_left is None:
        return ""
    return f"about {duration_text(snapshot.seconds_left / time_scale)} left"


def at_provider(snapshot: Snapshot) -> str:
    """`3 batches at the provider (180 rows done), 120 rows being asked live`."""
    there = sum(batch.batch_id is not None for batch in snapshot.batches)
    live = [batch for batch in snapshot.batches if batch.live]
    leaving = len(snapshot.batches) - there - len(live)
    done = f" ({number_of(snapshot.ahead, 'row')} done)" if snapshot.ahead else ""
    parts = []
    if there:
        parts.append(f"{batches(there)} at the provider{done}")
    elif leaving:
        parts.append(number_of(leaving, "batch on its way", "batches on their way"))
    if live:
        left = sum(batch.rows - batch.completed - batch.failed for batch in live)
        parts.append(f"{number_of(left, 'row')} being asked live")
    return ", ".join(parts)


def progress_text(snapshot: Snapshot, time_scale: float) -> str:
    """One line for a log: `120/300 settled, 2 failed, 3 batches at the provider, about 4m left`."""
    trouble = one_line(snapshot.trouble) if snapshot.trouble else ""
    parts = (
        f"{snapshot.settled:,}/{snapshot.total:,} settled",
        f"{snapshot.failed:,} failed" if snapshot.failed else "",
        at_provider(snapshot),
        f"{dollars(snapshot.spent)} spent" if snapshot.spent else "",
        time_left(snapshot, time_scale),
        trouble,
    )
    return ", ".join(part for part in parts if part)


def summed_by_model(arms: int, *, every_arm: bool) -> bool:
    """Whether a table has a line for each model and not for each arm."""
    return arms > _MOST_ARMS and not every_arm


def arms_note(arms: int, flag: str) -> Text:
    """Under a table that is summed: how to see what is in it."""
    return Text(f"{arms:,} arms, summed by model; each of them: the same command with {flag}", style="dim")


def model_names(models: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Models by their names; with their providers where two providers have one of that name."""
    known = list(dict.fromkeys(models))
    names = [model for _, model in known]
    return {(provider, model): f"{provider}/{model}" if names.count(model) > 1 else model for provider, model in known}
