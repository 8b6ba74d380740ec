"""A second stage, whose answers go with the rows that a stage takes: what can be known of it beforehand."""

from collections.abc import Iterator, Mapping, Sequence

from overnight.core.errors import nearest
from overnight.study.items import ItemSource
from overnight.study.task_kind import Draft
from overnight.study.task_registry import task_kind

_NAMED = 5


def check_beside(drafts: Sequence[Draft]) -> None:
    """It says one thing about each item, and its items are its own: so it can be told which answer goes with a row."""
    by_name = {draft.stage.name: draft for draft in drafts}
    for draft in drafts:
        if draft.beside is None:
            continue
        route = (task_kind(draft.stage.task).beside_key or "",)
        other = by_name[draft.beside.stage]
        if other.stage.of is not None:
            problem = f"'{other.stage.name}' takes the rows of another stage; name one with items of its own"
            raise draft.origin.error(route, problem)
        answers = len(other.branches) * other.stage.replicates
        if answers != 1:
            problem = f"'{other.stage.name}' says {answers} things about each item; one model, asked once, is wanted"
            raise draft.origin.error(route, problem)


def beside_notes(draft: Draft, sources: Mapping[str, ItemSource]) -> Iterator[str]:
    """Rows that nothing goes with are named before anything is paid; where nothing goes with any, that is refused."""
    if draft.beside is None:
        return
    known = {item.id for item in sources[draft.beside.stage].read()}
    wanted = dict.fromkeys(str(item.fields.get(draft.beside.by)) for item in sources[draft.stage.name].read())
    missing = [name for name in wanted if name not in known]
    if wanted and len(missing) == len(wanted):
        other = f"'{draft.beside.stage}' has no item '{missing[0]}'{nearest(missing[0], known)}"
        route = (task_kind(draft.stage.task).beside_key or "",)
        raise draft.origin.error(route, f"{other}: its items are to be what `{draft.beside.by}` names")
    if missing:
        more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        few = f"{len(missing):,} of {len(wanted):,} values of `{draft.beside.by}`"
        some = f"{', '.join(missing[:_NAMED])}{more}"
        yield f"'{draft.beside.stage}' has nothing for {few}, whose rows are left out: {some}"
