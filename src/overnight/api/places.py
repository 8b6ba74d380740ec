"""Runs on disk: where they are, which one is meant, and which one holds a batch."""

from pathlib import Path

from overnight.core.errors import StudyError, UnknownName, nearest
from overnight.ledger.database import connect
from overnight.ledger.folder import RunFolder
from overnight.ledger.shards import attempts
from overnight.settings import Settings


def all_runs(settings: Settings) -> list[RunFolder]:
    """Every run in the runs folder, by name."""
    if not settings.root.is_dir():
        return []
    folders = (RunFolder(path) for path in sorted(settings.root.iterdir()) if not path.name.startswith("."))
    return [folder for folder in folders if folder.exists()]


def run_folder(name: str | Path, settings: Settings) -> RunFolder:
    """The run of that name, or at that path; UnknownName with the nearest there is."""
    direct = Path(name)
    if len(direct.parts) > 1 and RunFolder(direct).exists():
        return RunFolder(direct)
    folder = RunFolder(settings.root / str(name))
    if folder.exists():
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


def run_with_batch(batch_id: str, settings: Settings) -> RunFolder | None:
    """The run that sent or adopted this batch."""
    short = short_id(batch_id)
    for folder in all_runs(settings):
        db = connect(folder.ledger, read_only=True)
        try:
            if any(attempt.batch_id == short for attempt in attempts(db)):
                return folder
        finally:
            db.close()
    return None
