"""One HTML file: the page of a report, with everything in it and nothing fetched.

It reads with scripts switched off. Its one script sorts tables and looks through rows; a content security policy names
that script by its hash, and allows nothing else: no other script, no request, no frame.
"""

import base64
import csv
import hashlib
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import msgspec

from overnight.core.wording import number_of
from overnight.reporting.drawing import NARROW, WIDE, draw
from overnight.reporting.page.colours import colour_rules, figure_rules
from overnight.reporting.parts import Conversation, Figure, Part, Reading, Section, Sentence, Table, Talks, Turn
from overnight.reporting.shown_text import cut, escaped, free_name
from overnight.reporting.wording import cell_text, csv_text

# A table in the page has so many rows at most; its CSV has all.
_MOST_ROWS = 200
# A cell with more characters than these is a sentence.
_LONG_CELL = 40
# As much of one text as is read in a page.
LONGEST_TEXT = 6_000


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """A number under its word, at the top of the page."""

    word: str
    value: str
    more: str = ""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, on top of the page; and what it is about, where there is more than one thing."""

    text: str
    about: str = ""


class Rows(msgspec.Struct, frozen=True, kw_only=True):
    """Packed rows to look through, and the first of them as they stand."""

    title: str
    about: str
    data: str
    first: Table


class Page(msgspec.Struct, frozen=True, kw_only=True):
    title: str
    eyebrow: str
    # What was asked, and of whom.
    asked: str
    findings: Sequence[Finding]
    facts: Sequence[Fact]
    sections: Sequence[Section]
    rows: Sequence[Rows]
    footer: str


def page_text(page: Page) -> str:
    """The whole file."""
    anchors = _anchors([section.title for section in page.sections] + [rows.title for rows in page.rows])
    style, script = style_sheet(), _file("page.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    )
    links = "".join(f'<li><a href="#{anchor}">{escaped(title)}</a></li>' for anchor, title in anchors)
    blocks = [
        f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{escaped(section.title)}</h2>'
        f"{''.join(map(part_html, section.parts))}</section>"
        for (anchor, _), section in zip(anchors, page.sections, strict=False)
    ]
    blocks += [_rows(rows, anchor) for (anchor, _), rows in zip(anchors[len(page.sections) :], page.rows, strict=True)]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(page.title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#content">Skip to the findings</a>\n<div class="column">\n'
        f"<header>{_header(page)}</header>\n"
        f'<nav aria-label="Sections"><ul>{links}</ul></nav>\n'
        f'<main id="content">\n{chr(10).join(blocks)}\n</main>\n'
        f"<footer><p>{escaped(page.footer)}</p></footer>\n</div>\n<script>{script}</script>\n</body>\n</html>\n"
    )


def style_sheet() -> str:
    """Colours, page and figures: whoever draws with these parts takes it whole."""
    return colour_rules() + figure_rules() + _file("page.css")


@cache
def _file(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _anchors(titles: Sequence[str]) -> list[tuple[str, str]]:
    """A name inside the page for each section, made of its title."""
    found: dict[str, str] = {}
    for title in titles:
        plain = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "section"
        name = free_name(plain, found)
        found[name] = title
    return list(found.items())


def _header(page: Page) -> str:
    findings = "".join(map(_finding, page.findings))
    facts = "".join(
        f"<div><dt>{escaped(fact.word)}</dt><dd>{escaped(fact.value)}"
        f"{f' <small>{escaped(fact.more)}</small>' if fact.more else ''}</dd></div>"
        for fact in page.facts
    )
    return (
        f'<p class="eyebrow">{escaped(page.eyebrow)}</p><h1>{escaped(page.title)}</h1>'
        f'<p class="note">{escaped(page.asked)}</p>{findings}'
        f'<dl class="facts">{facts}</dl>'
    )


def _finding(finding: Finding) -> str:
    about = f"<b>{escaped(finding.about)}</b> " if finding.about else ""
    return f'<p class="finding">{about}{escaped(finding.text)}</p>'


def part_html(part: Part) -> str:
    match part:
        case Sentence(text, kind):
            # A finding stands large on top of the page; beside its numbers it is a sentence as any other.
            name = ' class="note"' if kind == "note" else ""
            return f"<p{name}>{escaped(text)}</p>"
        case Table():
            return _titled(part)
        case Figure():
            return figure_html(part)
        case Reading():
            return _reading(part)
        case Talks():
            return _talks(part)


def figure_html(figure: Figure) -> str:
    """Both widths, how to read it, and its numbers behind a fold."""
    drawn = "".join(draw(figure.drawing, width, figure.title) for width in (WIDE, NARROW))
    data = base64.b64encode(table_csv(figure.numbers)).decode()
    link = f'<a download="{escaped(figure.name)}.csv" href="data:text/csv;base64,{data}">CSV</a>'
    return (
        f'<figure id="figure-{escaped(figure.name)}"><h3>{escaped(figure.title)}</h3>{drawn}'
        f'<figcaption>{escaped(figure.caption)} <span class="files">{link}</span></figcaption>'
        f"<details><summary>The numbers</summary>{table_html(figure.numbers, figure.title)}</details></figure>"
    )


def _titled(table: Table) -> str:
    shown, title = table_html(table, table.title or "table"), escaped(table.title)
    if table.folded:
        return f"<details><summary>{title or 'table'}</summary>{shown}</details>"
    return f"<h3>{title}</h3>{shown}" if title else shown


def table_html(table: Table, title: str) -> str:
    """Columns that say nothing of any row are left to the CSV."""
    table = msgspec.structs.replace(table, columns=_telling(table))
    numeric = {name for name, values in table.columns.items() if _is_numeric(values)}
    heads = "".join(
        f'<th scope="col"{" class=n" if name in numeric else ""}>{escaped(name.replace("_", " "))}</th>'
        for name in table.columns
    )
    lines = "".join(_line(row, table, numeric) for row in table.rows()[:_MOST_ROWS])
    more = table.height - _MOST_ROWS
    rest = f'<p class="note">The first {_MOST_ROWS} of {number_of(table.height, "row")}.</p>' if more > 0 else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(title)}"><table class="sorts">'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>{rest}"
    )


def _telling(table: Table) -> dict[str, Sequence[object]]:
    told = {name: values for name, values in table.columns.items() if any(one is not None for one in values)}
    return told or dict(table.columns)


def _line(row: Sequence[object], table: Table, numeric: Iterable[str]) -> str:
    shown = (
        (name in numeric, cell_text(value, table.forms.get(name)))
        for name, value in zip(table.columns, row, strict=True)
    )
    cells = (f"<td{_kind(text, is_number=is_number)}>{escaped(text)}</td>" for is_number, text in shown)
    return f"<tr>{''.join(cells)}</tr>"


def _kind(text: str, *, is_number: bool) -> str:
    """Numbers stand to the right; a sentence gets some room."""
    return " class=n" if is_number else " class=long" if len(text) > _LONG_CELL else ""


def _is_numeric(values: Sequence[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(one, int | float) and not isinstance(one, bool) for one in present)


def table_csv(table: Table) -> bytes:
    """All of a table's rows: UTF-8, one header, nothing for what is missing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([csv_text(value) for value in row] for row in table.rows())
    # A half of a character, which a text from anywhere may hold, has no bytes.
    return text.getvalue().encode(errors="replace")


