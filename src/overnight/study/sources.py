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
    tables = {name: _opened(root, _heirs(root, roots, drafts)) for name, root in roots.items() if _begins(root, name)}
    return {name: tables[root.settings.name] for name, root in roots.items()}


def _begins(root: Draft, name: str) -> bool:
    return root.settings.name == name


def _heirs(root: Draft, roots: dict[str, Draft], drafts: Sequence[Draft]) -> list[Draft]:
    return [draft for draft in drafts if roots[draft.settings.name] is root]


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
    """A word on names that mean something else than the items' column of that name."""
    is_turn = {route: route[0] == "turns" for route in draft.needs}
    asked = {name for route, need in draft.needs.items() if not is_turn[route] for name in need.asking.names}
    if draft.settings.of is not None:
        for name in HANDED_ON:
            if name in asked and name in columns:
                yield f"{{{name}}} is that of the row handed on, not the items' column of that name"
    followed = {name for route, need in draft.needs.items() if is_turn[route] for name in need.asking.names}
    if LAST_ANSWER in followed and (draft.settings.of is not None or LAST_ANSWER in columns):
        yield f"{{{LAST_ANSWER}}} in `turns` is the model's last answer, not the column of that name"
