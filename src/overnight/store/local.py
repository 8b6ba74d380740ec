"""A store in a folder of a local disk. The folder may come from a stranger: no symbolic link in it is followed."""

import hashlib
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import FileDamaged, FolderUnfit, LedgerError
from overnight.core.opening import (
    make_private_folder,
    open_to_read,
    open_to_write,
    refuse_strange,
    strange,
    sync_directory,
)
from overnight.core.surroundings import disk_trouble, words_of
from overnight.store.contract import Kept, Writer, hashed
from overnight.store.names import BY_LINE, HALF, PARTS, parts_of, sound, top_of, way_out

# What a writer holds before it goes on: the system takes long pieces for less, page by page; of longer ones still, the
# bytes would have fallen out of the processor's cache.
_PIECE = 256 * 1024
_BUFFER = 1 << 20


class LocalStore:
    """Files of `folders`, and `files` beside them, below `root`. Everything else there is somebody else's."""

    def __init__(self, root: Path, folders: Collection[str] = (), files: Collection[str] = ()) -> None:
        self.home = str(root)
        self._root = root
        self._folders = folders
        self._files = files

    def where(self, name: str) -> str:
        return str(self._place(name))

    def put(self, name: str, *, over_anything: bool = False) -> "LocalWriter":
        path = self._place(name) if over_anything else self._file(name)
        return LocalWriter(path, name, hashed=top_of(name) not in BY_LINE)

    def append(self, name: str, *, anew: bool = False) -> "LocalAppender":
        return LocalAppender(self._file(name), name, anew=anew)

    def mend(self, name: str, end: int) -> Kept:
        path = self._file(name)
        try:
            return _mended(path, name, end)
        except OSError as error:
            raise _unreadable(path, name, error) from error

    def reader(self, name: str) -> "LocalReader":
        return LocalReader(self._file(name), name)

    def stream(self, name: str, start: int = 0) -> BinaryIO:
        path = self._file(name)
        try:
            return _opened(open_to_read(path), "rb", start)
        except OSError as error:
            raise _unreadable(path, name, error) from error

    def problem(self, name: str) -> str | None:
        path = self._place(name)
        what = strange(path)
        if what is not None:
            return what
        try:
            if not path.is_file():
                return "is not a file" if path.exists() else "is missing"
            os.close(open_to_read(path))
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        return None

    def exists(self, name: str) -> bool:
        return self._file(name).exists()

    def size(self, name: str) -> int:
        path = self._file(name)
        try:
            return path.stat().st_size
        except OSError as error:
            raise _unreadable(path, name, error) from error

    def names(self, part: str) -> list[str]:
        path = self._file(part)
        try:
            # Nothing of ours has a name that a store would refuse.
            return sorted(f"{part}/{found.name}" for found in path.iterdir() if sound(found.name))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise disk_trouble(path, error, "cannot read") from error

    def remove(self, name: str) -> None:
        path = self._place(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            message = f"{path}: cannot be removed, and does not belong there: {error.strerror}; move it elsewhere"
            raise FileDamaged(message) from error

    def prepare(self) -> None:
        for folder in self._folders:
            try:
                make_private_folder(self._root / folder)
            except OSError as error:
                raise FolderUnfit(f"{self.home}: cannot make the run's folder: {words_of(error)}") from error

    def clear(self) -> None:
        for folder in self._folders:
            shutil.rmtree(self._root / folder, ignore_errors=True)
        for file in self._files:
            with suppress(OSError):
                (self._root / file).unlink(missing_ok=True)

    def _file(self, name: str) -> Path:
        """What bears the name, where it may be opened."""
        path = self._place(name)
        refuse_strange(path, _advice(name))
        return path

    def _place(self, name: str) -> Path:
        """Where a file is or is to be put, whatever bears its name now."""
        parts = parts_of(name, self.home, self._folders, self._files)
        path = self._root
        for part in parts[:-1]:
            path /= part
            refuse_strange(path, _advice(name))
        return path / parts[-1]


class LocalWriter(Writer):
    """A file that appears under its name only when it is whole and on disk.

    Its hash comes for free where it is `hashed` meanwhile; else whoever wants it waits until the file is read again.
    What is written is held until there is a good deal of it: a million lines are hashed and handed to the system in a
    few thousand pieces.
    """

    def __init__(self, path: Path, name: str, *, hashed: bool = True) -> None:
        self.name = name
        self.size = 0
        self._path = path
        self._part = path.with_name(path.name + HALF)
        self._hash = hashlib.sha256() if hashed else None
        self._kept = False
        try:
            self._handle: BinaryIO = open(open_to_write(self._part), "wb")  # noqa: PTH123, SIM115 - closed by keep and drop
        except OSError as error:
            raise disk_trouble(path, error) from error
        self._held: list[bytes] = []
        self._handed_over = 0

    def write(self, data: bytes) -> None:
        self._held.append(data)
        self.size += len(data)
        if self.size - self._handed_over >= _PIECE:
            self._hand_over()

    def write_lines(self, lines: list[bytes]) -> None:
        if lines:
            lines.append(b"")
            self.write(b"\n".join(lines))
            lines.clear()

    def _hand_over(self) -> None:
        if not self._held:
            return
        piece = b"".join(self._held)
        self._held.clear()
        self._handed_over = self.size
        try:
            self._handle.write(piece)
        except OSError as error:
            raise disk_trouble(self._path, error) from error
        if self._hash is not None:
            self._hash.update(piece)

    def so_far(self) -> BinaryIO:
        self._hand_over()
        try:
            self._handle.flush()
        except OSError as error:
            raise disk_trouble(self._path, error) from error
        return _opened(open_to_read(self._part), "rb")

    @property
    def sha256(self) -> str:
        self._hand_over()
        if self._hash is not None:
            return self._hash.hexdigest()
        with _opened(open_to_read(self._path), "rb") if self._kept else self.so_far() as content:
            return hashed(content).hexdigest()

    def keep(self) -> None:
        self._hand_over()
        try:
            self._handle.flush()
            checkpoint(f"fsync {top_of(self.name)}")
            os.fsync(self._handle.fileno())
            self._handle.close()
            self._part.replace(self._path)
            sync_directory(self._path.parent)
            self._kept = True
        except IsADirectoryError as error:
            self.drop()
            raise FileDamaged(f"{self._path} is a folder where a file was; move it away") from error
        except OSError as error:
            raise disk_trouble(self._path, error) from error
        checkpoint(f"kept {top_of(self.name)}")

    def drop(self) -> None:
        with suppress(OSError):  # a full disk has been told already
            self._handle.close()
        self._part.unlink(missing_ok=True)


class LocalAppender:
    """One flush to the disk for each group of lines."""

    def __init__(self, path: Path, name: str, *, anew: bool) -> None:
        self.name = name
        self._path = path
        try:
            new = anew or not path.exists()
            self._handle = open_to_write(path, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if anew else 0))
            self.size = os.fstat(self._handle).st_size
            if new:
                sync_directory(path.parent)
        except OSError as error:
            raise disk_trouble(path, error) from error
        # Of a file that was there before, nobody may ever want to know.
        self._hash = hashlib.sha256() if self.size == 0 else None

    def add(self, lines: bytes) -> int:
        begin = self.size
        try:
            written = 0
            while written < len(lines):
                written += os.pwrite(self._handle, lines[written:], begin + written)
            checkpoint(f"fsync {top_of(self.name)}")
            os.fdatasync(self._handle)
        except OSError as error:
            raise disk_trouble(self._path, error) from error
        checkpoint(f"kept {top_of(self.name)}")
        if self._hash is not None:
            self._hash.update(lines)
        self.size += len(lines)
        return begin

    @property
    def sha256(self) -> str:
        if self._hash is None:
            with _opened(os.dup(self._handle), "rb", 0) as content:
                self._hash = hashed(content)
        return self._hash.hexdigest()

    def close(self) -> None:
        os.close(self._handle)


