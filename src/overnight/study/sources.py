"""Where the items of each stage come from: a table of its own, or that of the stage whose rows it takes."""

from collections.abc import Collection, Iterator, Sequence

from overnight.study.drafts import Draft
from overnight.study.handing_on import HANDED_ON
from overnight.study.items import ItemSource, open_items
from overnight.tasks.generate import LAST_ANSWER


def open_sources(drafts: Sequence[Draft]) -> dict[str, ItemSource]:
    """By each stage's name the table that its items go back to, with all checked that can be known by now.

    What a later stage asks of the items is asked of the table's rows at their first reading: that a column
    is missing must not come out when an earlier stage has been paid for.
    """
    roots: dict[str, Draft] = {}
    for draft in drafts:
        roots[draft.settings.name] = draft if draft.settings.of is None else roots[draft.settings.of]
    tables: dict[str, ItemSource] = {}
    for root in drafts:
        if root.settings.of is None:
            heirs = [draft for draft in drafts if roots[draft.settings.name] is root]
            tables[root.settings.name] = _opened(root, heirs)
    return {name: tables[root.settings.name] for name, root in roots.items()}


def _opened(root: Draft, heirs: Sequence[Draft]) -> ItemSource:
    """The first row is read to see that it can be."""
    needs = [need for draft in heirs for need in draft.needs.values()]
    items = open_items(root.settings.items, root.settings.id, root.origin, needs)
    if items.columns is not None:
        for draft in heirs:
            _check_columns(draft, items.columns)
    next(items.read())
    return items


def _check_columns(draft: Draft, columns: Collection[str]) -> None:
    for route, need in draft.needs.items():
        if problem := need.missing(columns):
            raise draft.origin.error(route, problem)


def hidden_columns(draft: Draft, columns: Collection[str]) -> Iterator[str]:
    """A word on names that stand for something else than the items' column of that name."""
    later = draft.settings.of is not None
    followed = _names(draft, turns=True)
    asked = _names(draft, turns=False) | (followed - {LAST_ANSWER})
    for name in HANDED_ON:
        if later and name in asked and name in columns:
            yield f"{{{name}}} is that of the row handed on, not the items' column of that name"
    if LAST_ANSWER in followed and (later or LAST_ANSWER in columns):
        yield f"{{{LAST_ANSWER}}} in `turns` is the model's last answer, not the items'"


def _names(draft: Draft, *, turns: bool) -> set[str]:
    asking = [need.asking for route, need in draft.needs.items() if (route[0] == "turns") == turns]
    return {name for one in asking for name in one.names}
