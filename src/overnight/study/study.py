"""The researcher's study: what was written, checked as strictly in a program as in a file."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from overnight.core.errors import UnknownName, nearest
from overnight.study.arms import Grid, check_grid
from overnight.study.document import read_document
from overnight.study.items import check_items
from overnight.study.models import ModelEntry, check_models
from overnight.study.origin import Origin
from overnight.study.pace import BatchSettings, PollSettings, check_batch, check_poll, timeout_seconds
from overnight.study.prompts import TemplateEntry, check_prompts
from overnight.study.shape import found_text, plain_settings, shaped
from overnight.tasks import check_task
from overnight.tasks.generate import MOST_REPLICATES

# Keys and modes that later versions have. To take them in silence would promise what is not done.
LATER_KEYS = (
    *("stages", "of", "spec", "inputs", "trait", "pairs", "ties", "design", "levels", "control"),
    *("deadline", "spill", "budget", "notify", "buckets"),
)
LATER_MODES = ("live", "auto")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REQUIRED = ("name", "task", "items", "models")


class Study(msgspec.Struct, frozen=True, kw_only=True, eq=False, repr_omit_defaults=True):
    """One stage with a name. `items` is a path, a polars or pandas frame, or a list of mappings."""

    name: str
    task: str
    items: Any
    models: Sequence[str | ModelEntry | Mapping[str, Any]]
    id: str | None = None
    prompt: str | None = None
    templates: Sequence[str | Path | TemplateEntry | Mapping[str, Any]] | None = None
    messages: str | None = None
    system: str | None = None
    grid: Grid | Mapping[str, Any] | None = None
    replicates: int = 1
    seed: int = 0
    dedupe: bool = True
    mode: str = "batch"
    batch: BatchSettings | Mapping[str, Any] | None = None
    poll: PollSettings | Mapping[str, Any] | None = None
    timeout: str | float = "24h"
    # Where it was written: for messages, and for the paths in it.
    origin: Origin = msgspec.field(default_factory=Origin)

    def __post_init__(self) -> None:
        read_settings(self)

    @classmethod
    def load(cls, path: str | Path) -> "Study":
        """From a YAML file; paths in it are relative to its folder."""
        value, origin = read_document(Path(path))
        return cls.from_mapping(value, origin)

    @classmethod
    def from_mapping(cls, mapping: Any, where: str | Origin = "study") -> "Study":
        """From a mapping of plain values; `where` begins every complaint."""
        origin = where if isinstance(where, Origin) else Origin(where)
        if not isinstance(mapping, Mapping):
            wanted = "wanted keys such as name, task, items and models"
            raise origin.error((), f"{wanted}, found {found_text(mapping)}")
        for key in mapping:
            if key in LATER_KEYS:
                raise origin.key_error((), key, f"`{key}` is not part of this version")
            if key not in Settings.__struct_fields__:
                raise origin.unknown_key((), str(key), Settings.__struct_fields__)
        for key in _REQUIRED:
            if key not in mapping:
                raise origin.error((), f"`{key}` is missing")
        return cls(**mapping, origin=origin)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """A study's fields in the only types that are right: what `Study` accepts in more than one form."""

    name: str
    task: str
    items: Any
    models: list[str | ModelEntry]
    id: str | None
    prompt: str | None
    templates: list[str | TemplateEntry] | None
    messages: str | None
    system: str | None
    grid: Grid | None
    replicates: int
    seed: int
    dedupe: bool
    mode: str
    batch: BatchSettings | None
    poll: PollSettings | None
    timeout: str | float


def read_settings(study: Study) -> Settings:
    """Everything that can be known of a study without opening a file or asking a provider."""
    origin = study.origin
    check_items(study.items, origin)
    written = {
        field: plain_settings(getattr(study, field), origin, (field,))
        for field in Settings.__struct_fields__
        if field != "items"
    }
    settings = shaped({**written, "items": study.items}, Settings, origin)
    _check_header(settings, origin)
    check_prompts(settings, origin)
    check_models(settings.models, origin)
    check_grid(settings.grid, origin)
    check_batch(settings.batch, origin)
    check_poll(settings.poll, origin)
    timeout_seconds(settings.timeout, origin)
    return settings


def _check_header(settings: Settings, origin: Origin) -> None:
    if not _NAME.fullmatch(settings.name):
        allowed = "up to 100 letters, digits, dots, dashes and underscores, the first a letter or digit"
        raise origin.error(("name",), f"{found_text(settings.name)} cannot name a run; wanted {allowed}")
    try:
        check_task(settings.task)
    except UnknownName as error:
        raise origin.error(("task",), str(error), UnknownName) from None
    if settings.id is not None and not settings.id:
        raise origin.error(("id",), "wanted the name of a column")
    if not 1 <= settings.replicates <= MOST_REPLICATES:
        raise origin.error(("replicates",), f"{settings.replicates} is not between 1 and {MOST_REPLICATES}")
    if settings.seed < 0:
        raise origin.error(("seed",), f"{settings.seed} is less than 0")
    if settings.mode in LATER_MODES:
        raise origin.error(("mode",), f"`{settings.mode}` is not part of this version; write batch")
    if settings.mode != "batch":
        raise origin.error(("mode",), f"wanted batch, found '{settings.mode}'{nearest(settings.mode, ['batch'])}")
