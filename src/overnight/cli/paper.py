"""Standard output: drawn for a terminal, aligned plain text in a pipe, JSON for programs.

A reader that leaves early (`| head`) is no error: from then on nothing is written.
"""

import os
import sys
from typing import IO

import msgspec
from rich.console import Console, RenderableType

from overnight.cli.ending import leave_pipe

# A pipe has no width: nothing is cut or wrapped there.
_ENDLESS = 100_000


def console_on(stream: IO[str]) -> Console:
    """A terminal as wide as it is; anything else without colours and without an edge."""
    drawn = is_terminal(stream)
    return Console(
        file=stream, highlight=False, markup=False, emoji=False, soft_wrap=False, width=None if drawn else _ENDLESS
    )


def is_terminal(stream: IO[str]) -> bool:
    """Whether the stream can be drawn on."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


class Paper:
    """Where a verb's result goes."""

    def __init__(self) -> None:
        self._console = console_on(sys.stdout)
        self.drawn = is_terminal(sys.stdout)
        self.heard = True

    @property
    def width(self) -> int:
        return self._console.width if self.drawn else int(os.environ.get("COLUMNS") or 120)

    def print(self, *pictures: RenderableType) -> None:
        """Each picture on lines of its own. Strings are left as they are: they may be copied and pasted."""
        with self._console.capture() as captured:
            for picture in pictures:
                self._console.print(picture, soft_wrap=isinstance(picture, str))
        text = captured.get()
        self.write(text if self.drawn else "".join(f"{line.rstrip()}\n" for line in text.splitlines()))

    def document(self, value: object) -> None:
        """One JSON document."""
        self.write(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2).decode() + "\n")

    def write(self, text: str) -> None:
        if not self.heard:
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            self.heard = False
            leave_pipe(sys.stdout)
