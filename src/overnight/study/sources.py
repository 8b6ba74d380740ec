"""Where the items of each stage come from: a table of its own, or that of the stage whose rows it takes."""

from collections.abc import Collection, Iterator, Sequence

from overnight.study.handing_on import given_to, on_empty
from overnight.study.items import ItemSource, open_items
from overnight.study.task_kind import Draft
from overnight.study.task_registry import task_kind


def open_sources(drafts: Sequence[Draft]) -> dict[str, ItemSource]:
    """By each stage's name the table that its items go back to, with all checked that can be known by now.

    What a later stage asks of the items is asked of the table's rows at their first reading: that a column
    is missing must not come out when an earlier stage has been paid for.
    """
    roots: dict[str, Draft] = {}
    drafts = _with_what_sources_were_given(drafts)
    for draft in drafts:
        roots[draft.stage.name] = draft if draft.stage.of is None else roots[draft.stage.of]
    tables: dict[str, ItemSource] = {}
    for root in drafts:
        if root.stage.of is None:
            heirs = [draft for draft in drafts if roots[draft.stage.name] is root]
            tables[root.stage.name] = _opened(root, heirs)
    return {name: tables[root.stage.name] for name, root in roots.items()}


def _with_what_sources_were_given(drafts: Sequence[Draft]) -> list[Draft]:
    """What was handed on to a stage is part of its items, and so of those of the stages after it."""
    given: dict[str, tuple[str, ...]] = {}
    found: list[Draft] = []
    makes = {draft.stage.name: task_kind(draft.stage.task).makes for draft in drafts}
    for draft in drafts:
        source = draft.stage.of or ""
        written = makes.get(source, ())
        before = (*given.get(source, ()), *written)
        # What a stage has written is handed on in the place of its rows.
        no_rows = set(given_to(draft.stage)) - set(written) if written else set[str]()
        if written:
            _refuse_answers(draft, no_rows)
        given[draft.stage.name] = (*(name for name in given_to(draft.stage) if name not in no_rows), *before)
        needs = {
            route: need._replace(given=(*(name for name in need.given if name not in no_rows), *before))
            for route, need in draft.needs.items()
        }
        found.append(draft._replace(needs=needs))
    return found


def _refuse_answers(draft: Draft, of_rows: Collection[str]) -> None:
    """What wants answers cannot take what a stage has written: nobody has answered that yet."""
    asked = (name for need in draft.needs.values() for name in need.asking.names if name not in need.filled)
    wanted = next((name for name in asked if name in of_rows), None)
    if wanted is not None or draft.stage.group is not None:
        told = f"'{draft.stage.of}' hands on items that it has written, and no answers"
        named = "" if wanted is None else f", so that there is no {{{wanted}}}"
        raise draft.origin.error(("of",), f"{told}{named}; let a stage of generate answer them, and take that one")


def _opened(root: Draft, heirs: Sequence[Draft]) -> ItemSource:
    needs = [need for draft in heirs for need in draft.needs.values()]
    items = open_items(root.stage.items, root.stage.id, root.origin, needs, root.rows, on_empty(root.stage))
    if items.columns is not None:
        for draft in heirs:
            _check_columns(draft, items.columns)
    return items


def _check_columns(draft: Draft, columns: Collection[str]) -> None:
    for route, need in draft.needs.items():
        if problem := need.missing(columns):
            raise draft.origin.error(route, problem)


def hidden_columns(draft: Draft, columns: Collection[str]) -> Iterator[str]:
    """A word on names that stand for the row handed on, where the items have a column of that name too."""
    if draft.stage.of is None:
        return
    asked = {name for need in draft.needs.values() for name in need.asking.names if name not in need.filled}
    for name in given_to(draft.stage):
        if name in asked and name in columns:
            yield f"{{{name}}} is that of the row handed on, not the items' column of that name"
