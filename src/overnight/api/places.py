"""Runs: where they are, which one is meant, and which one holds a batch."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from overnight.core.errors import LedgerError, StudyError, UnknownName, nearest
from overnight.core.names import check_run_name
from overnight.ledger.ledger import look_at
from overnight.ledger.postgres.registry import runs_in
from overnight.ledger.shared_run import REHEARSAL, SharedRun
from overnight.ledger.traces import traces
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

# A shorter beginning of a batch id may be a run's name mistyped.
SHORTEST_BEGINNING = 12
_MOST_SHOWN = 3


def all_runs(settings: Settings) -> list[RunFolder]:
    """Every run where runs are kept, by name."""
    if settings.database is not None:
        return [
            SharedRun(settings.database, name, settings.root, rehearsal=settings.emulate) for name in _names(settings)
        ]
    if not settings.root.is_dir():
        return []
    folders = (RunFolder(path) for path in sorted(settings.root.iterdir()) if not path.name.startswith("."))
    return [folder for folder in folders if is_run(folder)]


def _names(settings: Settings) -> list[str]:
    """Of the runs in a database that are still there: rehearsals, or real ones."""
    assert settings.database is not None
    there = [run.name for run in runs_in(settings.database) if run.moved_to is None]
    beginning = f"{REHEARSAL}/"
    if settings.emulate:
        return [name.removeprefix(beginning) for name in there if name.startswith(beginning)]
    return [name for name in there if not name.startswith(beginning)]


def folder_of(name: str, settings: Settings) -> RunFolder:
    """Where a run of that name is, or would be."""
    if settings.database is not None:
        return SharedRun(settings.database, name, settings.root, rehearsal=settings.emulate)
    return RunFolder(settings.root / name)


def is_there(name: str, settings: Settings) -> bool:
    """Whether anything is where a run of that name would be."""
    folder = folder_of(name, settings)
    return folder.path.exists() if settings.database is None else folder.exists()


def is_run(folder: RunFolder) -> bool:
    """Whether a run is there, or was before its ledger was lost."""
    try:
        return folder.exists() or (folder.path.is_dir() and bool(traces(folder)))
    except PermissionError:
        return True  # for all we know: whoever looks at it hears what is wrong, and the others are not kept from theirs


def named_folder(settings: Settings, as_name: str | None, name: str) -> RunFolder:
    """Where a run of that name is, or will be; `as_name` is what the user calls it instead."""
    return folder_of(name if as_name is None else check_run_name(as_name, "--as"), settings)


def run_folder(name: str | Path, settings: Settings) -> RunFolder:
    """The run of that name, or at that path; UnknownName with the nearest there is."""
    direct = Path(name)
    if len(direct.parts) > 1 and is_run(RunFolder(direct)):
        return RunFolder(direct)
    folder = folder_of(str(name), settings)
    if is_run(folder):
        return folder
    if not settings.emulate and folder_of(str(name), msgspec.structs.replace(settings, emulate=True)).exists():
        message = f"no run '{name}' in {settings.where}, but a rehearsal of that name: add --emulate"
        raise UnknownName(message)
    known = [run.name for run in all_runs(settings)]
    there = f"; there is {', '.join(known[:8])}" if known else ""
    message = f"no run '{name}' in {settings.where}{nearest(str(name), known) or there}"
    raise UnknownName(message)


def chosen_runs(name: str | Path | None, settings: Settings) -> list[RunFolder]:
    """The named run; all of them when none is named."""
    if name is not None:
        return [run_folder(name, settings)]
    runs = all_runs(settings)
    if not runs:
        message = f"no runs in {settings.where} yet; `overnight run STUDY` makes one"
        raise StudyError(message)
    return runs


def short_id(batch_id: str) -> str:
    """Some providers show an id as the end of a path: that end names files, and is what is kept."""
    return batch_id.rsplit("/", 1)[-1]


def whole_id(text: str, known: Iterable[str]) -> str | None:
    """The batch id of those known that is meant: by itself, or by a beginning that no other has."""
    wanted, ids = short_id(text), set(known)
    if wanted in ids:
        return wanted
    begun = sorted(one for one in ids if len(wanted) >= SHORTEST_BEGINNING and one.startswith(wanted))
    if len(begun) > 1:
        shown = ", ".join(begun[:_MOST_SHOWN]) + (", ..." if len(begun) > _MOST_SHOWN else "")
        raise UnknownName(f"{len(begun)} batch ids begin with '{text}' ({shown}): type more of it")
    return begun[0] if begun else None


def run_with_batch(batch_id: str, settings: Settings) -> tuple[RunFolder, str] | None:
    """The run that sent or adopted this batch, and its whole id, of which a beginning is enough."""
    holders: dict[str, RunFolder] = {}
    for folder in all_runs(settings):
        # A ledger that cannot be read keeps nobody from the others; whoever asks for that run hears what is wrong.
        with suppress(LedgerError), look_at(folder) as view:
            found = {attempt.batch_id: folder for attempt in view.attempts.everything() if attempt.batch_id}
            holders = found | holders
    whole = whole_id(batch_id, holders)
    return None if whole is None else (holders[whole], whole)
