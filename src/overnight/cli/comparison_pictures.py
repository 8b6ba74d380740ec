"""One study over many models, as a table: the cheapest first."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from overnight.api import Comparison, ModelCost
from overnight.core.wording import number_of
from overnight.prices import dollars
from overnight.terminal.columns import columns, fitting
from overnight.terminal.plain_text import one_line

_NUMBERS = ("requests", "seen", "batch", "batch 90%", "live", "live 90%", "at most")
# What a narrow terminal goes without, the first of them first.
_SPARE = ("requests", "seen", "at most", "live 90%")


def pictures(told: Comparison, width: int) -> Iterator[RenderableType]:
    rows = [_cells(one) for one in told.models if not one.problem]
    if rows:
        headings = fitting(["model", *_NUMBERS], rows, width, _SPARE)
        table = columns(*headings, numbers=_NUMBERS)
        for row in rows:
            table.add_row(*(row[heading] for heading in headings))
        yield table
    for one in told.models:
        if one.problem:
            yield Text(f"{one.model}: {one_line(one.problem)}", style="red")
    for note in dict.fromkeys(note for one in told.models for note in one.notes):
        yield Text(f"note: {one_line(note)}", style="yellow")


def _cells(one: ModelCost) -> dict[str, str]:
    return {
        "model": one.model,
        "requests": f"{one.requests:,}",
        "seen": f"{one.seen:,}",
        "batch": _money(one.batch),
        "batch 90%": _money(one.batch_p90),
        "live": _money(one.live),
        "live 90%": _money(one.live_p90),
        "at most": _money(one.ceiling),
    }


def _money(amount: int | None) -> str:
    return "unknown" if amount is None else dollars(amount)


def last_line(told: Comparison) -> str:
    """`fruit: cheapest of 3 models is openai/gpt-4.1-nano, about $0.12 by batch; nothing was sent`."""
    models = number_of(len(told.models), "model")
    first = told.models[0]
    known = [(amount, way) for amount, way in ((first.batch, "by batch"), (first.live, "live")) if amount is not None]
    if first.problem or not known:
        return f"{told.study}: of {models} none has a known price; nothing was sent"
    amount, way = min(known)
    return f"{told.study}: the cheapest of {models} is {first.model}, about {dollars(amount)} {way}; nothing was sent"
