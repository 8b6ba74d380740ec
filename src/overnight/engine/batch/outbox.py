"""A shard's input file: the bodies on record, each in its envelope, written whole before anything is sent."""

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import chain, islice
from typing import NamedTuple

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.shard import LONGEST_CUSTOM_ID, custom_id
from overnight.ledger.ledger import Ledger
from overnight.ledger.raw import RawFiles, ReadAhead, digest_of
from overnight.providers.contract import BatchFormat
from overnight.store.contract import Store, StoredFile
from overnight.store.names import FILES, HALF

# Lines that are made and handed to the file at once. Of more, the bytes would fall out of the processor's cache.
_TOGETHER = 100
# As an attempt has it on record: the sizes of the frame, and the hash.
_INPUT_HASH = re.compile(r"input:([0-9]{1,6}),([0-9]{1,6}),([0-9]{1,6}):[0-9a-f]{64}")
# States of an attempt whose input file is still to be sent; and those in which it is not sent again.
UNSENT = ("intended", "uploaded")
SENT = ("running", "ended", "fetched", "closed")


def input_file(files: Store, token: str) -> StoredFile:
    """The input of an attempt, whether it is there or not."""
    return StoredFile(files, f"outbox/{token}.jsonl")


def sweep(files: Store, carried: Iterable[Attempt]) -> None:
    """Remove what a killed process left: halves of any kind, and input files that are not sent again.

    So is an input that is to be sent and is not the one on record: it is made anew.
    """
    for name in (name for part in FILES for name in files.names(part)):
        if name.endswith(HALF):
            files.remove(name)
    hashes = {
        input_file(files, attempt.token).name: attempt.sha256 if attempt.state in UNSENT else ""
        for attempt in carried
        if attempt.state not in SENT
    }
    for name in files.names("outbox"):
        expected = hashes.get(name)
        if expected is None or files.problem(name) or (expected and not is_on_record(files, name, expected)):
            files.remove(name)


def line_overhead(format_: BatchFormat, model: Model) -> int:
    """The most that an envelope and its newline add to a body."""
    return len(format_.line(model, "o" * LONGEST_CUSTOM_ID, b"")) + 1


class Frame(NamedTuple):
    """What is the same in every line of a model: all but the number in its id, and its body."""

    before: bytes
    between: bytes
    after: bytes

    def lines(self, numbers: Iterable[int], bodies: list[bytes]) -> bytes:
        """Each body is copied once."""
        count = len(bodies)
        parts = [self.between] * (4 * count)
        parts[0::4] = [b"%d" % number for number in numbers]
        parts[2::4] = bodies
        parts[3::4] = [*[self.after + self.before] * (count - 1), self.after]
        return b"".join((self.before, *parts))


def frame_of(format_: BatchFormat, model: Model, token: str) -> Frame:
    """Taken from a line that the provider has made: asking it for each would cost more than the rest of the line."""
    number, body = b"987654321", b'{"stands":"for a body"}'
    before, _, rest = format_.line(model, custom_id(token, int(number)), body).partition(number)
    between, _, after = rest.partition(body)
    frame = Frame(before, between, after + b"\n")
    assert b"".join((frame.before, b"0", frame.between, b"{}", frame.after)) == (
        format_.line(model, custom_id(token, 0), b"{}") + b"\n"
    ), f"{model.provider}: lines of a model differ in more than the id and the body, or have the body first"
    return frame


def write_input(files: Store, ledger: Ledger, shard: int, token: str, format_: BatchFormat, model: Model) -> str:
    """The file for one attempt; returns its hash. For a worker thread; what a killed process left is written over."""
    view = ledger.view()
    frame = frame_of(format_, model, token)
    whole = InputHash(frame)
    with RawFiles(files, view.files.paths()) as kept, files.put(input_file(files, token).name) as file:
        ahead = ReadAhead(kept)
        rows = view.shards.places(shard)
        while some := list(islice(rows, _TOGETHER)):
            bodies = ahead.read_all([row[1:] for row in some])
            file.write(frame.lines([row[0] for row in some], bodies))
            whole.add([row[4] for row in some])
    return whole.text


class InputHash:
    """A hash of an input file, made of its frame and the digests of its bodies, which have just been checked.

    So nobody hashes the file as well; and it can be read again without knowing what the provider's lines are like.
    """

    def __init__(self, frame: Frame) -> None:
        self._sizes = ",".join(str(len(part)) for part in frame)
        self._whole = sha256(b"".join(frame))

    def add(self, digests: Iterable[bytes]) -> None:
        self._whole.update(b"".join(digests))

    @property
    def text(self) -> str:
        return f"input:{self._sizes}:{self._whole.hexdigest()}"


def is_on_record(files: Store, name: str, known: str) -> bool:
    """Whether an input file is the one whose hash is known."""
    told = _INPUT_HASH.fullmatch(known)
    if told is None:
        return False
    before, between, after = map(int, told.groups())
    with files.stream(name) as lines:
        first = lines.readline()
        middle = first[before + 1 : before + 1 + between]  # the first line's number has one digit
        frame = Frame(first[:before], middle, first[len(first) - after :])
        whole = InputHash(frame)
        for number, line in enumerate(chain((first,), lines)):
            head = b"%b%d%b" % (frame.before, number, frame.between)
            if not (line.startswith(head) and line.endswith(frame.after)):
                return False
            whole.add((digest_of(line[len(head) : len(line) - after]),))
    return whole.text == known
