"""The files of a run that are on record."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import NamedTuple

from overnight.core.errors import LedgerError
from overnight.ledger.connection import Records
from overnight.ledger.database import found_among
from overnight.ledger.raw import LinesHash, beside_others
from overnight.store.contract import Store, Writer


class FileOnRecord(NamedTuple):
    """A file that the ledger points into. Its path is from the run's folder on."""

    number: int
    path: str
    bytes: int
    sha256: str


class FilesView(Records):
    """Every file that the ledger points into."""

    def paths(self, numbers: Iterable[int] | None = None) -> dict[int, str]:
        """Of all files, or of these."""
        if numbers is None:
            return {int(number): str(path) for number, path in self._db.execute("SELECT id, path FROM file")}
        rows = found_among(self._db, "SELECT id, path FROM file WHERE id IN ({})", numbers)
        return {int(number): str(path) for number, path in rows}

    def everything(self) -> list[FileOnRecord]:
        """By path."""
        rows = self._db.execute("SELECT id, path, bytes, sha256 FROM file ORDER BY path")
        return [FileOnRecord._make(row) for row in rows]

    def line_places(self) -> dict[tuple[str, int], tuple[int, int, int, bytes]]:
        """(file, offset, length, digest) of every raw line, by its file's path and its offset, as tables name it."""
        rows = self._db.execute(
            "SELECT path, file, result.offset, length, digest FROM result JOIN file ON file.id=result.file "
            "ORDER BY file, result.offset"
        )
        return {(path, offset): (file, offset, length, digest) for path, file, offset, length, digest in rows}

    def on_record(self, numbers: Sequence[int]) -> list[FileOnRecord]:
        rows = found_among(self._db, "SELECT id, path, bytes, sha256 FROM file WHERE id IN ({})", numbers)
        found = {row[0]: FileOnRecord._make(row) for row in rows}
        return [found[number] for number in numbers if number in found]


class Files(FilesView):
    """Files that are put on record."""

    def keep(self, path: str, size: int, sha256: str) -> int:
        """A file that is whole; one that was there under this name is forgotten. Returns its number."""
        self._db.execute("DELETE FROM file WHERE path=?", (path,))
        row = self._db.execute(
            "INSERT INTO file(path, bytes, sha256) VALUES(?,?,?) RETURNING id", (path, size, sha256)
        ).fetchone()
        return int(row[0])

    def begin(self, path: str) -> int:
        """A file that still grows: its size and bytes go on record with `complete`."""
        return self.keep(path, 0, "")

    def complete(self, number: int, size: int, sha256: str) -> None:
        self._db.execute("UPDATE file SET bytes=?, sha256=? WHERE id=?", (size, sha256, number))

    @contextmanager
    def new(self, files: Store, kind: str) -> Iterator[tuple[int, Writer, LinesHash]]:
        """A new file of lines, its number and its hash; on record when the block ends, if anything is in it.

        What is there under its name is not on record here, but may be on that of a newer ledger, which may come back:
        only the same bytes are written over, as a killed process leaves them.
        """
        file = files.put(self._next_name(files, kind))
        try:
            number = self.begin(file.name)
            lines = LinesHash()
            yield number, file, lines
            if file.size:
                file = beside_others(files, file, lines.text)
                file.keep()
                self._db.execute("UPDATE file SET path=? WHERE id=?", (file.name, number))
                self.complete(number, file.size, lines.text)
                return
            self._db.execute("DELETE FROM file WHERE id=?", (number,))
        except BaseException:
            file.drop()
            raise
        file.drop()

    def _next_name(self, files: Store, kind: str) -> str:
        newest = "SELECT path FROM file WHERE path LIKE ? ORDER BY id DESC LIMIT 1"
        row = self._db.execute(newest, (kind + "/%",)).fetchone()
        last = "0" if row is None else PurePosixPath(row[0]).stem.partition("-")[0]
        if not last.isdecimal():
            raise LedgerError(f"{files.home}: file.path {row[0]!r} is none that a run has")
        return f"{kind}/{int(last) + 1:05d}.jsonl"
