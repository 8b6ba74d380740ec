"""Stages read: the common keys and those of the task, each checked with the place it was written at."""

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from overnight.core.errors import UnknownName, nearest
from overnight.core.wording import found_text
from overnight.study.origin import Origin, Route
from overnight.study.shape import plain_settings, shaped
from overnight.study.stage import WrittenStage, check_name, check_numbers, check_stage
from overnight.study.task_kind import TaskKind
from overnight.study.task_registry import all_own_keys, own_keys, task_kind, task_kinds, task_names


def read_stage(written: Any, origin: Origin) -> WrittenStage:
    """A mapping of a list of stages."""
    if not isinstance(written, Mapping):
        raise origin.error((), f"wanted a mapping with keys such as name, task and models, found {found_text(written)}")
    check_keys(written, WrittenStage.__struct_fields__, origin)
    stage = shaped_stage(written, origin)
    check_name(stage.name, "a stage", origin)
    return stage


def check_keys(written: Mapping[Any, Any], common: Collection[str], origin: Origin) -> None:
    """Every key is a common one, or one that some task has."""
    known = {*common, *_keys_of(written.get("task"))}
    if all(key in known for key in written):
        return  # the usual case: no other task has to be looked at
    every = (*common, *all_own_keys())
    for key in written:
        if key not in every:
            # Of a key that only another task has, nothing less than a slip of the pen is taken for it.
            offered = {*known, *(other for other in every if nearest(str(key), [other], close=0.75))}
            raise origin.unknown_key((), str(key), offered)


def _keys_of(task: Any) -> tuple[str, ...]:
    kind = _kind_of(task)
    return () if kind is None else own_keys(kind)


def _kind_of(task: Any) -> TaskKind | None:
    return task_kind(task) if isinstance(task, str) and task in task_names() else None


def shaped_stage(written: Mapping[str, Any], origin: Origin) -> WrittenStage:
    """Everything that can be known of a stage without opening a file, asking a provider, or its neighbours."""
    kind = _kind_of(written.get("task"))
    settings = WrittenStage if kind is None else kind.settings
    tables = () if kind is None else kind.holds_tables
    own = {key: _plain(key, value, origin, tables) for key, value in written.items() if _is_field(key, settings)}
    stage = shaped(own, settings, origin)
    known = _named(stage, origin)
    check_numbers(stage, origin)
    _refuse_keys_of_others({key: value for key, value in written.items() if key not in own}, stage, origin)
    check_stage(stage, origin, known.item_keys)
    known.check(stage, origin)
    return stage


def _is_field(key: str, settings: type[WrittenStage]) -> bool:
    return key in settings.__struct_fields__


def _named(stage: WrittenStage, origin: Origin) -> TaskKind:
    try:
        return task_kind(stage.task)
    except UnknownName as error:
        raise origin.error(("task",), str(error), UnknownName) from None


def _plain(key: str, value: Any, origin: Origin, tables: Collection[Route]) -> Any:
    """Whole tables are left as they are: the items, and what a task has of them."""
    if key == "items" or (key,) in tables:
        return value
    inner = {route[1] for route in tables if len(route) == 2 and route[0] == key}
    if isinstance(value, msgspec.Struct) and inner:
        value = msgspec.structs.asdict(value)
    if not inner or not isinstance(value, Mapping):
        return plain_settings(value, origin, (key,))
    others = {name: one for name, one in value.items() if name not in inner}
    return {**plain_settings(others, origin, (key,)), **{name: value[name] for name in inner if name in value}}


def _refuse_keys_of_others(given: Mapping[str, Any], stage: WrittenStage, origin: Origin) -> None:
    """What another task has is for that task; its default says nothing, and does no harm."""
    for key, value in given.items():
        owners = {name: kind for name, kind in task_kinds().items() if key in own_keys(kind)}
        if any(is_default(value, key, kind.settings) for kind in owners.values()):
            continue
        tasks = " and ".join(owners)
        raise origin.error((key,), f"this is for the task{'s' * (len(owners) > 1)} {tasks}, not for {stage.task}")


def is_default(value: Any, key: str, settings: type[msgspec.Struct]) -> bool:
    default = default_of(key, settings)
    # A frame has no plain answer to whether it differs from something.
    return value is None if default is None else isinstance(value, type(default)) and value == default


def default_of(key: str, settings: type[msgspec.Struct]) -> Any:
    (default,) = (field.default for field in msgspec.structs.fields(settings) if field.name == key)
    return default
