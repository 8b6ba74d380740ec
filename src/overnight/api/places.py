"""Runs on disk: where they are, which one is meant, and which one holds a batch."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from overnight.core.errors import LedgerError, StudyError, UnknownName, nearest
from overnight.core.names import check_run_name
from overnight.ledger.ledger import look_at
from overnight.ledger.traces import traces
from overnight.settings import Settings
from overnight.store.run_folder import RunFolder

# A shorter beginning of a batch id may be a run's name mistyped.
SHORTEST_BEGINNING = 12
_MOST_SHOWN = 3


def all_runs(settings: Settings) -> list[RunFolder]:
    """Every run in the runs folder, by name."""
    if not settings.root.is_dir():
        return []
    folders = (RunFolder(path) for path in sorted(settings.root.iterdir()) if not path.name.startswith("."))
    return [folder for folder in folders if is_run(folder)]


def is_run(folder: RunFolder) -> bool:
    """Whether a run is there, or was before its ledger was lost."""
    try:
        return folder.exists() or (folder.path.is_dir() and bool(traces(folder)))
    except PermissionError:
        return True  # for all we know: whoever looks at it hears what is wrong, and the others are not kept from theirs


def named_folder(settings: Settings, as_name: str | None, name: str) -> RunFolder:
    """Where a run of that name is, or will be; `as_name` is what the user calls it instead."""
    return RunFolder(settings.root / (name if as_name is None else check_run_name(as_name, "--as")))


def run_folder(name: str | Path, settings: Settings) -> RunFolder:
    """The run of that name, or at that path; UnknownName with the nearest there is."""
    direct = Path(name)
    if len(direct.parts) > 1 and is_run(RunFolder(direct)):
        return RunFolder(direct)
    folder = RunFolder(settings.root / str(name))
    if is_run(folder):
        return folder
    if not settings.emulate and RunFolder(settings.runs / ".rehearsal" / str(name)).exists():
        message = f"no run '{name}' in {settings.root}, but a rehearsal of that name: add --emulate"
        raise UnknownName(message)
    known = [run.name for run in all_runs(settings)]
    there = f"; there is {', '.join(known[:8])}" if known else ""
    message = f"no run '{name}' in {settings.root}{nearest(str(name), known) or there}"
    raise UnknownName(message)


def chosen_runs(name: str | Path | None, settings: Settings) -> list[RunFolder]:
    """The named run; all of them when none is named."""
    if name is not None:
        return [run_folder(name, settings)]
    runs = all_runs(settings)
    if not runs:
        message = f"no runs in {settings.root} yet; `overnight run STUDY` makes one"
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
