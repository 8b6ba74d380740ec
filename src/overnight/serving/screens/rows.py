"""The rows of a run: searched, filtered, ordered, a page at a time. Every view of them is a link."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from time import perf_counter
from typing import Any

import polars as pl

from overnight.api.tables import readable_tables
from overnight.core.errors import StudyError
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.reporting.run_sections import labels_of
from overnight.reporting.shown_text import cut, escaped
from overnight.reporting.wording import money_text
from overnight.serving.known_runs import KnownRun
from overnight.serving.row_index import ORDERS, UNPARSED, Choice, rows_at
from overnight.serving.run_tables import RunTable
from overnight.serving.screens.layout import (
    Screen,
    address,
    chip,
    input_html,
    link,
    live_part,
    select_html,
    sentences_html,
)

PAGE = 50
_KEYS = "Keys: j and k go down and up, Enter opens, n and p turn the page, / searches."
_PREVIEW = 300
_LARGEST = 2**31 - 1
# Seconds that a page waits for a search; what it has found by then is shown.
_PATIENCE = 0.06
_COLUMNS = ("stage", "arm", "item_id", "replicate", "turn", "status", "cause", "answer", "cost")
# What every row of ours has, and a stranger's table may not.
_NAMED = (pl.col("stage", "arm", "item_id", "status").fill_null(""), pl.col("replicate", "turn").fill_null(0))
_TONES = {"answered": "good", UNPARSED: "odd", "refused": "middling", "truncated": "light", "failed": "bad"}
_ORDER_WORDS = {
    "table": "as in the table",
    "longest": "longest answers first",
    "shortest": "shortest answers first",
    "dearest": "dearest first",
}
_CHOICES = tuple(one.name for one in fields(Choice))
_REALS, _WHOLES = ("least_cost", "most_cost"), ("least_length", "most_length")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a link to rows asks for."""

    words: str = ""
    choice: Choice = field(default_factory=Choice)
    page: int = 1

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Wanted":
        """StudyError where a number is none."""
        given: dict[str, Any] = {}
        for name in _CHOICES:
            text = query.get(name, "").strip()
            if text:
                given[name] = _number(name, text) if name in (*_REALS, *_WHOLES) else text
        if given.get("order", "table") not in ORDERS:
            raise StudyError(f"order: {given['order']!r} is none; there are {', '.join(ORDERS)}")
        page = query.get("page", "1")
        if not (page.isdecimal() and page.isascii() and len(page) < 9):
            raise StudyError(f"page: {page!r} is not a number of a page")
        return cls(words=query.get("q", "").strip(), choice=Choice(**given), page=max(1, int(page)))

    def query(self, **changes: str | int) -> dict[str, str | int | float | None]:
        own = {name: getattr(self.choice, name) for name in _CHOICES}
        order = None if self.choice.order == "table" else self.choice.order
        return {"q": self.words, **own, "order": order, "page": self.page if self.page > 1 else None, **changes}


def _number(name: str, text: str) -> float:
    try:
        value = float(text) if name in _REALS else int(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or abs(value) > _LARGEST:
        kind = "a number" if name in _REALS else "a whole number"
        raise StudyError(f"{name.replace('_', ' ')}: {cut(text, 40)!r} is not {kind}")
    return value


@dataclass(frozen=True, kw_only=True)
class Found:
    """Rows of one page, how many there are in all, and how far a search has come."""

    rows: list[dict[str, Any]]
    total: int
    looked: int
    over: bool
    trouble: str | None = None


def find_rows(table: RunTable, wanted: Wanted) -> Found:
    """A page of rows. Without a choice, nothing but the page itself is read."""
    begin, end = (wanted.page - 1) * PAGE, wanted.page * PAGE
    with readable_tables():
        if not wanted.words and not wanted.choice.chooses:
            numbers = list(range(min(begin, table.count), min(end, table.count)))
            return Found(rows=_read(table, numbers), total=table.count, looked=table.count, over=True)
        if not wanted.words:
            chosen = table.index.chosen(wanted.choice)
            rows = _read(table, chosen[begin:end].tolist())
            return Found(rows=rows, total=len(chosen), looked=table.count, over=True)
        finds = table.search(wanted.words).found(table.count if wanted.choice.chooses else end, _PATIENCE)
        chosen = table.index.chosen(wanted.choice, finds.rows) if wanted.choice.chooses else finds.rows
        rows = _read(table, chosen[begin:end].tolist())
        return Found(rows=rows, total=len(chosen), looked=finds.looked, over=finds.over, trouble=finds.trouble)


def _read(table: RunTable, numbers: list[int]) -> list[dict[str, Any]]:
    return rows_at(table.path, numbers, _COLUMNS).with_columns(_NAMED).to_dicts()


def rows_screen(run: KnownRun, table: RunTable | None, wanted: Wanted) -> Screen:
    if table is None:
        told = sentences_html(
            ["No row has come so far, or the first are being read: they are shown as soon as they are there."]
        )
        body = live_part("rows", told)
        return Screen(title="Rows", body=body, run=run.name, part="rows", live=True, again=True)
    began = perf_counter()
    found = find_rows(table, wanted)
    took = 1000 * (perf_counter() - began)
    notes = list(filter(None, (table.note, found.trouble)))
    list_html = _list_html(run, table, wanted, found)
    foot = _foot_html(run, wanted, found, took)
    body = _form_html(table, wanted) + live_part("rows", sentences_html(notes, kind="note") + list_html + foot)
    return Screen(title="Rows", body=body, run=run.name, part="rows", live=True, again=not found.over)


def _form_html(table: RunTable, wanted: Wanted) -> str:
    index, choice = table.index, wanted.choice
    stages = list(dict.fromkeys(stage for stage, _ in index.places))
    arms = list(dict.fromkeys(arm for stage, arm in index.places if choice.stage in ("", stage)))
    names = short_names(arms)
    parts = [
        input_html("q", "search in answers and items", wanted.words, kind="search"),
        select_html("stage", "stage", choice.stage, _options(stages, "all stages")) if len(stages) > 1 else "",
        select_html("arm", "arm", choice.arm, [("", "all arms"), *((arm, names[arm]) for arm in arms)]),
        select_html("status", "status", choice.status, _options(index.statuses, "any status")),
        select_html("cause", "cause", choice.cause, _options(filter(None, index.causes), "any cause")),
        input_html("least_cost", "cost from $", _text(choice.least_cost)),
        input_html("most_cost", "to $", _text(choice.most_cost)),
        input_html("least_length", "characters from", _text(choice.least_length)),
        input_html("most_length", "to", _text(choice.most_length)),
        select_html("order", "order", choice.order, [(order, _ORDER_WORDS[order]) for order in ORDERS]),
        '<button type="submit">Show</button>',
    ]
    return f'<form method="get" class="filters" role="search">{"".join(parts)}</form>'


def _options(words: Any, every: str) -> list[tuple[str, str]]:
    return [("", every), *((word, word) for word in sorted(words))]


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


def _list_html(run: KnownRun, table: RunTable, wanted: Wanted, found: Found) -> str:
    if not found.rows:
        text = "No row of this run is like that." if found.over else "Nothing found so far; the search goes on."
        return sentences_html([text])
    labels = labels_of(list(table.index.places))
    lines = "".join(_row_html(run, row, labels[row["stage"], row["arm"]], wanted) for row in found.rows)
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("item", "arm", "status", "answer", "cost"))
    return f'<table class="rows"><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table>'


