"""A store in a bucket: s3://bucket/prefix, gs://bucket/prefix (the extra `bucket`), or a folder that machines share.

What a run needs of a store holds here too, though objects cannot grow and a network may fail at any point:

- A file is there under its name when it is whole, or not at all. It is put on the condition that what it replaces is
  still what was there when its writer was opened, so a process that was suspended meanwhile writes over nothing.
- Lines that `add` has taken are durable when it returns: each group is one more object, put once. That is one request
  for each group. Who can keep lines durable elsewhere until a file is closed (in the transaction that counts them)
  spares these requests: it writes the file whole with `put` in the end, and no reader sees a difference.
- A bucket that fails is OutOfReach, and never a missing file.

Credentials come from the variables that the vendors' own tools read (AWS_ACCESS_KEY_ID and so on, or what a machine in
their cloud is given), and are written nowhere. AWS_ENDPOINT_URL leads to another server that speaks S3.
"""

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import FileDamaged, FolderUnfit, LedgerError, StudyError
from overnight.core.opening import make_folders_above
from overnight.core.surroundings import words_of
from overnight.store.bucket_files import PARTS_FOLDER, BucketFiles, BucketReader, Layout, stream_of
from overnight.store.bucket_objects import ANYTHING, PATIENCE, SCHEMES, Expected, Found, Objects
from overnight.store.contract import Kept, Store, Writer
from overnight.store.local import LocalStore
from overnight.store.names import parts_of, sound, top_of, way_out
from overnight.store.spool import Spool

# Put into each place once: it proves that the bucket puts nothing over something where it is told not to.
_MADE = "made"
_MADE_TEXT = b"Files of Overnight. Objects are put once here; see PREFIX/parts for files that are in parts.\n"
_CHUNK = 1 << 20


def store_at(url: str, folders: Collection[str] = (), files: Collection[str] = ()) -> Store:
    """The store of these names in a bucket, or in a folder: `s3://`, `gs://`, `file:///` or a plain path."""
    scheme = urlsplit(url).scheme
    if scheme in SCHEMES:
        return BucketStore(url, folders, files)
    if scheme == "file":
        split = urlsplit(url)
        if split.netloc not in ("", "localhost") or not split.path or split.query or split.fragment:
            raise StudyError(f"{url!r} names no folder of this machine; wanted: file:///PATH, or the path alone")
        return SharedFolder(Path(unquote(split.path)), folders, files)
    if "://" in url or not url.strip():
        raise StudyError(f"{url!r} is no place for files; wanted: s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or a folder")
    return SharedFolder(Path(url), folders, files)


class SharedFolder(LocalStore):
    """A folder that several machines see: our own durable files. Who may write there, a lease elsewhere has to say."""

    def prepare(self) -> None:
        try:
            make_folders_above(Path(self.home) / "any")
        except OSError as error:
            raise FolderUnfit(f"{self.home}: cannot make the folder: {words_of(error)}") from error
        super().prepare()


