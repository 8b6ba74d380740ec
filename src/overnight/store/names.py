"""Names of a run's files, and what a user can do about one that is damaged."""

import re
from collections.abc import Collection

from overnight.core.errors import LedgerError

# Every file that a ledger names is in one of these.
FILES = ("requests", "items", "outbox", "raw")
# Files of lines that have digests on record, or are made of what has: these files need no hash of their own.
BY_LINE = ("requests", "items", "outbox")
TABLES = "tables"
PARTS = (*FILES, TABLES)
# Which attempts have been sent, written beside the ledger.
SENT = "sent"
# There while the run is called off: any process that works on it sees this and sends no more.
CANCELLED = "cancelled"
# There when the run was brought elsewhere: it says where.
MOVED = "moved"
# A copy of the user's price file, as it was when the study was last sent.
PRICES = "prices.yaml"
# The page that people read; made from the tables and the ledger, at any time.
REPORT = "report.html"
# What ends the name of a file that is not whole yet.
HALF = ".part"
_PART = re.compile(r"[^\x00-\x1f\x7f/\\\ud800-\udfff]{1,255}")
_COPY = (
    "bring it back from a copy of the run, or start a copy that keeps every answer that still fits: "
    "overnight run STUDY --as NAME"
)
_WAYS_OUT = {
    "raw": "bring it back from a copy of the run; `overnight resume RUN` downloads it again where a provider still "
    "keeps it; `overnight run STUDY --reask damaged` asks again for what it held",
    "requests": _COPY,
    "items": _COPY,
    "outbox": "`overnight resume RUN` makes it anew",
    "tables": "`overnight rebuild RUN` makes it anew",
}


def sound(part: str) -> bool:
    """Whether one part of a name can be one of ours."""
    return _PART.fullmatch(part) is not None and set(part) != {"."}


def parts_of(name: str, home: str, folders: Collection[str], files: Collection[str]) -> list[str]:
    """The parts of a name that leads into one of these; all others may be a stranger's, and lead anywhere."""
    parts = name.split("/")
    if not all(map(sound, parts)) or not (parts[0] in folders or name in files):
        raise LedgerError(f"{home}: the ledger names a file outside the run, {name!r}; it is not touched")
    return parts


def top_of(name: str) -> str:
    """The part of the run that a file is in; its own name where it is in none."""
    return name.partition("/")[0]


def way_out(name: str) -> str:
    """What a user can do about a damaged file, by its name in the ledger."""
    return _WAYS_OUT.get(top_of(name), _WAYS_OUT["raw"])
