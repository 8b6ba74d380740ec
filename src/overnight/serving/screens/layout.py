"""What every screen has: its frame, its links, and how numbers and states are drawn. All texts are escaped here."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, urlencode

from overnight.reporting.page.html import Fact, style_sheet
from overnight.reporting.shown_text import escaped

Query = Mapping[str, str | int | float | None]

# A run's pages, by the last part of their address.
_TABS = (("", "Overview"), ("rows", "Rows"), ("arms", "Two arms"), ("report", "Report"))


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A page: its title, what stands under it, and which run's changes it follows."""

    title: str
    body: str
    # The run that it is of, and the part of it that it shows.
    run: str | None = None
    part: str | None = None
    # Shown anew when something changes: the parts of the body that are marked as live.
    live: bool = False
    # Asks the page to come again by itself, where nothing else would bring what is still to come.
    again: bool = False
    before: str | None = None
    after: str | None = None


def address(*parts: str, query: Query | None = None) -> str:
    """A link inside the dashboard. What is not given stays out of it."""
    given = {name: value for name, value in (query or {}).items() if value not in (None, "")}
    path = "/" + "/".join(quote(part, safe="") for part in parts if part)
    return path + (f"?{urlencode(given)}" if given else "")


def link(text: str, *parts: str, query: Query | None = None, more: str = "") -> str:
    return f'<a href="{escaped(address(*parts, query=query))}"{more}>{escaped(text)}</a>'


@cache
def style() -> str:
    return style_sheet() + _file("dashboard.css")


@cache
def script() -> str:
    return _file("dashboard.js")


def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def style_name() -> str:
    """Names change with the content, so that no browser shows a new page with old colours."""
    return f"style-{sha256(style().encode()).hexdigest()[:12]}.css"


@cache
def script_name() -> str:
    return f"script-{sha256(script().encode()).hexdigest()[:12]}.js"


def page_html(screen: Screen, *, rehearsal: bool) -> str:
    follows = f' data-follow="{escaped(address("changes", query={"run": screen.run}))}"' if screen.live else ""
    again = ' data-again="yes"' if screen.again else ""
    refresh = '<noscript><meta http-equiv="refresh" content="2"></noscript>' if screen.again else ""
    kept = ' <span class="chip">rehearsals</span>' if rehearsal else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(screen.title)} \u00b7 Overnight</title>\n{refresh}"
        f'<link rel="icon" href="data:,">\n<link rel="stylesheet" href="/{style_name()}">\n'
        f'<script src="/{script_name()}" defer></script>\n</head>\n<body{follows}{again}>\n'
        '<a class="skip" href="#content">Skip to the content</a>\n<div class="column">\n'
        f'<header class="top"><p class="home">{link("Overnight")}{kept}</p>'
        f'<nav aria-label="Dashboard"><ul><li>{link("Runs")}</li><li>{link("Accounts", "accounts")}</li></ul></nav>'
        f'<p id="told" class="note" role="status"></p></header>\n'
        f'<main id="content" tabindex="-1">\n{_heading(screen)}{screen.body}\n</main>\n</div>\n</body>\n</html>\n'
    )


def _heading(screen: Screen) -> str:
    if screen.run is None:
        return f"<h1>{escaped(screen.title)}</h1>\n"
    tabs = "".join(
        f"<li>{link(words, 'run', screen.run, part, more=_current(part == screen.part))}</li>" for part, words in _TABS
    )
    return (
        f'<p class="eyebrow">{link("Runs")} / {link(screen.run, "run", screen.run)}</p>'
        f"<h1>{escaped(screen.title)}</h1>\n"
        f'<nav class="tabs" aria-label="Run"><ul>{tabs}</ul></nav>\n'
    )


def _current(is_current: bool) -> str:
    return ' aria-current="page"' if is_current else ""


def live_part(name: str, content: str) -> str:
    """A part of a page that is shown anew when something has changed."""
    return f'<div data-live="{escaped(name)}">{content}</div>'


def facts_html(facts: Iterable[Fact]) -> str:
    found = "".join(
        f"<div><dt>{escaped(fact.word)}</dt><dd>{escaped(fact.value)}"
        f"{f' <small>{escaped(fact.more)}</small>' if fact.more else ''}</dd></div>"
        for fact in facts
    )
    return f'<dl class="facts">{found}</dl>'


def sentences_html(texts: Iterable[str], *, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return "".join(f"<p{name}>{escaped(text)}</p>" for text in texts)


def chip(word: str, tone: str = "") -> str:
    return f'<span class="chip {tone}">{escaped(word)}</span>'


def strip_html(parts: Sequence[tuple[str, int]], title: str) -> str:
    """Shares of a whole as one thin bar; each part with its tone."""
    total = sum(count for _, count in parts)
    drawn, at = [], 0.0
    for tone, count in parts:
        width = 100 * count / total if total else 0.0
        if width:
            drawn.append(f'<rect class="bar {tone}" x="{at:.2f}" y="0" width="{width:.2f}" height="4"/>')
        at += width
    return (
        f'<svg class="figure strip" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" '
        f'aria-label="{escaped(title)}">{"".join(drawn)}</svg>'
    )


def select_html(name: str, words: str, chosen: str, options: Iterable[tuple[str, str]]) -> str:
    """A labelled choice; the first is for all."""
    found = "".join(
        f'<option value="{escaped(value)}"{" selected" if value == chosen else ""}>{escaped(text)}</option>'
        for value, text in options
    )
    return f'<label>{escaped(words)}<select name="{name}">{found}</select></label>'


def input_html(name: str, words: str, value: str, *, kind: str = "text", hint: str = "") -> str:
    placeholder = f' placeholder="{escaped(hint)}"' if hint else ""
    return (
        f'<label class="{kind}">{escaped(words)}'
        f'<input type="{kind}" name="{name}" value="{escaped(value)}"{placeholder} autocomplete="off"></label>'
    )
