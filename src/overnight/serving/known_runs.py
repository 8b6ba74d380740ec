"""The runs of a folder, as they stand: each is read again only when its records have changed."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from overnight.api.places import all_runs
from overnight.api.status import RunStatus, status_of
from overnight.api.work import saved_work
from overnight.core.errors import OvernightError, UnknownName, nearest
from overnight.core.money import Budget
from overnight.ledger.shared_run import SharedRun
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

# What changes when a run does: the ledger with what SQLite keeps beside it, the mark of a cancel, and the tables.
_CHANGING = ("ledger.db", "ledger.db-wal", "cancelled", "tables/results.parquet")

# When a file was changed last, its size, and which file it is; None where there is none.
Mark = tuple[int, int, int] | None
Stamp = tuple[Mark, ...]


@dataclass(frozen=True, kw_only=True)
class KnownRun:
    """A run at one moment. `status.trouble` says why its records cannot be read, where they cannot."""

    folder: RunFolder
    status: RunStatus
    budget: Budget | None
    stamp: Stamp

    @property
    def name(self) -> str:
        return self.folder.name


class KnownRuns:
    """Looks at runs, and remembers how each stood for as long as nothing of it has changed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._known: dict[str, KnownRun] = {}
        self._looking = threading.Lock()

    def everything(self) -> list[KnownRun]:
        """By name. One that is damaged keeps nobody from the others."""
        return [self._look(folder) for folder in self._folders()]

    def named(self, name: str) -> KnownRun:
        """UnknownName with the nearest there is; a name is never taken for a path."""
        return self._look(self.folder(name))

    def folder(self, name: str) -> RunFolder:
        folders = {folder.name: folder for folder in self._folders()}
        if name not in folders:
            raise UnknownName(f"there is no run {name!r}{nearest(name, folders)}")
        return folders[name]

    def stamps(self, name: str | None) -> tuple[tuple[str, Stamp, bool], ...]:
        """What is different when a run, or any of them, has changed, or somebody has begun to work on it."""
        folders = self._folders()
        return tuple((one.name, stamp_of(one), one.worked_on) for one in folders if name is None or one.name == name)

    def _folders(self) -> list[RunFolder]:
        with told_by_its_path(self.settings.root):
            return all_runs(self.settings)

    def _look(self, folder: RunFolder) -> KnownRun:
        stamp = stamp_of(folder)
        with self._looking:
            known = self._known.get(folder.name)
            if known is None or known.stamp != stamp:
                known = self._known[folder.name] = _read(folder, stamp)
        now = msgspec.structs.replace(known.status, worked_on=folder.worked_on)
        return KnownRun(folder=folder, status=now, budget=known.budget, stamp=stamp)


def stamp_of(folder: RunFolder) -> Stamp:
    kept = folder.sign() if isinstance(folder, SharedRun) else None
    return (kept, *(mark_of(folder.path / name) for name in _CHANGING))


def mark_of(path: Path) -> Mark:
    try:
        found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 - one call for all three
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _read(folder: RunFolder, stamp: Stamp) -> KnownRun:
    try:
        with told_by_its_path(folder.path):
            return KnownRun(folder=folder, status=status_of(folder), budget=saved_work(folder).budget, stamp=stamp)
    except OvernightError as error:
        trouble = RunStatus(
            run=folder.name, path=str(folder.path), begun_at="", cancelled=False, arms=(), batches=(),
            waiting_shards=0, causes={}, trouble=str(error),
        )  # fmt: skip
        return KnownRun(folder=folder, status=trouble, budget=None, stamp=stamp)


@contextmanager
def told_by_its_path(path: Path) -> Iterator[None]:
    """What the system says of a folder that may be anybody's is told with its path, as any other trouble is."""
    try:
        yield
    except OSError as error:
        raise UnknownName(f"{path}: cannot be read: {error.strerror or error}") from error
