"""A shard's input file: the bodies on record, each in its envelope, written whole before anything is sent."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from overnight.core.ask import Model
from overnight.core.attempt import Attempt
from overnight.core.errors import FileDamaged
from overnight.core.opening import strange
from overnight.core.shard import LONGEST_CUSTOM_ID, custom_id
from overnight.ledger.ledger import Ledger
from overnight.ledger.raw import RawFiles, ReadAhead, file_hash
from overnight.providers.contract import BatchFormat
from overnight.store.local import DurableFile
from overnight.store.run_folder import RunFolder

# Pieces of lines that are handed to the file at once.
_TOGETHER = 500
# States of an attempt whose input file is still to be sent.
UNSENT = ("intended", "uploaded")


def input_path(folder: RunFolder, token: str) -> Path:
    return folder.file(f"outbox/{token}.jsonl")


def sweep(folder: RunFolder, carried: Iterable[Attempt]) -> None:
    """Remove what a killed process left: halves, and the files of attempts that are over.

    So is a file that is to be sent and is not the one on record: it is made anew.
    """
    hashes = {attempt.token: attempt.sha256 if attempt.state in UNSENT else "" for attempt in carried}
    for path in folder.file("outbox").iterdir():
        expected = hashes.get(path.stem) if path.suffix == ".jsonl" else None
        if expected is None or strange(path) or (expected and not (path.is_file() and file_hash(path) == expected)):
            _remove(path)


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError as error:
        message = f"{path}: cannot be removed, and does not belong there: {error.strerror}; move it elsewhere"
        raise FileDamaged(message) from error


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


def write_input(
    folder: RunFolder, ledger: Ledger, shard: int, token: str, format_: BatchFormat, model: Model
) -> DurableFile:
    """The file for one attempt. Runs in a worker thread; a part that a killed process left is written over."""
    view = ledger.view()
    before, between, after = frame_of(format_, model, token)
    pieces: list[bytes] = []
    with RawFiles(folder, view.files.paths()) as kept, DurableFile(input_path(folder, token)) as file:
        body = ReadAhead(kept).read
        for row in view.shards.bodies(shard):
            pieces += (before, b"%d" % row.line, between, body(row.file, row.offset, row.length, row.digest), after)
            if len(pieces) >= _TOGETHER:
                file.write(b"".join(pieces))
                pieces.clear()
        file.write(b"".join(pieces))
    return file
