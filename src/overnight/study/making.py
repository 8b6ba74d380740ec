"""The task of a stage, made from its draft and its table."""

from typing import NamedTuple

from overnight.core.task import Task
from overnight.study.comparing import Comparison, notes_on, open_listing, text_column
from overnight.study.drafts import Draft
from overnight.study.items import ItemSource
from overnight.tasks.compare import kind_of
from overnight.tasks.generate import Generate


class Made(NamedTuple):
    """A task, and what the user should know of it before paying."""

    task: Task
    notes: tuple[str, ...] = ()


def make_task(draft: Draft, source: ItemSource) -> Made:
    if draft.comparison is not None:
        return _compare(draft, draft.comparison, source)
    prompts = draft.prompts
    return Made(
        Generate(
            [branch.arm for branch in draft.branches],
            templates=prompts.templates,
            messages=prompts.messages,
            systems=draft.systems,
            turns=prompts.turns,
            replicates=draft.settings.replicates,
        )
    )


def _compare(draft: Draft, comparison: Comparison, source: ItemSource) -> Made:
    settings = draft.settings
    listing = open_listing(settings.pairs, draft.origin)
    task = kind_of(comparison.pairs)(
        [branch.arm for branch in draft.branches],
        templates=draft.prompts.templates,
        systems=draft.systems,
        trait=comparison.trait,
        pairs=comparison.pairs,
        listing=listing,
        form=comparison.form,
        text=text_column(source, settings.text, draft.origin),
        replicates=settings.replicates,
    )
    return Made(task, tuple(notes_on(comparison, source, listing)))