class LocalReader:
    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        try:
            self._handle = open_to_read(path)
        except OSError as error:
            raise _unreadable(path, name, error) from error

    def read(self, offset: int, length: int) -> bytes:
        try:
            return os.pread(self._handle, length, offset)
        except (OSError, OverflowError, MemoryError) as error:
            raise _unreadable(self._path, self._name, error) from error

    def close(self) -> None:
        os.close(self._handle)


def _opened(handle: int, mode: str, start: int = 0) -> BinaryIO:
    try:
        content: BinaryIO = open(handle, mode, buffering=_BUFFER)  # type: ignore[assignment]  # noqa: SIM115 - closed by whoever asked
    except OSError:
        os.close(handle)
        raise
    content.seek(start)
    return content


def _mended(path: Path, name: str, end: int) -> Kept:
    with _opened(open_to_write(path, os.O_RDWR), "r+b") as file:
        if os.fstat(file.fileno()).st_size < end:
            what = f"the file is damaged: {end:,} bytes are on record, and it is shorter"
            raise FileDamaged(f"{path}: {what}; {way_out(name)}")
        file.seek(end)
        while line := file.readline():
            if not line.endswith(b"\n"):
                break
            end += len(line)
        file.truncate(end)
        checkpoint(f"fsync {top_of(name)}")
        os.fsync(file.fileno())
        file.seek(0)
        digest = hashed(file)
    checkpoint(f"kept {top_of(name)}")
    return Kept(end, digest.hexdigest())


def _advice(name: str) -> str | None:
    return way_out(name) if top_of(name) in PARTS else None


def _unreadable(path: Path, name: str, error: Exception) -> LedgerError:
    advice = _advice(name)
    if advice is None and isinstance(error, OSError):
        return disk_trouble(path, error, "cannot read")
    why = error.strerror if isinstance(error, OSError) else "no file is that long"
    return FileDamaged(f"{path}: cannot read: {why}{f'; {advice}' if advice else ''}")
