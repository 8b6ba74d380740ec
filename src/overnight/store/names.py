"""Names of a run's files, and what a user can do about one that is damaged."""

# The folders of a run; every file that its ledger names is in one of them.
PARTS = ("requests", "items", "outbox", "raw", "tables")
# What ends the name of a file that is not whole yet.
HALF = ".part"
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


def way_out(relative: str) -> str:
    """What a user can do about a damaged file, by its name in the ledger."""
    return _WAYS_OUT.get(relative.split("/", maxsplit=1)[0], _WAYS_OUT["raw"])
