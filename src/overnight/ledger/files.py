"""The files of a run that are on record."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from overnight.ledger.connection import Records


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
        query = "SELECT id, path FROM file WHERE id=?"
        return {int(one): str(path) for number in numbers for one, path in self._db.execute(query, (number,))}

    def everything(self) -> list[FileOnRecord]:
        """By path."""
        rows = self._db.execute("SELECT id, path, bytes, sha256 FROM file ORDER BY path")
        return [FileOnRecord._make(row) for row in rows]

    def line_places(self) -> dict[tuple[str, int], tuple[int, int, int, bytes]]:
        """(file, offset, length, digest) of every raw line, by its file's path and its offset, as tables name it."""
        rows = self._db.execute(
            "SELECT path, file, offset, length, digest FROM result JOIN file ON file.id=result.file "
            "ORDER BY file, offset"
        )
        return {(path, offset): (file, offset, length, digest) for path, file, offset, length, digest in rows}

    def on_record(self, numbers: Sequence[int]) -> list[FileOnRecord]:
        query = "SELECT id, path, bytes, sha256 FROM file WHERE id=?"
        return [FileOnRecord._make(row) for number in numbers for row in self._db.execute(query, (number,))]


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

    def drop(self, number: int) -> None:
        """There was nothing to put into it."""
        self._db.execute("DELETE FROM file WHERE id=?", (number,))
