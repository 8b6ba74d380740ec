"""Lines found again by file, offset and length, and held against what was recorded of them before anybody uses them."""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from types import TracebackType
from typing import Self

from overnight.core.errors import FileDamaged
from overnight.core.result import Line, Result
from overnight.store.contract import Reader, Store, Writer, hash_of
from overnight.store.names import way_out

# The file, offset, length and digest of a line.
Place = tuple[int, int, int, bytes]
# What is read at once where lines are wanted in their order.
BLOCK = 256 * 1024
# A line that begins so near the end of what was read last is one in their order: few others do.
_NEAR = 16 * 1024
# A strong hash, cut: a line is told from any other, by accident or on purpose, and a million of them take little room.
_DIGEST_BYTES = 16
_OF_LINES = "lines:"
# Files that are held open at once: a run may have thousands, and a process may not.
_MOST_OPEN = 200


def digest_of(data: bytes) -> bytes:
    """What goes on record beside the place of a line, a body or an item."""
    return sha256(data).digest()[:_DIGEST_BYTES]


class LinesHash:
    """A hash of a file of lines, made of their digests: who has these need not hash the lines once more."""

    def __init__(self) -> None:
        self._whole = sha256()

    def add(self, digests: Iterable[bytes]) -> None:
        self._whole.update(b"".join(digests))

    @property
    def text(self) -> str:
        """As it goes on record, told from the hash of the file's bytes."""
        return _OF_LINES + self._whole.hexdigest()


def _hash_now(files: Store, name: str, known: str) -> str:
    """The hash of a file as it is now, of the kind that is on record."""
    if not known.startswith(_OF_LINES):
        return hash_of(files, name)
    found = LinesHash()
    with files.stream(name) as lines:
        found.add(digest_of(line.removesuffix(b"\n")) for line in lines)
    return found.text


def file_problem(files: Store, name: str, size: int, sha256_text: str) -> str | None:
    """What is wrong with a whole file on record; None when it has its size and its bytes."""
    problem = files.problem(name)
    if problem is not None:
        return problem
    try:
        found = files.size(name)
        if found != size:
            return f"has {found:,} bytes, {size:,} are on record"
        return None if _hash_now(files, name, sha256_text) == sha256_text else "has other bytes than those on record"
    except FileDamaged:
        return "cannot be read to its end"


def check_file(files: Store, name: str, size: int, sha256_text: str) -> None:
    """FileDamaged where a whole file is not the one on record."""
    problem = file_problem(files, name, size, sha256_text)
    if problem is not None:
        message = f"{files.where(name)} {problem}; {way_out(name)}"
        raise FileDamaged(message)


def beside_others(files: Store, file: Writer, known: str = "") -> Writer:
    """What is to be kept, under another name where a file of other bytes has its own. `known` is its hash.

    A ledger that was put back from a backup may find what a newer one has on record; and the newer one may come back.
    """
    number, free = 1, file.name
    while files.exists(free) and file_problem(files, free, file.size, known or file.sha256) is not None:
        number += 1
        free = f"{file.name.removesuffix('.jsonl')}-other{number}.jsonl"
    if free == file.name:
        return file
    other = files.put(free)
    try:
        with file.so_far() as content:
            while chunk := content.read(BLOCK):
                other.write(chunk)
    except BaseException:
        other.drop()
        raise
    finally:
        file.drop()
    return other


class RawFiles:
    """Open files of a run, for as long as a table is being made."""

    def __init__(self, files: Store, names: dict[int, str]) -> None:
        self._files = files
        self._names = names
        self._readers: dict[int, Reader] = {}

    def read(self, file: int, offset: int, length: int, digest: bytes) -> bytes:
        """The bytes on record, or FileDamaged: never others."""
        reader = self._readers.get(file) or self._opened(file)
        data = reader.read(offset, length)
        if sha256(data).digest()[:_DIGEST_BYTES] != digest:
            raise self.damaged(file, offset, length, len(data))
        return data

    def unread(self, file: int, offset: int, length: int) -> FileDamaged:
        """For a line with the bytes on record, which said something when it came and says nothing to today's reader."""
        return FileDamaged(
            f"{self._where(file)}: bytes {offset:,} to {offset + length:,} hold an answer that this version of "
            "Overnight cannot read; use the version that took it in"
        )

    def bytes_at(self, file: int, offset: int, length: int) -> bytes:
        """Whatever is there now; as much of it as there is."""
        reader = self._readers.get(file) or self._opened(file)
        return reader.read(offset, length)

    def _opened(self, file: int) -> Reader:
        if len(self._readers) >= _MOST_OPEN:
            self._readers.pop(next(iter(self._readers))).close()
        reader = self._readers[file] = self._files.reader(self._name(file))
        return reader

    def damaged(self, file: int, offset: int, length: int, found: int) -> FileDamaged:
        if found < length:
            what = f"it ends at byte {offset + found:,}, and a line up to byte {offset + length:,} is on record"
        else:
            what = f"bytes {offset:,} to {offset + length:,} are not those on record"
        return FileDamaged(f"{self._where(file)}: the file is damaged: {what}; {way_out(self._names[file])}")

    def _name(self, file: int) -> str:
        if file not in self._names:
            raise FileDamaged(f"{self._files.home}: a line is said to be in file {file}, which is not on record")
        return self._names[file]

    def _where(self, file: int) -> str:
        return self._files.where(self._name(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for reader in self._readers.values():
            reader.close()


class ReadAhead:
    """Many lines one after another: where they lie in about the order they are wanted in, one reading of the disk does
    for many of them. What lies elsewhere is read alone.
    """

    def __init__(self, files: RawFiles) -> None:
        self._files = files
        # What was read last: of which file, from where on.
        self._read: tuple[int, int, bytes] = 0, 0, b""

    def unread(self, place: Place) -> FileDamaged:
        return self._files.unread(*place[:3])

    def result(self, decode: Callable[[bytes], Line], told: Result, place: Place, line: bytes) -> Result:
        """What a raw line says to today's reader. `told` is the ledger's word for it: enough for a failure only."""
        result = decode(line).result
        if result is None and told.outcome != "failed":
            raise self.unread(place)
        return result or told

    def read(self, file: int, offset: int, length: int, digest: bytes) -> bytes:
        return next(self.lines([(file, offset, length, digest)]))

    def read_all(self, places: Iterable[Place]) -> list[bytes]:
        """What is at each of them, all of it checked; FileDamaged for the first that is not what is on record."""
        return list(self.lines(places))

    def lines(self, places: Iterable[Place]) -> Iterator[bytes]:
        """The same one by one: only what is used of a line has to be held."""
        here, start, block = self._read
        end = start + len(block)
        for file, offset, length, digest in places:
            stop = offset + length
            if file != here or offset < start or stop > end:
                in_order = file == here and start <= offset <= end + _NEAR
                block = self._files.bytes_at(file, offset, max(length, BLOCK) if in_order else length)
                here, start, end = file, offset, offset + len(block)
                self._read = here, start, block
            data = block[offset - start : stop - start]
            if sha256(data).digest()[:_DIGEST_BYTES] != digest:
                raise self._files.damaged(file, offset, length, len(data))
            yield data
