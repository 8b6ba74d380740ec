"""A shard's input file: the bodies on record, each in its envelope, written whole before anything is sent."""

from collections.abc import Container
from pathlib import Path

from overnight.core.ask import Model
from overnight.core.shard import LONGEST_CUSTOM_ID, custom_id
from overnight.ledger.answers import paths
from overnight.ledger.database import Database
from overnight.ledger.folder import DurableFile, RunFolder
from overnight.ledger.raw import RawFiles, ReadAhead
from overnight.ledger.shards import bodies
from overnight.providers._contract import BatchProvider

# Lines that are handed to the file at once.
_TOGETHER = 100


def input_path(folder: RunFolder, token: str) -> Path:
    return folder.file(f"outbox/{token}.jsonl")


def sweep(folder: RunFolder, carried: Container[str]) -> None:
    """Remove what a killed process left: halves, and the files of attempts that are over."""
    for path in folder.file("outbox").iterdir():
        if path.suffix == ".part" or path.stem not in carried:
            path.unlink()


def line_overhead(provider: BatchProvider, model: Model) -> int:
    """The most that an envelope and its newline add to a body."""
    return len(provider.line(model, "o" * LONGEST_CUSTOM_ID, b"")) + 1


def write_input(
    folder: RunFolder, db: Database, shard: int, token: str, provider: BatchProvider, model: Model
) -> DurableFile:
    """The file for one attempt. Runs in a worker thread; a part that a killed process left is written over."""
    reader = db.reader()
    lines: list[bytes] = []
    with RawFiles(folder, paths(reader)) as kept, DurableFile(input_path(folder, token)) as file:
        ahead = ReadAhead(kept)
        for line, _, number, offset, length in bodies(reader, shard):
            lines.append(provider.line(model, custom_id(token, line), ahead.read(number, offset, length)))
            if len(lines) >= _TOGETHER:
                file.write_lines(lines)
        file.write_lines(lines)
    return file
