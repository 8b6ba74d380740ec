"""How files lie in a bucket, whose objects never change once they are put.

- A file of up to `PART` bytes is one object under its own name.
- A longer one is a row of parts below `parts/`, put first, and then a short object under its own name that names them.
- A file that grows is the same, with a part for each group of lines, named by the byte at which it begins; how many
  there are is found by looking. `close` and `mend` put all of it under its own name as a whole. Parts that a suspended
  process may still put after that count for nothing: nothing that anybody reads names them.

Which parts are a file's own is told by a word that its appender or writer made up, so nobody ever joins two rows. (An
upload in parts of the bucket's own, "multipart", would leave one object, but cannot be put on a condition.)
"""

import json
import secrets
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from io import BufferedReader, RawIOBase
from threading import Lock
from typing import BinaryIO, NamedTuple, cast

from overnight.core.checkpoint import checkpoint
from overnight.core.errors import FileDamaged, LedgerError
from overnight.store.bucket_objects import ANYTHING, Expected, Found, Objects
from overnight.store.names import top_of, way_out
from overnight.store.spool import Spool

PART = 32 << 20
PARTS_FOLDER = "parts"
# What is noted with the object under a file's own name, where it only names parts.
_WORD, _SIZE, _PART_SIZE = "overnight-parts", "overnight-size", "overnight-part-size"
# What is read at once, and how much of that is held for who reads nearby.
_BLOCK = 1 << 20
_HELD_BLOCKS = 64
_AHEAD = 4 << 20
_AT_ONCE = 8
# No file is longer.
_LONGEST = 1 << 50


class Piece(NamedTuple):
    """An object, or all that there is of it, in its place in a file."""

    key: str
    version: str
    begin: int
    size: int


class Layout(NamedTuple):
    """Where a file's bytes are, at one moment."""

    found: Found
    pieces: Sequence[Piece]
    # The word of a file that may still grow.
    word: str | None

    @property
    def size(self) -> int:
        return self.pieces[-1].begin + self.pieces[-1].size if self.pieces else 0


