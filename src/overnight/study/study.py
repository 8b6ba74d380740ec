"""The researcher's study: what was written, checked as strictly in a program as in a file."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from overnight.core.arguments import checked
from overnight.core.ask import Buckets
from overnight.core.money import Budget
from overnight.core.wording import found_text, number_of
from overnight.study.arms import Grid
from overnight.study.buckets import read_buckets
from overnight.study.budget import read_budget
from overnight.study.document import read_document
from overnight.study.handing_on import check_made, check_order
from overnight.study.items import check_items
from overnight.study.models import ModelEntry
from overnight.study.notify import read_notify
from overnight.study.origin import Origin
from overnight.study.pace import (
    BatchSettings,
    LiveSettings,
    PollSettings,
    SpillSettings,
    check_batch,
    check_deadline,
    check_live,
    check_mode,
    check_poll,
    gather_seconds,
    timeout_seconds,
)
from overnight.study.phases import check_phases
from overnight.study.priority import PriorityEntry
from overnight.study.reading import check_keys, default_of, read_stage, shaped_stage
from overnight.study.shape import plain_settings, shaped
from overnight.study.stage import WrittenStage, check_name
from overnight.study.task_registry import own_keys, task_kind, task_kinds, task_names

_REQUIRED = ("name", "task", "models")
# Keys that only a stage of a list can have.
_LISTED_ONLY = ("of", "when", "take", "group", "after")
# What is longer is not repeated where a study is shown.
_MOST_SHOWN, _LONGEST_SHOWN = 6, 80


class Study:
    """One stage with a name, or a list of stages. `items` is a path, a polars or pandas frame, or a list of mappings.

    `stages` holds mappings with the keys of a stage; what is a stage's own is then written there. The keys of the task
    are given by name as the others are: `Study(name=..., task=..., items=..., models=..., prompt=...)`.
    """

    name: str
    task: str | None
    items: Any
    models: Sequence[str | ModelEntry | Mapping[str, Any]] | None
    stages: Sequence[Mapping[str, Any]] | None
    mode: str
    live: LiveSettings | Mapping[str, Any] | None
    budget: float | Decimal | Mapping[str, Any] | None
    # Where it was written: for messages, and for the paths in it.
    origin: Origin

    def __init__(
        self,
        *,
        name: str | None = None,
        task: str | None = None,
        items: Any = None,
        models: Sequence[str | ModelEntry | Mapping[str, Any]] | None = None,
        id: str | None = None,  # noqa: A002 - a key of the study
        priority: str | PriorityEntry | Mapping[str, Any] | None = None,
        empty: str | None = None,
        system: str | None = None,
        grid: Grid | Mapping[str, Any] | None = None,
        replicates: int = 1,
        seed: int = 0,
        dedupe: bool = True,
        stages: Sequence[Mapping[str, Any]] | None = None,
        mode: str = "batch",
        batch: BatchSettings | Mapping[str, Any] | None = None,
        live: LiveSettings | Mapping[str, Any] | None = None,
        gather: str | float = "10m",
        poll: PollSettings | Mapping[str, Any] | None = None,
        timeout: str | float = "24h",
        deadline: str | float | None = None,
        spill: SpillSettings | Mapping[str, Any] | None = None,
        budget: float | Decimal | Mapping[str, Any] | None = None,
        prices: str | Path | None = None,
        buckets: Buckets | Mapping[str, Any] | None = None,
        notify: Sequence[str | Mapping[str, str]] | None = None,
        origin: Origin | None = None,
        **own: Any,
    ) -> None:
        given = {key: value for key, value in locals().items() if key in DEFAULTS}
        vars(self).update(given, origin=origin or Origin(), _own=own)
        _refuse_unknown(given | own if name is not None else {"task": task, **own}, self.origin)
        if name is None:
            raise self.origin.error((), "`name` is missing")
        read_settings(self)

    def __getattr__(self, key: str) -> Any:
        """A key of the task's own; its default where it was not given."""
        if not key.startswith("_"):
            own = vars(self)["_own"]
            kind = task_kind(self.task) if self.task in task_names() else None
            if key in own:
                return own[key]
            if kind is not None and key in own_keys(kind):
                return default_of(key, kind.settings)
        raise AttributeError(f"a study has no '{key}'")

    def __setattr__(self, key: str, value: Any) -> None:
        raise AttributeError(f"{key}: a study does not change; `replace` makes another one")

    def __repr__(self) -> str:
        """What was written, in short: items and long texts are not repeated."""
        written = {key: getattr(self, key) for key in DEFAULTS if not _is(getattr(self, key), DEFAULTS[key])}
        own = {key: value for key, value in self._own.items() if value is not None}
        shown = (f"{key}={shortly(value)}" for key, value in (written | own | {"origin": self.origin}).items())
        return f"Study({', '.join(shown)})"

    def replace(self, **changes: Any) -> "Study":
        """The same study but for these keys."""
        written = {key: getattr(self, key) for key in DEFAULTS} | self._own
        return Study(**{**written, "origin": self.origin, **changes})

    @classmethod
    @checked
    def load(cls, path: str | Path) -> "Study":
        """From a YAML file; paths in it are relative to its folder."""
        value, origin = read_document(Path(path))
        return cls.from_mapping(value, origin)

    @classmethod
    @checked
    def from_mapping(cls, mapping: Any, where: str | Origin = "study") -> "Study":
        """From a mapping of plain values; `where` begins every complaint."""
        origin = where if isinstance(where, Origin) else Origin(where)
        if not isinstance(mapping, Mapping):
            wanted = "wanted keys such as name, task, items and models"
            raise origin.error((), f"{wanted}, found {found_text(mapping)}")
        _check_keys(mapping, origin)
        return cls(**mapping, origin=origin)