class BucketStore:
    """Files of `folders`, and `files` beside them, below one prefix. Everything else there is somebody else's."""

    def __init__(
        self, url: str, folders: Collection[str] = (), files: Collection[str] = (), *, patience: float = PATIENCE
    ) -> None:
        self.home = url.rstrip("/")
        prefix = urlsplit(url).path.strip("/")
        if prefix and not all(map(sound, prefix.split("/"))):
            raise StudyError(f"{url!r}: the part after the bucket is no path; wanted: NAME or NAME/NAME")
        self._folders = folders
        self._names = files
        self._files = BucketFiles(Objects(self.home, patience=patience))

    def where(self, name: str) -> str:
        return f"{self.home}/{self._admitted(name)}"

    def put(self, name: str, *, over_anything: bool = False) -> "BucketWriter":
        key = self._admitted(name)
        expected: Expected = ANYTHING if over_anything else self._files.objects.look(key)
        return BucketWriter(self._files, name, expected)

    def append(self, name: str, *, anew: bool = False) -> "BucketAppender":
        key = self._admitted(name)
        layout, spool = self._files.layout(key), Spool()
        if layout is not None and not anew:
            with stream_of(BucketReader(self._files, key, layout), 0) as there:
                while chunk := there.read(_CHUNK):
                    spool.write(chunk)
            return BucketAppender(self._files, name, spool, layout.found)
        found = self._files.put_whole(key, spool, layout.found if layout else None)
        return BucketAppender(self._files, name, spool, found)

    def mend(self, name: str, end: int) -> Kept:
        layout = self._layout(name)
        spool = Spool()
        try:
            _copy_lines(stream_of(BucketReader(self._files, name, layout), 0), spool, end)
            if spool.size < end:
                what = f"the file is damaged: {end:,} bytes are on record, and it is shorter"
                raise FileDamaged(f"{self.where(name)}: {what}; {way_out(name)}")
            if layout.word is not None or spool.size != layout.size:
                checkpoint(f"fsync {top_of(name)}")
                self._files.put_whole(name, spool, layout.found)
                checkpoint(f"kept {top_of(name)}")
            return Kept(spool.size, spool.sha256)
        finally:
            spool.close()

    def reader(self, name: str) -> BucketReader:
        return BucketReader(self._files, name, self._layout(name))

    def stream(self, name: str, start: int = 0) -> BinaryIO:
        return stream_of(self.reader(name), start)

    def problem(self, name: str) -> str | None:
        return None if self.exists(name) else "is missing"

    def exists(self, name: str) -> bool:
        return self._files.objects.look(self._admitted(name)) is not None

    def size(self, name: str) -> int:
        return self._layout(name).size

    def names(self, part: str) -> list[str]:
        start = self._admitted(part) + "/"
        found = {key[len(start) :].partition("/")[0] for key, _ in self._files.objects.listed(part)}
        return sorted(start + name for name in found if sound(name))

    def remove(self, name: str) -> None:
        self._files.remove(self._admitted(name))

    def prepare(self) -> None:
        """The bucket answers, takes what is put, and puts nothing over something: not every look-alike of S3 does."""
        objects = self._files.objects
        if not (objects.create(_MADE, _MADE_TEXT) and objects.create(_MADE, _MADE_TEXT)):
            return
        message = (
            f"{self.home}: this bucket puts a new object over one that is there, although it is asked not to "
            "(If-None-Match), so that two processes could destroy each other's files; use another one"
        )
        raise LedgerError(message)

    def clear(self) -> None:
        objects = self._files.objects
        with suppress(LedgerError):
            for folder in (*self._folders, PARTS_FOLDER):
                objects.delete([key for key, _ in objects.listed(folder)])
            objects.delete([*self._names, _MADE])

    def _layout(self, name: str) -> Layout:
        layout = self._files.layout(self._admitted(name))
        if layout is None:
            raise FileDamaged(f"{self.where(name)}: cannot read: there is no such object; {way_out(name)}")
        return layout

    def _admitted(self, name: str) -> str:
        parts_of(name, self.home, self._folders, self._names)
        return name


class BucketWriter(Writer):
    """Spooled on this machine, and put when it is whole."""

    def __init__(self, files: BucketFiles, name: str, expected: Expected) -> None:
        self.name = name
        self.size = 0
        self._files = files
        self._expected = expected
        self._spool = Spool()

    def write(self, data: bytes) -> None:
        self._spool.write(data)
        self.size += len(data)

    def write_lines(self, lines: list[bytes]) -> None:
        if lines:
            lines.append(b"")
            self.write(b"\n".join(lines))
            lines.clear()

    @property
    def sha256(self) -> str:
        return self._spool.sha256

    def so_far(self) -> BinaryIO:
        return self._spool.so_far()

    def keep(self) -> None:
        checkpoint(f"fsync {top_of(self.name)}")
        self._files.put_whole(self.name, self._spool, self._expected)
        self._spool.close()
        checkpoint(f"kept {top_of(self.name)}")

    def drop(self) -> None:
        self._spool.close()


class BucketAppender:
    """One more object for each group of lines; one object of all of them when it is closed."""

    def __init__(self, files: BucketFiles, name: str, spool: Spool, found: Found) -> None:
        self.name = name
        self.size = spool.size
        self._files = files
        self._spool = spool
        self._found = found
        self._word: str | None = None

    def add(self, lines: bytes) -> int:
        begin = self.size
        if not lines:
            return begin
        if self._word is None:
            self._word, self._found = self._files.begin_growth(self.name, self._spool, self._found)
        checkpoint(f"fsync {top_of(self.name)}")
        try:
            self._files.add_part(self.name, self._word, begin, lines)
        except BaseException:
            # It may have come in all the same: what is added next goes under a word of its own.
            self._word = None
            raise
        checkpoint(f"kept {top_of(self.name)}")
        self._spool.write(lines)
        self.size += len(lines)
        return begin

    @property
    def sha256(self) -> str:
        return self._spool.sha256

    def close(self) -> None:
        """All that was added is durable. One object of it all is cheaper to read, and may be left undone."""
        if self._word is not None:
            with suppress(LedgerError):
                self._files.put_whole(self.name, self._spool, self._found)
        self._spool.close()


def _copy_lines(content: BinaryIO, spool: Spool, end: int) -> None:
    """The file as far as it is on record, and the whole lines after that."""
    with content as whole:
        while spool.size < end and (chunk := whole.read(min(_CHUNK, end - spool.size))):
            spool.write(chunk)
        for line in whole:
            if line.endswith(b"\n"):
                spool.write(line)
