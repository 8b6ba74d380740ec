"""A run's report from its tables, what its ledger says of it, and the sections of its tasks."""

import re
from collections.abc import Iterable, Sequence

import msgspec
import polars as pl

from overnight.core.wording import number_of
from overnight.reporting import run_sections
from overnight.reporting.page.html import Fact, Finding, Page, figures_of, page_text
from overnight.reporting.parts import Figure, Section, Sentence
from overnight.reporting.row_browser import not_read, row_browsers
from overnight.reporting.run_facts import RunFacts
from overnight.reporting.shown_text import free_name
from overnight.reporting.wording import money_text, percent_text

_REHEARSAL = "This is a rehearsal: the emulator stands in for every model."


class Built(msgspec.Struct, frozen=True):
    """The page, and its figures for those who want them as files."""

    html: str
    figures: Sequence[Figure]
    findings: Sequence[str]


def build(facts: RunFacts, results: pl.LazyFrame, own: Iterable[Section]) -> Built:
    """`own` are the sections of the run's tasks, in the order of its stages."""
    counts = run_sections.counted(results)
    drawn = list(own)
    sections = _with_own_names([*drawn, *_common(facts, results, counts)])
    findings = _findings(drawn) or [Finding(text=run_sections.came_back_text(counts))]
    rehearsal = [Finding(text=_REHEARSAL)] if facts.rehearsal else []
    tasks = ", ".join(dict.fromkeys(stage.task for stage in facts.stages))
    page = Page(
        title=facts.name,
        eyebrow=f"report of a run \u00b7 {tasks}",
        asked=run_sections.asked_text(facts.stages),
        findings=[*findings, *rehearsal],
        facts=_facts(facts, counts),
        sections=sections,
        rows=list(row_browsers(results)),
        footer=f"Made by Overnight {facts.version}. Everything on this page is in this file; nothing is fetched.",
    )
    told = [f"{one.about}: {one.text}" if one.about else one.text for one in findings]
    return Built(page_text(page), list(figures_of(sections)), told)


def _findings(sections: Sequence[Section]) -> list[Finding]:
    """Under what they are about, where several sections found something."""
    found = [
        (section.title, part.text)
        for section in sections
        for part in section.parts
        if isinstance(part, Sentence) and part.kind == "finding"
    ]
    several = len({title for title, _ in found}) > 1
    return [Finding(text=text, about=title if several else "") for title, text in found]


def _common(facts: RunFacts, results: pl.LazyFrame, counts: pl.DataFrame) -> list[Section]:
    left_out = run_sections.left_out(counts, facts)
    left_out = msgspec.structs.replace(left_out, parts=[*left_out.parts, *not_read(results)])
    over_time = run_sections.over_time(facts.batches, facts.shared)
    return [
        run_sections.came_back(counts),
        left_out,
        run_sections.bill(facts.costs),
        *([] if over_time is None else [over_time]),
        run_sections.asked(facts),
        run_sections.again(facts),
    ]


def _facts(facts: RunFacts, counts: pl.DataFrame) -> list[Fact]:
    rows, answered = run_sections.total(counts), run_sections.total(counts, "answered")
    models = len({(arm["provider"], arm["model"]) for stage in facts.stages for arm in stage.arms})
    settled = facts.costs["settled"].drop_nulls()
    unknown = facts.costs["settled"].null_count()
    spent = money_text(sum(sorted(settled.to_list()))) if settled.len() else "not known"
    still_open = run_sections.total(counts, "pending")
    out = rows - answered - still_open
    return [
        Fact(word="models" if models != 1 else "model", value=f"{models:,}"),
        Fact(word="rows" if rows != 1 else "row", value=f"{rows:,}"),
        Fact(word="answered", value=percent_text(answered / rows) if rows else "\u2013", more=f"{answered:,}"),
        Fact(word="left out", value=f"{out:,}"),
        *([Fact(word="still open", value=f"{still_open:,}")] if still_open else []),
        Fact(
            word="spent", value=spent, more=f"without {number_of(unknown, 'arm')}" if unknown and settled.len() else ""
        ),
    ]


def _with_own_names(sections: Sequence[Section]) -> list[Section]:
    """No two figures with one name: names are those of files, and of places in the page."""
    taken: set[str] = set()
    found = []
    for section in sections:
        parts = []
        for part in section.parts:
            if isinstance(part, Figure):
                plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", part.name).strip("-.")[:80] or "figure"
                name = free_name(plain, taken)
                taken.add(name)
                part = msgspec.structs.replace(part, name=name)  # noqa: PLW2901
            parts.append(part)
        found.append(msgspec.structs.replace(section, parts=parts))
    return found