# The common keys, each with what it is where it is not written.
DEFAULTS: Mapping[str, Any] = {
    name: one.default
    for name, one in signature(Study).parameters.items()
    if name != "origin" and one.kind is Parameter.KEYWORD_ONLY
}


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a study says of all its stages, in the only types that are right."""

    name: str
    mode: str
    batch: BatchSettings | None
    live: LiveSettings | None
    gather: str | float
    poll: PollSettings | None
    timeout: str | float
    deadline: str | float | None
    spill: SpillSettings | None
    prices: str | None
    buckets: dict[str, Any] | None
    # Read by itself, in words that show nothing of it.
    notify: Any


class Settings(NamedTuple):
    """A study in parts: each stage with the place it was written at."""

    header: Header
    stages: tuple[WrittenStage, ...]
    origins: tuple[Origin, ...]
    budget: Budget | None


# Common keys that are the only stage's, where there is no list of stages.
FLAT_KEYS = tuple(
    key for key in DEFAULTS if key in WrittenStage.__struct_fields__ and key not in Header.__struct_fields__
)


def _refuse_unknown(written: Mapping[Any, Any], origin: Origin) -> None:
    for key in written:
        if key in _LISTED_ONLY:
            raise origin.key_error((), key, f"`{key}` is for a stage of a list; write it under `stages`")
    check_keys(written, tuple(DEFAULTS), origin)


def _check_keys(mapping: Mapping[Any, Any], origin: Origin) -> None:
    _refuse_unknown(mapping, origin)
    if "stages" in mapping:
        above = (*Header.__struct_fields__, "stages", "budget")
        _refuse_flat((key for key in mapping if key not in above), origin)
        _check_listed(mapping["stages"], origin)
    for key in ("name",) if "stages" in mapping else _REQUIRED:
        if key not in mapping:
            raise origin.error((), f"`{key}` is missing")
    if "stages" not in mapping and "items" not in mapping and not _names_items(mapping):
        raise origin.error((), "`items` is missing")


def _names_items(written: Mapping[str, Any]) -> bool:
    """Whether keys of the task's own name the items."""
    task = written.get("task")
    kind = task_kind(task) if isinstance(task, str) and task in task_names() else None
    return kind is not None and any(written.get(key) is not None for key in kind.item_keys)