def _row_html(run: KnownRun, row: Mapping[str, Any], label: str, wanted: Wanted) -> str:
    query = {"id": row["item_id"], "arm": row["arm"]}
    which = "".join(f", {word} {row[word] + 1}" for word in ("replicate", "turn") if row[word])
    cause = f" {escaped(row['cause'])}" if row["cause"] else ""
    text = row["answer"] or ""
    shown = _marked(text, wanted.words)
    length = f'<span class="note">{number_of(len(text), "character")}</span>' if row["answer"] is not None else ""
    cost = money_text(row["cost"]) if row["cost"] is not None else ""
    item = link(cut(row["item_id"], 120), "run", run.name, "item", query=query, more=' class="row"')
    return (
        f"<tr><td>{item}<span class=note>{escaped(which)}</span></td><td>{escaped(label)}</td>"
        f"<td>{chip(row['status'], _TONES.get(row['status'], ''))}<span class=note>{cause}</span></td>"
        f'<td class="answer">{shown} {length}</td><td class="n">{escaped(cost)}</td></tr>'
    )


def _marked(text: str, words: str) -> str:
    """The beginning of an answer; where something was searched for, the part around the first place that has it."""
    at = text.lower().find(words.lower()) if words else -1
    if at < 0:
        return escaped(cut(text, _PREVIEW))
    begin = max(0, at - _PREVIEW // 3)
    before, hit, after = text[begin:at], text[at : at + len(words)], text[at + len(words) : begin + _PREVIEW]
    more = "\u2026" if begin else ""
    rest = "\u2026" if begin + _PREVIEW < len(text) else ""
    return f"{more}{escaped(before)}<mark>{escaped(hit)}</mark>{escaped(after)}{rest}"


def _foot_html(run: KnownRun, wanted: Wanted, found: Found, took: float) -> str:
    first = (wanted.page - 1) * PAGE + 1
    last = first + len(found.rows) - 1
    count = f"{found.total:,}" if found.over else f"{found.total:,} so far"
    told = f"rows {first:,} to {last:,} of {count}" if found.rows else "no rows"
    if not found.over:
        told += f"; {found.looked:,} rows looked through"
    links = "".join(_page_links(run, wanted, found))
    return (
        f'<nav class="foot" aria-label="Pages">{links}<span class="note">{told}, {took:.0f} ms</span>'
        f'<span class="note keys">{_KEYS}</span></nav>'
    )


def _page_links(run: KnownRun, wanted: Wanted, found: Found) -> Iterator[str]:
    pages = max(1, -(-found.total // PAGE))

    def to(page: int, words: str, rel: str = "") -> str:
        where = escaped(address("run", run.name, "rows", query=wanted.query(page=page)))
        return f'<a class="button" href="{where}"{f" rel={rel}" if rel else ""}>{words}</a>'

    if wanted.page > 1:
        yield to(1, "First")
        yield to(wanted.page - 1, "Previous", "prev")
    if wanted.page < pages:
        yield to(wanted.page + 1, "Next", "next")
    if wanted.page < pages and found.over:
        yield to(pages, "Last")
