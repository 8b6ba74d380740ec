"""Raw answers read again with today's parsers: what they say replaces what was noted when they came."""

from collections.abc import Mapping
from itertools import islice

from overnight.core.result import Result
from overnight.ledger.answers import correct_results, paths, raw_results
from overnight.ledger.database import Database
from overnight.ledger.folder import RunFolder
from overnight.ledger.identity import arms
from overnight.ledger.raw import RawFiles
from overnight.tables.results import Decode

_CHUNK = 5_000


def reread(db: Database, folder: RunFolder, decoders: Mapping[str, Decode]) -> int:
    """Decode every raw line on record; returns how many results now say something else."""
    reader = db.reader()
    known = arms(reader)
    changed = 0
    with RawFiles(folder, paths(reader)) as raw:
        rows = raw_results(reader)
        while chunk := list(islice(rows, _CHUNK)):
            corrections: list[tuple[int, int, Result]] = []
            for row in chunk:
                decode = decoders[known[row.arm].model.provider]
                result = decode(raw.read(row.file, row.offset, row.length).strip()).result
                if result is not None and (result.outcome, result.cause) != (row.outcome, row.cause):
                    corrections.append((row.attempt, row.line, result))
            changed += len(corrections)
            if corrections:
                db.write("reread", lambda con, fixes=corrections: correct_results(con, fixes)).result()  # type: ignore[misc]
    return changed
