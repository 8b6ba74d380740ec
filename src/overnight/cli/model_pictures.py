"""Known models as a table: what a million tokens cost, how they think, what they refuse, and their last day."""

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from overnight.api import ModelCard, Rates
from overnight.core.wording import number_of
from overnight.terminal.columns import columns

_PRICES = ("live in", "out", "batch in", "out ")


def pictures(cards: Sequence[ModelCard]) -> Iterator[RenderableType]:
    for provider in dict.fromkeys(card.provider for card in cards):
        yield Text(provider, style="bold")
        yield _table([card for card in cards if card.provider == provider])
        yield ""


def _table(cards: Sequence[ModelCard]) -> Table:
    table = columns("  model", *_PRICES, "thinking", "rules", numbers=_PRICES)
    for card in cards:
        thinking = "unknown" if card.rules is None else _span(card.rules.thinking)
        table.add_row(f"  {card.model}", *_amounts(card.live), *_amounts(card.batch), thinking, rules_text(card))
    return table


def _amounts(rates: Rates | None) -> tuple[str, str]:
    if rates is None:
        return "none", ""
    # A price that is only an upper bound is marked; `--json` says why.
    mark = "*" if rates.note else ""
    return _amount(rates.input, mark), _amount(rates.output, mark)


def _amount(dollars: float | None, mark: str) -> str:
    return "unknown" if dollars is None else f"${dollars:,.4g}{mark}"


def _span(choices: Sequence[str]) -> str:
    """`off, low to high`: the words of a row of levels are not repeated."""
    levels = [word for word in ("minimal", "low", "medium", "high") if word in choices]
    others = [word for word in choices if word not in levels and word != "on"]
    if len(levels) > 2:
        levels = [f"{levels[0]} to {levels[-1]}"]
    return ", ".join((*others, *levels))


def rules_text(card: ModelCard) -> str:
    """`no temperature, top_p; at most 64,000 tokens out; ends 2027-01-14`."""
    if card.rules is None:
        return ""
    parts = []
    if card.rules.refuses:
        parts.append(f"no {', '.join(card.rules.refuses)}")
    if card.rules.longest is not None:
        parts.append(f"at most {card.rules.longest:,} out")
    if card.ends is not None:
        parts.append(f"ends {card.ends}")
    return "; ".join(parts)


def last_line(cards: Sequence[ModelCard], source: str) -> str:
    if not cards:
        return "no known model fits; one that is not known here can be asked all the same"
    marked = any(rates.note for card in cards for rates in (card.batch, card.live) if rates is not None)
    bound = "; * no price of its own is known for that, the standard price is an upper bound" if marked else ""
    return f"{number_of(len(cards), 'model')}; dollars for a million tokens, prices: {source}{bound}"