def _reading(reading: Reading) -> str:
    notes = "".join(f'<p class="note">{escaped(note)}</p>' for note in reading.notes)
    texts = "".join(
        f'<div><h4>{escaped(label)}</h4><pre tabindex="0">{escaped(cut(text, LONGEST_TEXT))}</pre></div>'
        for label, text in reading.texts
    )
    return f'<details><summary>{escaped(reading.title)}</summary>{notes}<div class="texts">{texts}</div></details>'


def _talks(talks: Talks) -> str:
    notes = "".join(f'<p class="note">{escaped(note)}</p>' for note in talks.notes)
    told = "".join(map(_conversation, talks.talks))
    return f'<details><summary>{escaped(talks.title)}</summary>{notes}<div class="texts">{told}</div></details>'


def _conversation(talk: Conversation) -> str:
    return f'<div class="talk"><h4>{escaped(talk.label)}</h4>{"".join(map(_turn, talk.turns))}</div>'


def _turn(turn: Turn) -> str:
    kind = "turn own" if turn.own else "turn"
    mark = "said-of marked" if turn.marked else "said-of"
    notes = "".join(f'<p class="{mark}">{escaped(note)}</p>' for note in turn.notes)
    return (
        f'<div class="{kind}"><p class="speaker">{escaped(turn.speaker)}</p>'
        f'<pre tabindex="0">{escaped(cut(turn.text, LONGEST_TEXT))}</pre>{notes}</div>'
    )


def _rows(rows: Rows, anchor: str) -> str:
    heads = "".join(
        f'<th scope="col"{" class=n" if _is_numeric(values) else ""}>{escaped(name)}</th>'
        for name, values in rows.first.columns.items()
    )
    numeric = {name for name, values in rows.first.columns.items() if _is_numeric(values)}
    lines = "".join(_line(row, rows.first, numeric) for row in rows.first.rows())
    return (
        f'<section class="every" aria-labelledby="{anchor}"><h2 id="{anchor}">{escaped(rows.title)}</h2>'
        f"<p>{escaped(rows.about)}</p>"
        '<div class="browser"><p class="without">These are the first rows; to see all, let scripts run.</p>'
        '<div class="controls" hidden></div>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(rows.title)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
        '<div class="foot" hidden><button type="button" class="step">Previous</button>'
        '<button type="button" class="step">Next</button><span class="told" role="status"></span></div>'
        f'<script type="application/octet-stream">{rows.data}</script></div></section>'
    )


def figures_of(sections: Iterable[Section]) -> Iterator[Figure]:
    for section in sections:
        for part in section.parts:
            if isinstance(part, Figure):
                yield part