def _refuse_flat(keys: Iterable[str], origin: Origin) -> None:
    for key in keys:
        raise origin.key_error((), key, f"`{key}` cannot stand beside `stages`; write it in the stage it is for")


def _check_listed(stages: Any, origin: Origin) -> None:
    if not isinstance(stages, list | tuple):
        raise origin.error(("stages",), f"wanted a list, found {found_text(stages)}")
    if not stages:
        raise origin.error(("stages",), "the list is empty")


def read_settings(study: Study) -> Settings:
    """Everything that can be known of a study without opening a file or asking a provider."""
    origin = study.origin
    header = _read_header(study, origin)
    stages, origins = _flat(study) if study.stages is None else _listed(study, study.stages)
    budget = read_budget(study.budget, [stage.name for stage in stages], origin)
    return Settings(header, stages, origins, budget)


def _read_header(study: Study, origin: Origin) -> Header:
    fields = Header.__struct_fields__
    header = shaped({name: plain_settings(getattr(study, name), origin, (name,)) for name in fields}, Header, origin)
    check_name(header.name, "a run", origin)
    check_mode(header.mode, origin)
    check_batch(header.batch, origin)
    check_live(header.live, origin)
    check_deadline(header.deadline, header.spill, header.mode, origin)
    check_poll(header.poll, origin)
    timeout_seconds(header.timeout, origin)
    gather_seconds(header.gather, origin)
    if header.prices is not None and not header.prices.strip():
        raise origin.error(("prices",), "wanted the path of a file")
    read_buckets(header.buckets, origin)
    read_notify(header.notify, origin)
    return header


def _flat(study: Study) -> tuple[tuple[WrittenStage, ...], tuple[Origin, ...]]:
    """The study is its only stage, named after its task."""
    written = {key: getattr(study, key) for key in FLAT_KEYS} | study._own  # noqa: SLF001 - of this module
    if study.items is not None or not _names_items(written):
        check_items(study.items, study.origin)
    name = study.task if isinstance(study.task, str) else ""
    return (shaped_stage({**written, "name": name}, study.origin),), (study.origin,)


def _listed(study: Study, written: Sequence[Any]) -> tuple[tuple[WrittenStage, ...], tuple[Origin, ...]]:
    origin = study.origin
    _check_listed(written, origin)
    _refuse_flat(_changed_fields(study), origin)
    origins = tuple(origin.inside(("stages", index)) for index in range(len(written)))
    stages = tuple(read_stage(stage, place) for stage, place in zip(written, origins, strict=True))
    check_order(stages, origins, [_beside(stage) for stage in stages])
    check_made(stages, origins, [stage.name for stage in stages if task_kind(stage.task).makes])
    check_phases(stages, origins, lambda: {name: kind.measures for name, kind in task_kinds().items()})
    return stages, origins


def _beside(stage: WrittenStage) -> tuple[str, str] | None:
    """The key that names a second stage, and its name."""
    key = task_kind(stage.task).beside_key
    name = None if key is None else getattr(stage, key)
    return None if key is None or name is None else (key, name)


def _changed_fields(study: Study) -> list[str]:
    """What a program gave of a stage's own fields."""
    common = [key for key in FLAT_KEYS if not _is(getattr(study, key), DEFAULTS[key])]
    return common + [key for key, value in study._own.items() if value is not None]  # noqa: SLF001 - of this module


def _is(value: Any, default: Any) -> bool:
    """A frame has no plain answer to whether it differs from something."""
    return value is None if default is None else isinstance(value, type(default)) and value == default


def shortly(value: Any) -> str:
    """A value as one would mention it: tables by their number of rows, and what is long by its beginning."""
    rows = getattr(value, "shape", None)
    if isinstance(rows, tuple) and rows:
        return f"<{number_of(int(rows[0]), 'row')}>"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key!r}: {shortly(one)}' for key, one in value.items())}}}"
    if isinstance(value, list | tuple) and len(value) > _MOST_SHOWN:
        return f"<{number_of(len(value), 'entry', 'entries')}>"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shortly, value))}]"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."
