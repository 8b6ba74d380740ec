"""`pull` and `push`: a run is brought home from a database as a folder, or the other way.

From the first byte on, the old place says where the run went and refuses all work. The new one has the run when its
ledger is there, whole. Whatever ends this in between: the same command again goes on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from overnight.api.places import folder_of, run_folder
from overnight.core.arguments import checked
from overnight.core.errors import FileDamaged, StudyError
from overnight.ledger.files import FileOnRecord
from overnight.ledger.ledger import look_at_moved
from overnight.ledger.moving import has_begun, move_ledger
from overnight.ledger.raw import file_problem
from overnight.ledger.shared_run import SharedRun
from overnight.ledger.traces import sent_attempts, traces
from overnight.settings import Settings, settings
from overnight.store.contract import Store
from overnight.store.names import CANCELLED, FILES, HALF, SENT, TABLES, way_out
from overnight.store.run_folder import RunFolder

_BLOCK = 1 << 20


class Moved(NamedTuple):
    """A run that is elsewhere now."""

    run: str
    where: str
    rows: int
    files: int


@checked
def pull(run: str, *, to: str | Path = "runs", emulate: bool | None = None, runs: str | Path | None = None) -> Moved:
    """Bring a run home from a database, as a folder in `to`. The database then refuses work on it, and says where."""
    source, target = settings(runs=runs, emulate=emulate), settings(runs=to, emulate=emulate)
    if source.database is None:
        raise StudyError(
            f"--runs: {source.where} is a folder; `pull` brings a run home from postgresql://HOST/DATABASE"
        )
    if target.database is not None:
        raise StudyError("--to: this is a database; `pull` brings a run home as a folder, and `push` the other way")
    return _move(run, source, target)


@checked
def push(run: str, *, to: str, emulate: bool | None = None, runs: str | Path | None = None) -> Moved:
    """Bring a run into a database, with its files where the address says. Its folder then refuses work on it."""
    source, target = settings(runs=runs, emulate=emulate), settings(runs=to, emulate=emulate)
    if source.database is not None:
        raise StudyError(f"--runs: {source.where} is a database already; `push` brings a run there from a folder")
    if target.database is None:
        raise StudyError(f"--to: {target.where} is a folder; wanted postgresql://HOST/DATABASE?files=PLACE")
    return _move(run, source, target)


def _move(name: str, source: Settings, target: Settings) -> Moved:
    there, here = folder_of(name, source), folder_of(name, target)
    where = here.where if isinstance(here, SharedRun) else str(here.path.absolute())
    before = there.moved_to() if there.was_begun() else None
    if before is None:
        there = run_folder(name, source)  # UnknownName with the nearest there is
    elif before != where:
        there.refuse_moved()
    with there.locked(), here.locked():
        before = there.moved_to()  # somebody else may have brought it elsewhere meanwhile
        if before not in (None, where):
            there.refuse_moved()
        if here.moved_to() is None:
            if before == where and has_begun(here):
                return Moved(name, where, 0, 0)  # it was brought before, and nobody was told
            if before is None:
                _refuse_taken(here, target)
            elif sent_attempts(here.marks).keys() - sent_attempts(there.marks).keys():
                # What was sent since it was brought would be asked and paid again.
                raise _ledger_lost(here, target, [SENT])
        there.mark_moved(where)
        here.make()
        with look_at_moved(there) as view:
            known = {one.path: one for one in view.files.everything() if one.sha256}
            files = _copy_files(there.files, here.files, known)
        _copy_marks(there, here)
        rows = move_ledger(there, here)
        here.mark_moved(None)
    return Moved(name, where, rows, files)


def _refuse_taken(here: RunFolder, target: Settings) -> None:
    """Nothing of another run is written over, also where its ledger was lost. Tables alone can be made anew."""
    if has_begun(here):
        raise StudyError(f"there is a run '{here.name}' in {target.where} already; nothing was brought")
    if found := [part for part in traces(here) if part != f"{TABLES}/"]:
        raise _ledger_lost(here, target, found)


def _ledger_lost(here: RunFolder, target: Settings, found: Sequence[str]) -> StudyError:
    shown = f"{', '.join(found)} {'is' if len(found) == 1 else 'are'} there"
    return StudyError(
        f"there is a run '{here.name}' in {target.where} whose ledger was lost ({shown}); nothing was brought"
    )


def _copy_files(source: Store, target: Store, known: dict[str, FileOnRecord]) -> int:
    """All of them; those on record with the bytes on record."""
    names = [name for part in FILES for name in source.names(part) if not name.endswith(HALF)]
    for name in names:
        with target.put(name, over_anything=True) as copy, source.stream(name) as content:
            while piece := content.read(_BLOCK):
                copy.write(piece)
        one = known.get(name)
        problem = None if one is None else file_problem(target, name, one.bytes, one.sha256)
        if problem is not None:
            target.remove(name)
            raise FileDamaged(f"{source.where(name)} {problem}; {way_out(name)}")
    return len(names)


def _copy_marks(source: RunFolder, target: RunFolder) -> None:
    for mark in (SENT, CANCELLED):
        if source.marks.exists(mark):
            lines = target.marks.append(mark, anew=True)
            try:
                with source.marks.stream(mark) as content:
                    lines.add(content.read())
            finally:
                lines.close()
        else:
            target.marks.remove(mark)
    prices = source.prices
    target.keep_prices(prices.read_bytes() if prices.is_file() else None)
