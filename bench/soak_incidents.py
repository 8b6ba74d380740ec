"""What happens to a run's folder between two commands: a backup comes back, a file is damaged, the ledger is lost.

What a command does about it is its own affair, as long as it tells no lie: it may go on where it safely can, or refuse
with words. A refusal is followed by what a user would do: the right ledger, or the whole file, is put back.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

_LEDGER = ("ledger.db", "ledger.db-wal", "ledger.db-shm")
KINDS = ("restore", "restore_folder", "damage", "lose_ledger")
PARTS = ("raw", "requests", "items", "outbox")
DAMAGES = ("cut", "flip", "swap", "empty", "remove", "zeros", "append")
LOSSES = ("remove", "empty", "half", "no_wal")


class Incident(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    part: str = "raw"
    how: str = "cut"
    # Which of the files or backups, and where in a file, as a share.
    pick: float = 0.0


def draw_incident(draw: random.Random) -> Incident:
    kind = draw.choice(("restore", "restore", "restore_folder", "damage", "damage", "damage", "lose_ledger"))
    how = draw.choice(LOSSES if kind == "lose_ledger" else DAMAGES)
    return Incident(kind=kind, part=draw.choice((*PARTS, "raw")), how=how, pick=round(draw.random(), 3))


def draw_damage(draw: random.Random) -> Incident:
    """Of a run that is over: its outbox is empty."""
    return Incident(
        kind="damage",
        part=draw.choice(("raw", "raw", "requests", "items")),
        how=draw.choice(DAMAGES),
        pick=round(draw.random(), 3),
    )


class Incidents:
    """What was kept aside, so that it can be put back. `whole_folder`: whether all of a run may be set back in time."""

    def __init__(self, run: Path, aside: Path, *, whole_folder: bool) -> None:
        self._run = run
        self._aside = aside
        self._whole_folder = whole_folder
        self._backups: list[Path] = []
        # The newest ledger, or the whole newest folder, while an older one is in its place.
        self._newest: Path | None = None

    def back_up(self) -> None:
        """As somebody's nightly backup does; after every command."""
        if (self._run / "ledger.db").exists():
            self._backups.append(self._aside / f"backup{len(self._backups)}")
            shutil.copytree(self._run, self._backups[-1])

    def begin(self, incident: Incident) -> Callable[[bool], str] | None:
        """Let it happen; what to do afterwards, told whether the command refused. None when nothing could happen."""
        if not self._run.is_dir():
            return None
        match incident.kind:
            case "restore" | "restore_folder":
                return self._restore(incident)
            case "damage":
                return self._damage(incident)
            case _:
                return self._lose(incident)

    def put_back_newest(self) -> bool:
        """The ledger as it was before an older one was put in its place; False when there was none."""
        if self._newest is None:
            return False
        if self._newest.name == "folder":
            shutil.rmtree(self._run)
            shutil.copytree(self._newest, self._run)
        else:
            self._copy(self._newest, self._run)
        self._newest = None
        return True

    def _restore(self, incident: Incident) -> Callable[[bool], str] | None:
        # The last backup is the run as it is.
        older = self._backups[:-1]
        whole = incident.kind == "restore_folder"
        if whole:
            # A folder from before the run had its name, or that had another one before its ledger was lost and it began
            # anew, is another run: nothing in it says that there was this one.
            own = _name_of(self._run)
            older = [backup for backup in older if own is not None and _name_of(backup) == own]
        if not older or (whole and not self._whole_folder):
            return None
        backup = older[min(int(incident.pick * len(older)), len(older) - 1)]
        if whole:
            self._newest = self._aside / "folder"
            shutil.rmtree(self._newest, ignore_errors=True)
            shutil.copytree(self._run, self._newest)
            shutil.rmtree(self._run)
            shutil.copytree(backup, self._run)
        else:
            self._newest = self._aside / "newest"
            self._copy(self._run, self._newest)
            self._copy(backup, self._run)
        return lambda refused: self._after_restore(whole=whole, refused=refused)

    def _after_restore(self, *, whole: bool, refused: bool) -> str:
        what = "folder" if whole else "ledger"
        if refused:
            self.put_back_newest()
            return f"an old {what} was refused, the newest one is back"
        return f"an old {what} was restored, and worked on"

    def _lose(self, incident: Incident) -> Callable[[bool], str] | None:
        ledger, wal = self._run / "ledger.db", self._run / "ledger.db-wal"
        if not ledger.exists() or (incident.how == "no_wal" and not (wal.exists() and wal.stat().st_size)):
            return None
        self._newest = self._aside / "newest"
        self._copy(self._run, self._newest)
        match incident.how:
            case "remove":
                for name in _LEDGER:
                    (self._run / name).unlink(missing_ok=True)
            case "empty":
                ledger.write_bytes(b"")
                wal.unlink(missing_ok=True)
            case "half":
                ledger.write_bytes(ledger.read_bytes()[: ledger.stat().st_size // 2])
                wal.unlink(missing_ok=True)
            case _:
                wal.unlink()
                (self._run / "ledger.db-shm").unlink(missing_ok=True)
        return lambda refused: self._after_loss(incident, refused=refused)

    def _after_loss(self, incident: Incident, *, refused: bool) -> str:
        if refused:
            self.put_back_newest()
            return f"a lost ledger ({incident.how}) was refused, and is back"
        return f"a lost ledger ({incident.how}) was worked on"

    def _damage(self, incident: Incident) -> Callable[[bool], str] | None:
        files = sorted(path for path in (self._run / incident.part).glob("*") if path.is_file() and path.stat().st_size)
        if not files:
            return None
        path = files[min(int(incident.pick * len(files)), len(files) - 1)]
        whole = path.read_bytes()
        spoiled = _spoiled(whole, incident)
        if spoiled is None:
            path.unlink()
        else:
            path.write_bytes(spoiled)

        def undo(_: bool) -> str:
            now = path.read_bytes() if path.exists() else None
            # What the command has made anew, or removed because it is over, stays as it is.
            if now == spoiled and (now is not None or incident.part != "outbox"):
                path.write_bytes(whole)
            return f"{incident.part}/{path.name} was damaged ({incident.how})"

        return undo

    def _copy(self, source: Path, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        for name in _LEDGER:
            (target / name).unlink(missing_ok=True)
            if (source / name).exists():
                shutil.copy2(source / name, target / name)


def _spoiled(whole: bytes, incident: Incident) -> bytes | None:
    """None for a file that is gone."""
    at = int(incident.pick * len(whole))
    match incident.how:
        case "cut":
            return whole[:at]
        case "flip":
            return whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]
        case "swap":
            lines = whole.splitlines(keepends=True)
            first = int(incident.pick * len(lines))
            second = (first + 1) % len(lines)
            lines[first], lines[second] = lines[second], lines[first]
            return b"".join(lines)
        case "empty":
            return b""
        case "remove":
            return None
        case "zeros":
            return whole[:at] + b"\0" * (len(whole) - at)
        case _:
            return whole + whole[at:]


def describe(incident: Incident | None) -> Any:
    return None if incident is None else msgspec.to_builtins(incident)


def _name_of(folder: Path) -> str | None:
    """The run's own id, which all its tokens are made of; None while it has none, or none that can be read here."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'ledger.db'}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT value FROM fact WHERE name='run_id'").fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else str(row[0])
