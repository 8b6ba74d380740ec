"""What a run's files are kept in: a few verbs, each by a file's name. No path leaves here.

A name is relative and has slashes ("raw/abc-output.jsonl"). A store admits the names that it was made for and refuses
all others, because names may come from a stranger's ledger. `tests/store/test_contract.py` is what every
implementation has to pass.

What cannot be written raises LedgerError; what cannot be read, or is no plain file, raises FileDamaged, which names the
file and the way out.
"""

import hashlib
from typing import BinaryIO, NamedTuple, Protocol, Self

# What is read at once where a whole file is wanted.
_BLOCK = 256 * 1024


class Writer(Protocol):
    """A file on its way in: under its name only when it is kept, and then whole and durable.

    As a context, it is kept at the end, and dropped when something goes wrong.
    """

    name: str
    size: int

    def write(self, data: bytes) -> None: ...

    def write_lines(self, lines: list[bytes]) -> None:
        """Each gets its newline; the list is empty afterwards."""
        ...

    @property
    def sha256(self) -> str:
        """Of what was written so far."""
        ...

    def so_far(self) -> BinaryIO:
        """What was written, to be read before it is kept."""
        ...

    def keep(self) -> None: ...
    def drop(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.keep()
        else:
            self.drop()


class Appender(Protocol):
    """A file that grows, a group of whole lines at a time. A file has one appender at a time."""

    name: str
    size: int

    def add(self, lines: bytes) -> int:
        """Durable when this returns; where the first of the lines begins. What was half written is written over."""
        ...

    @property
    def sha256(self) -> str:
        """Of the whole file."""
        ...

    def close(self) -> None: ...


class Reader(Protocol):
    """An open file, read anywhere; by several threads, if they like."""

    def read(self, offset: int, length: int) -> bytes:
        """The bytes from `offset` on; as many of them as there are."""
        ...

    def close(self) -> None: ...


class Kept(NamedTuple):
    """What goes on record of a whole file."""

    size: int
    sha256: str


class Store(Protocol):
    """Files by name. `home` is how people find all of them."""

    home: str

    def where(self, name: str) -> str:
        """How people find the file."""
        ...

    def put(self, name: str, *, over_anything: bool = False) -> Writer:
        """A new file, or a new one in the place of an old one.

        `over_anything`: whatever bears the name now is replaced unread; otherwise only a plain file is.
        """
        ...

    def append(self, name: str, *, anew: bool = False) -> Appender:
        """A file to add lines to, made if it is not there; `anew`: emptied if it is."""
        ...

    def mend(self, name: str, end: int) -> Kept:
        """Drop the torn last line that a killed process may have left past `end`; what is left."""
        ...

    def reader(self, name: str) -> Reader: ...

    def stream(self, name: str, start: int = 0) -> BinaryIO:
        """The file from `start` to its end, in this direction alone."""
        ...

    def problem(self, name: str) -> str | None:
        """Why nothing can be read under this name ("is missing"); None when there is a plain file."""
        ...

    def exists(self, name: str) -> bool: ...
    def size(self, name: str) -> int: ...

    def names(self, part: str) -> list[str]:
        """What there is in one part, in order: halves that a killed process left, and what is no file, too."""
        ...

    def remove(self, name: str) -> None:
        """Whatever bears the name; nothing where nothing does."""
        ...

    def prepare(self) -> None:
        """Whatever has to be there before the first file comes."""
        ...

    def clear(self) -> None:
        """Take away everything, as far as that can be done."""
        ...


class StoredFile(NamedTuple):
    """A file for whoever sends it: its bytes, and how many there are."""

    store: Store
    name: str

    @property
    def where(self) -> str:
        return self.store.where(self.name)

    @property
    def size(self) -> int:
        return self.store.size(self.name)

    def exists(self) -> bool:
        return self.store.exists(self.name)

    def open(self, start: int = 0) -> BinaryIO:
        """From `start` to its end, in this direction alone."""
        return self.store.stream(self.name, start)

    def remove(self) -> None:
        self.store.remove(self.name)


def hash_of(store: Store, name: str) -> str:
    """The SHA-256 of a file as it is now."""
    with store.stream(name) as content:
        return hashed(content).hexdigest()


def hashed(content: BinaryIO) -> "hashlib._Hash":
    """The SHA-256 of what is left of a stream."""
    whole = hashlib.sha256()
    while chunk := content.read(_BLOCK):
        whole.update(chunk)
    return whole
