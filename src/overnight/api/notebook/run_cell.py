"""A run in a notebook's cell: how it stands, what was found, and its figures.

Figures are pictures of their own, so that nothing of the notebook's page changes them, and they change nothing of it.
"""

import base64
from collections.abc import Iterator, Sequence

from overnight.api.notebook.html import (
    OUTCOMES,
    batches_html,
    counts_of,
    paragraph_html,
    parts_html,
    spent_text,
    table_html,
)
from overnight.api.report import drawn_sections
from overnight.api.work import Run
from overnight.core.wording import number_of
from overnight.reporting.files import figure_svg
from overnight.reporting.page.html import figures_of
from overnight.reporting.parts import Figure, Section, Sentence
from overnight.reporting.shown_text import escaped

# As many as a cell holds well; the report has all.
_MOST_FIGURES = 4


def run_html(run: Run) -> str:
    one = run.snapshot
    spent = spent_text(one.spent, one.presumed, one.priced)
    counts = (run.state, one.total, *counts_of(one).values(), spent)
    said = (paragraph_html(line) for line in run.message.splitlines())
    table = table_html(("run", "state", "rows", *OUTCOMES, "cost"), [(run.name, *counts)])
    return parts_html((table, *said, batches_html(one.batches), *_found(run)))


def _found(run: Run) -> Iterator[str]:
    """From the tables of its last pass; nothing while there are none, or where they cannot be drawn."""
    folder = run.folder
    if not (folder.tables / "results.parquet").is_file():
        return
    try:
        sections = drawn_sections(folder)
    except Exception as error:  # noqa: BLE001 - another package's task draws too, and the run must be shown all the same
        yield paragraph_html(f"its figures cannot be drawn: {error.__class__.__name__}: {error}")
        return
    yield from (f"<div><b>{_text(text)}</b></div>" for text in _findings(sections))
    figures = list(figures_of(sections))
    yield from map(_picture, figures[:_MOST_FIGURES])
    more = len(figures) - _MOST_FIGURES
    rest = f"; it has {number_of(more, 'more figure')}" if more > 0 else ""
    if folder.report.is_file():
        yield paragraph_html(f"report: {folder.report}{rest}")


def _findings(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        for part in section.parts:
            if isinstance(part, Sentence) and part.kind == "finding":
                yield part.text


def _picture(figure: Figure) -> str:
    data = base64.b64encode(figure_svg(figure).encode()).decode()
    return (
        f'<div style="max-width:860px;margin:12px 0"><div><b>{_text(figure.title)}</b></div>'
        f'<img alt="{_text(figure.title)}" src="data:image/svg+xml;base64,{data}" style="width:100%">'
        f'<div style="color:#666">{_text(figure.caption)}</div></div>'
    )


def _text(text: str) -> str:
    """Whole, and harmless; a page must not take a dollar for the beginning of a formula."""
    return escaped(text).replace("$", "&#36;")
