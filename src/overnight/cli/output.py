"""Standard output: drawn for a terminal, aligned plain text in a pipe, JSON for programs.

A reader that leaves early (`| head`) is no error: from then on nothing is written.
"""

import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import IO

import msgspec
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from overnight.cli.ending import GONE, leave_pipe
from overnight.terminal.plain_text import visible

# A pipe has no width: nothing is cut or wrapped there.
_ENDLESS = 100_000
# Where lines are cut all the same, because the text in them has no end.
_USUAL = 120


class _PlainConsole(Console):
    """Names, ids and a provider's words come from anywhere: whatever picture they are in, they steer no terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            # What moves the cursor on purpose is marked as such.
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console_on(stream: IO[str]) -> Console:
    """A terminal as wide as it is; anything else without colours and without an edge."""
    drawn = is_terminal(stream)
    return _PlainConsole(
        file=stream, highlight=False, markup=False, emoji=False, soft_wrap=False, width=None if drawn else _ENDLESS
    )


def is_terminal(stream: IO[str]) -> bool:
    """Whether the stream can be drawn on."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


class Output:
    """Where a verb's result goes."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What a terminal's character set lacks is spelled out, not an error.
            sys.stdout.reconfigure(errors="backslashreplace")
        self._console = console_on(sys.stdout)
        self.drawn = is_terminal(sys.stdout)
        self.heard = True

    @property
    def width(self) -> int:
        """Of what is cut to fit: a terminal's, or what its user says, or a usual one."""
        return self._console.width if self.drawn else shutil.get_terminal_size((_USUAL, 0)).columns

    def print(self, *pictures: RenderableType) -> None:
        """Each picture on lines of its own. Text with a command in it is not broken into lines: it is to be copied."""
        with self._console.capture() as captured:
            for picture in pictures:
                self._console.print(picture, soft_wrap=_as_it_is(picture))
        text = captured.get()
        self.write(text if self.drawn else "".join(f"{line.rstrip()}\n" for line in text.splitlines()))

    def document(self, value: object) -> None:
        """One JSON document."""
        self.write_bytes(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2) + b"\n")

    def write(self, text: str) -> None:
        self._write(lambda: sys.stdout.write(text))

    def write_bytes(self, data: bytes) -> None:
        """For programs: UTF-8, whatever the terminal's character set is."""
        sys.stdout.flush()
        self._write(lambda: sys.stdout.buffer.write(data))

    def _write(self, write: Callable[[], object]) -> None:
        if not self.heard:
            return
        try:
            write()
            sys.stdout.flush()
        except OSError as error:
            if error.errno not in GONE:
                raise
            self.heard = False
            leave_pipe(sys.stdout)


def _as_it_is(picture: RenderableType) -> bool:
    """Whether lines stay as they are, however long: data, and sentences that name a command."""
    return isinstance(picture, str) or (isinstance(picture, Text) and "overnight " in picture.plain)
