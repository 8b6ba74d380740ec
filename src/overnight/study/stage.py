"""One stage of a study as it was written: what is asked, about what, and of whom."""

from collections.abc import Mapping
from typing import Any

import msgspec

from overnight.core.errors import UnknownName
from overnight.core.names import name_problem
from overnight.core.wording import found_text
from overnight.study.arms import Grid, check_grid
from overnight.study.comparing import PairsEntry, TraitEntry, check_comparing
from overnight.study.handing_on import check_source
from overnight.study.items import check_items
from overnight.study.models import ModelEntry, check_models
from overnight.study.origin import Origin
from overnight.study.pace import BatchSettings, check_batch, gather_seconds
from overnight.study.prompts import TemplateEntry, check_prompts
from overnight.study.shape import plain_settings, shaped
from overnight.tasks import check_task
from overnight.tasks.generate import MOST_REPLICATES

# Keys of a stage that later versions have. To take them in silence would promise what is not done.
LATER_STAGE_KEYS = ("spec", "inputs", "design", "levels", "control")

# Keys that only one task has.
_OWN_KEYS = {
    "generate": ("prompt", "messages", "turns"),
    "compare": ("text", "trait", "pairs", "ties", "explanation", "confidence", "tags"),
}


class StageSettings(msgspec.Struct, frozen=True, kw_only=True):
    """A stage's fields in the only types that are right."""

    name: str
    task: str
    models: list[str | ModelEntry]
    items: Any = None
    of: str | None = None
    when: str | None = None
    take: list[str] | None = None
    id: str | None = None
    prompt: str | None = None
    templates: list[str | TemplateEntry] | None = None
    messages: str | None = None
    system: str | None = None
    turns: list[str] | None = None
    text: str | None = None
    trait: str | TraitEntry | None = None
    pairs: PairsEntry | None = None
    ties: bool = False
    explanation: bool = False
    confidence: bool = False
    tags: list[str] | None = None
    grid: Grid | None = None
    replicates: int = 1
    seed: int = 0
    dedupe: bool = True
    gather: str | float | None = None
    batch: BatchSettings | None = None


def read_stage(written: Any, origin: Origin) -> StageSettings:
    """A mapping of a list of stages."""
    if not isinstance(written, Mapping):
        raise origin.error((), f"wanted a mapping with keys such as name, task and models, found {found_text(written)}")
    for key in written:
        if key in LATER_STAGE_KEYS:
            raise origin.key_error((), key, f"`{key}` is not part of this version")
        if key not in StageSettings.__struct_fields__:
            raise origin.unknown_key((), str(key), StageSettings.__struct_fields__)
    stage = shaped_stage(written, origin)
    check_name(stage.name, "a stage", origin)
    return stage


def shaped_stage(written: Mapping[str, Any], origin: Origin) -> StageSettings:
    """Everything that can be known of a stage without opening a file, asking a provider, or its neighbours."""
    stage = shaped({field: _plain(field, value, origin) for field, value in written.items()}, StageSettings, origin)
    _check_header(stage, origin)
    _refuse_keys_of_others(stage, origin)
    check_source(stage, origin)
    if stage.items is not None:
        check_items(stage.items, origin)
    check_prompts(stage, origin, needed=stage.task == "generate")
    if stage.task == "compare":
        check_comparing(stage, origin)
    check_models(stage.models, origin)
    check_grid(stage.grid, origin)
    check_batch(stage.batch, origin)
    if stage.gather is not None:
        gather_seconds(stage.gather, origin)
    return stage


def _plain(field: str, value: Any, origin: Origin) -> Any:
    """Tables are left as they are: the samples, and a list of pairs."""
    if field == "items":
        return value
    if isinstance(value, PairsEntry):
        value = msgspec.structs.asdict(value)
    if field == "pairs" and isinstance(value, Mapping) and "list" in value:
        others = {key: one for key, one in value.items() if key != "list"}
        return {**plain_settings(others, origin, (field,)), "list": value["list"]}
    return plain_settings(value, origin, (field,))


def _refuse_keys_of_others(stage: StageSettings, origin: Origin) -> None:
    defaults = {field.name: field.default for field in msgspec.structs.fields(StageSettings)}
    for task, keys in _OWN_KEYS.items():
        for key in keys:
            if task != stage.task and getattr(stage, key) != defaults[key]:
                raise origin.error((key,), f"this is for the task {task}, not for {stage.task}")


def check_name(name: str, what: str, origin: Origin) -> None:
    problem = name_problem(name)
    if problem is not None:
        raise origin.error(("name",), f"{found_text(name)} cannot name {what}; {problem}")


def _check_header(stage: StageSettings, origin: Origin) -> None:
    try:
        check_task(stage.task)
    except UnknownName as error:
        raise origin.error(("task",), str(error), UnknownName) from None
    if stage.id is not None and not stage.id:
        raise origin.error(("id",), "wanted the name of a column")
    if not 1 <= stage.replicates <= MOST_REPLICATES:
        raise origin.error(("replicates",), f"{stage.replicates} is not between 1 and {MOST_REPLICATES}")
    if stage.seed < 0:
        raise origin.error(("seed",), f"{stage.seed} is less than 0")
