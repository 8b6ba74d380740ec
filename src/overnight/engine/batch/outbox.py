"""A shard's input file: the bodies on record, each in its envelope, written whole before anything is sent."""

from collections.abc import Iterable
from typing import NamedTuple

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.shard import LONGEST_CUSTOM_ID, custom_id
from overnight.ledger.ledger import Ledger
from overnight.ledger.raw import RawFiles, ReadAhead
from overnight.providers.contract import BatchFormat
from overnight.store.contract import Store, StoredFile, Writer, hash_of
from overnight.store.names import FILES, HALF

# Pieces of lines that are handed to the file at once.
_TOGETHER = 500
# States of an attempt whose input file is still to be sent.
UNSENT = ("intended", "uploaded")


def input_file(files: Store, token: str) -> StoredFile:
    """The input of an attempt, whether it is there or not."""
    return StoredFile(files, f"outbox/{token}.jsonl")


def sweep(files: Store, carried: Iterable[Attempt]) -> None:
    """Remove what a killed process left: halves of any kind, and input files of attempts that are over.

    So is an input that is to be sent and is not the one on record: it is made anew.
    """
    for name in (name for part in FILES for name in files.names(part)):
        if name.endswith(HALF):
            files.remove(name)
    hashes = {
        input_file(files, attempt.token).name: attempt.sha256 if attempt.state in UNSENT else "" for attempt in carried
    }
    for name in files.names("outbox"):
        expected = hashes.get(name)
        if expected is None or files.problem(name) or (expected and hash_of(files, name) != expected):
            files.remove(name)


def line_overhead(format_: BatchFormat, model: Model) -> int:
    """The most that an envelope and its newline add to a body."""
    return len(format_.line(model, "o" * LONGEST_CUSTOM_ID, b"")) + 1


class Frame(NamedTuple):
    """What is the same in every line of a model: all but the number in its id, and its body."""

    before: bytes
    between: bytes
    after: bytes


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


def write_input(files: Store, ledger: Ledger, shard: int, token: str, format_: BatchFormat, model: Model) -> Writer:
    """The file for one attempt. Runs in a worker thread; a part that a killed process left is written over."""
    view = ledger.view()
    before, between, after = frame_of(format_, model, token)
    pieces: list[bytes] = []
    with RawFiles(files, view.files.paths()) as kept, files.put(input_file(files, token).name) as file:
        body = ReadAhead(kept).read
        for row in view.shards.bodies(shard):
            pieces += (before, b"%d" % row.line, between, body(row.file, row.offset, row.length, row.digest), after)
            if len(pieces) >= _TOGETHER:
                file.write(b"".join(pieces))
                pieces.clear()
        file.write(b"".join(pieces))
    return file