class BucketFiles:
    """Whole files of a bucket, of however many objects they are made."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._held: OrderedDict[tuple[str, str, int], bytes] = OrderedDict()
        self._lock = Lock()

    def layout(self, name: str) -> Layout | None:
        found = self.objects.look(name)
        if found is None:
            return None
        word = found.notes.get(_WORD)
        if word is None:
            return Layout(found, [Piece(name, str(sorted(found.version.items())), 0, found.size)], None)
        if _SIZE not in found.notes:
            return Layout(found, list(self._chain(name, word)), word)
        size, step = int(found.notes[_SIZE]), int(found.notes[_PART_SIZE])
        begins = range(0, size, step)
        return Layout(found, [Piece(part_key(name, word, at), word, at, min(step, size - at)) for at in begins], None)

    def _chain(self, name: str, word: str) -> Iterator[Piece]:
        """Part after part. The listing saves looking for each, and what it does not show yet is looked for."""
        folder = f"{PARTS_FOLDER}/{name}/{word}"
        sizes = {key.rpartition("/")[2]: size for key, size in self.objects.listed(folder)}
        at = 0
        while True:
            key = part_key(name, word, at)
            size = sizes.get(key.rpartition("/")[2])
            if size is None:
                found = self.objects.look(key)
                if found is None:
                    return
                size = found.size
            if size <= 0:
                return
            yield Piece(key, word, at, size)
            at += size

    # --- reading

    def read(self, layout: Layout, offset: int, length: int) -> bytes:
        """Through what is held already: lines that lie together are read together."""
        taken = []
        for piece, start, size in _spans(layout, offset, length):
            first, last = start // _BLOCK, (start + size - 1) // _BLOCK
            blocks = b"".join(self._block(piece, number) for number in range(first, last + 1))
            taken.append(blocks[start - first * _BLOCK : start - first * _BLOCK + size])
        return b"".join(taken)

    def _block(self, piece: Piece, number: int) -> bytes:
        name = (piece.key, piece.version, number)
        with self._lock:
            held = self._held.get(name)
            if held is not None:
                self._held.move_to_end(name)
                return held
        start = number * _BLOCK
        block = self.objects.read(piece.key, start, min(_BLOCK, piece.size - start))
        with self._lock:
            self._held[name] = block
            while len(self._held) > _HELD_BLOCKS:
                self._held.popitem(last=False)
        return block

    def read_through(self, layout: Layout, offset: int, length: int) -> bytes:
        """A long stretch that is wanted once; small parts are fetched side by side."""
        spans = list(_spans(layout, offset, length))
        if len(spans) == 1:
            (piece, start, size), *_ = spans
            return self.objects.read(piece.key, start, size)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return b"".join(pool.map(lambda span: self.objects.read(span[0].key, span[1], span[2]), spans))

    # --- writing

    def put_whole(self, name: str, content: Spool, expected: Expected) -> Found:
        """All of it under its name, at once; then what was in its place goes."""
        before = self.objects.look(name) if expected is ANYTHING else expected
        with content.so_far() as stream:
            if content.size <= PART:
                put = self.objects.put(name, stream.read(), expected)
            else:
                word = _new_word()
                self._put_parts(name, word, stream)
                notes = {_WORD: word, _SIZE: str(content.size), _PART_SIZE: str(PART)}
                put = self.objects.put(name, _body(name, word, content.size), expected, notes)
        self._drop_parts_of(name, before)
        return put

    def begin_growth(self, name: str, content: Spool, expected: Found) -> tuple[str, Found]:
        """From here on, the file is the parts of a new word, and so far it holds what it held."""
        word = _new_word()
        with content.so_far() as stream:
            self._put_parts(name, word, stream)
        put = self.objects.put(name, _body(name, word, None), expected, {_WORD: word})
        self._drop_parts_of(name, expected)
        return word, put

    def _put_parts(self, name: str, word: str, stream: BinaryIO) -> None:
        at = 0
        while part := stream.read(PART):
            self.add_part(name, word, at, part)
            checkpoint(f"part of {top_of(name)}")
            at += len(part)

    def add_part(self, name: str, word: str, begin: int, data: bytes) -> None:
        self.objects.put(part_key(name, word, begin), data, None)

    def remove(self, name: str) -> None:
        found = self.objects.look(name)
        if found is None:
            return
        self.objects.delete([name])
        self._drop_parts_of(name, found)

    def _drop_parts_of(self, name: str, found: Found | None) -> None:
        """Parts that nothing names any more: what cannot be deleted now only takes room."""
        word = found.notes.get(_WORD) if found is not None else None
        if word is None:
            return
        with suppress(LedgerError):
            self.objects.delete([key for key, _ in self.objects.listed(f"{PARTS_FOLDER}/{name}/{word}")])


class BucketReader:
    """A file at one moment; looked for again where it has grown, or has become one object, meanwhile."""

    def __init__(self, files: BucketFiles, name: str, layout: Layout) -> None:
        self._files = files
        self._name = name
        self._layout = layout

    def read(self, offset: int, length: int) -> bytes:
        if offset < 0 or length < 0 or offset + length > _LONGEST:
            raise self._damaged("no file is that long")
        if self._layout.word is not None and offset + length > self._layout.size:
            self._look_again()
        return self._tried(self._files.read, offset, length)

    def read_through(self, offset: int, length: int) -> bytes:
        return self._tried(self._files.read_through, offset, length)

    def _tried(self, read: Callable[[Layout, int, int], bytes], offset: int, length: int) -> bytes:
        with suppress(FileNotFoundError):
            return read(self._layout, offset, length)
        self._look_again()
        try:
            return read(self._layout, offset, length)
        except FileNotFoundError:
            raise self._damaged("a part of it is missing") from None

    def _look_again(self) -> None:
        layout = self._files.layout(self._name)
        if layout is None:
            raise self._damaged("there is no such object any more")
        self._layout = layout

    def _damaged(self, why: str) -> FileDamaged:
        where = f"{self._files.objects.home}/{self._name}"
        return FileDamaged(f"{where}: cannot read: {why}; {way_out(self._name)}")

    def close(self) -> None:
        pass


class _Stream(RawIOBase):
    def __init__(self, reader: BucketReader, start: int) -> None:
        self._reader = reader
        self._at = start
        self._ahead = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._ahead:
            self._ahead = memoryview(self._reader.read_through(self._at, _AHEAD))
            self._at += len(self._ahead)
        count = min(len(buffer), len(self._ahead))
        buffer[:count] = self._ahead[:count]
        self._ahead = self._ahead[count:]
        return count


def stream_of(reader: BucketReader, start: int) -> BinaryIO:
    return cast("BinaryIO", BufferedReader(_Stream(reader, start), _BLOCK))


def part_key(name: str, word: str, begin: int) -> str:
    return f"{PARTS_FOLDER}/{name}/{word}/{begin:016d}"


def _spans(layout: Layout, offset: int, length: int) -> Iterator[tuple[Piece, int, int]]:
    """Which bytes of which pieces a stretch of the file is."""
    end = min(offset + length, layout.size)
    number = max(0, bisect_right(layout.pieces, offset, key=lambda piece: piece.begin) - 1)
    while offset < end:
        piece = layout.pieces[number]
        size = min(end, piece.begin + piece.size) - offset
        if size > 0:
            yield piece, offset - piece.begin, size
            offset += size
        number += 1


def _body(name: str, word: str, size: int | None) -> bytes:
    """What people find under the name of a file that is in parts; the word makes each one differ from all others."""
    folder = f"{PARTS_FOLDER}/{name}/{word}/"
    return json.dumps({"overnight": "the bytes of this file are in parts", "parts": folder, "size": size}).encode()


def _new_word() -> str:
    return secrets.token_hex(12)
