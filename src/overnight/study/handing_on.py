"""What one stage hands on to a later one: its rows, as the items of the other."""

from collections.abc import Collection, Sequence
from typing import Protocol, cast

from overnight.core.errors import StudyError, UnknownName, nearest
from overnight.core.handed_on import GROUPED, HANDED_ON, Group
from overnight.core.stage import When
from overnight.study.empty_fields import CHOICES, OnEmpty
from overnight.study.origin import Origin, Route

# Rows that have something to hand on: a failed one has not.
TAKEABLE: tuple[str, ...] = ("answered", "refused", "truncated")

_WHENS = ("landed", "done")
_OF_ROWS_ONLY = ("when", "take", "group")


class Sourced(Protocol):
    """The part of a stage that is read here."""

    @property
    def name(self) -> str: ...
    @property
    def items(self) -> object: ...
    @property
    def of(self) -> str | None: ...
    @property
    def id(self) -> str | None: ...
    @property
    def when(self) -> str | None: ...
    @property
    def take(self) -> Sequence[str] | None: ...
    @property
    def group(self) -> str | None: ...
    @property
    def empty(self) -> str | None: ...


def check_source(stage: Sourced, origin: Origin, item_keys: Sequence[str] = ()) -> None:
    """Items of its own, or the rows of another stage; and what only one of the two can have.

    `item_keys` are keys of the task's own that name items too.
    """
    own = next((key for key in item_keys if getattr(stage, key) is not None), None)
    if own is not None:
        _refuse_beside(own, stage, origin)
    elif (stage.items is None) == (stage.of is None):
        found = "neither" if stage.of is None else "both"
        raise origin.error((), f"wanted one of `items` and `of`, found {found}")
    for field in _OF_ROWS_ONLY:
        if stage.of is None and getattr(stage, field) is not None:
            raise origin.error((field,), "this is for a stage with `of`, not for one with `items`")
    if stage.of is not None and stage.id is not None:
        raise origin.error(("id",), "this is for a stage with `items`; rows of another stage have ids already")
    if stage.of is not None and stage.empty is not None:
        raise origin.error(("empty",), "this is for a stage with `items`, and counts for all stages after it")
    if stage.empty is not None and stage.empty not in CHOICES:
        raise origin.error(("empty",), f"wanted allow or skip, found '{stage.empty}'{nearest(stage.empty, CHOICES)}")
    _check_when(stage, origin)
    _check_take(stage, origin)
    if stage.group is not None and stage.group not in GROUPED:
        raise origin.error(("group",), f"wanted item or thread, found '{stage.group}'{nearest(stage.group, GROUPED)}")


def _refuse_beside(own: str, stage: Sourced, origin: Origin) -> None:
    for key in ("items", "of", "id"):
        if getattr(stage, key) is not None:
            raise origin.error((key,), f"`{own}` says what the items are; leave `{key}` out")


def _check_when(stage: Sourced, origin: Origin) -> None:
    if stage.when is not None and stage.when not in _WHENS:
        raise origin.error(("when",), f"wanted landed or done, found '{stage.when}'{nearest(stage.when, _WHENS)}")


def _check_take(stage: Sourced, origin: Origin) -> None:
    take = stage.take
    if take is None:
        return
    if not take:
        raise origin.error(("take",), "the list is empty")
    for index, status in enumerate(take):
        route: Route = ("take", index)
        if status not in TAKEABLE:
            wanted = "wanted answered, refused or truncated"
            raise origin.error(route, f"{wanted}, found '{status}'{nearest(status, TAKEABLE)}")
        if status in take[:index]:
            raise origin.error(route, f"{status} is listed twice")


def check_order(stages: Sequence[Sourced], origins: Sequence[Origin], beside: Sequence[tuple[str, str] | None]) -> None:
    """Names are unique, also where capitals count for nothing; rows come from a stage that is listed before.

    So does what goes with them: `beside` has, for each stage, the key that names a second one and that one's name.
    """
    names = [stage.name for stage in stages]
    for index, (stage, origin) in enumerate(zip(stages, origins, strict=True)):
        if stage.name.casefold() in (name.casefold() for name in names[:index]):
            raise origin.error(("name",), f"two stages are called '{stage.name}'")
        for key, name in (("of", stage.of), beside[index] or ("", None)):
            if name is not None and name not in names[:index]:
                raise _no_source(key, name, index, names, origin)


def check_made(stages: Sequence[Sourced], origins: Sequence[Origin], writers: Collection[str]) -> None:
    """Items that a stage has written come all at once, each by itself. `writers` are the names of such stages."""
    for stage, origin in zip(stages, origins, strict=True):
        for key in _OF_ROWS_ONLY if stage.of in writers else ():
            if getattr(stage, key) is not None:
                told = f"'{stage.of}' hands on what it has written, one by one, when it is over"
                raise origin.error((key,), f"{told}; leave `{key}` out")


def _no_source(key: str, of: str, index: int, names: Sequence[str], origin: Origin) -> StudyError:
    earlier = names[:index]
    before = f" (before it: {', '.join(earlier)})" if earlier else "; the first stage needs `items`"
    if of == names[index]:
        return origin.error((key,), f"a stage cannot take its own rows{before}")
    if of in names:
        return origin.error((key,), f"'{of}' comes later; list it before this one{before}")
    return origin.error((key,), f"there is no stage '{of}'{nearest(of, earlier)}{before}", UnknownName)


def on_empty(stage: Sourced) -> OnEmpty:
    return cast("OnEmpty", stage.empty or "refuse")


def when_of(stage: Sourced) -> When:
    return cast(When, stage.when or "landed")


def taken_by(stage: Sourced) -> tuple[str, ...]:
    """In one order, whatever the order they were written in."""
    return tuple(status for status in TAKEABLE if status in (stage.take or ("answered",)))


def group_of(stage: Sourced) -> Group | None:
    return cast("Group | None", stage.group)


def given_to(stage: Sourced) -> tuple[str, ...]:
    """What a template may name of rows that are handed on, besides their items' columns. These win over columns."""
    if stage.of is None:
        return ()
    group = group_of(stage)
    return HANDED_ON if group is None else GROUPED[group]
