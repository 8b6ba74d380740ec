"""Coverage-guided fuzzing of the vendors' row decoders: whatever the bytes, a Line comes back, and the right one.

    PYTHONPATH=src .venv-fuzz/bin/python fuzz/rows.py anthropic -runs=1000000

The first argument is a vendor's form of lines (openai, anthropic, google), the others are libFuzzer's. A finding ends
the process and is kept as crash-*.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["overnight"]):
    from overnight.core.result import Line
    from overnight.core.shard import line_of
    from overnight.providers.anthropic import rows as _anthropic_rows
    from overnight.providers.google_api import rows as _google_rows
    from overnight.providers.openai_api import rows as _openai_rows

from row_lines import ANTHROPIC_LINES, CUSTOM_ID, GOOGLE_LINES, LINES

Decode = Callable[[bytes], Line]
FORMS: dict[str, tuple[Decode, tuple[bytes, ...]]] = {
    "openai": (_openai_rows.decode, LINES),
    "anthropic": (_anthropic_rows.decode, ANTHROPIC_LINES),
    "google": (_google_rows.decode, GOOGLE_LINES),
}

TOKEN = CUSTOM_ID[1:21]
OUTCOMES = {"answered", "refused", "truncated", "failed"}


def check(decode: Decode, data: bytes) -> Line:
    """Total, the same each time, and never a row that the bytes do not name."""
    line = decode(data)
    if line != decode(data):
        raise AssertionError("another reading of the same bytes")
    if (line.custom_id is None) != (line.result is None):
        raise AssertionError("a result without a row, or a row without a result")
    if line.custom_id is not None:
        _check_join(line, data)
    return line


def _check_join(line: Line, data: bytes) -> None:
    assert line.result is not None
    if line.result.outcome not in OUTCOMES:
        raise AssertionError(f"outcome {line.result.outcome}")
    if (line.result.outcome == "failed") != (line.result.cause is not None) and line.result.outcome == "failed":
        raise AssertionError("a failure without a cause")
    for text in (line.result.answer, line.result.thoughts, line.result.detail, line.custom_id):
        if text is not None:
            text.encode()  # what is kept can be written
    row = line_of(TOKEN, line.custom_id or "")
    # An escaped spelling of the id is another way of writing it; without escapes it must stand in the bytes.
    if row is not None and b"\\" not in data and f"-{row}".encode() not in data:
        raise AssertionError(f"row {row} is not named in the line")


def main() -> None:
    decode, lines = FORMS[sys.argv.pop(1)]
    with tempfile.TemporaryDirectory(prefix="corpus-") as corpus:
        for number, line in enumerate(lines):
            (Path(corpus) / f"{number:03d}").write_bytes(line)
        atheris.Setup([*sys.argv, corpus], partial(check, decode))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
