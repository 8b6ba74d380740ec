"""A terminal for tests: a program runs on a pseudo-terminal, and what it draws is kept as a screen."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_CONTROL = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """Lines as they stand after everything that was written: moves up, erased lines and overwriting included."""

    def __init__(self) -> None:
        self.lines: list[str] = [""]
        self._row = 0
        self._column = 0

    def feed(self, text: str) -> None:
        place = 0
        while place < len(text):
            control = _CONTROL.match(text, place)
            if control:
                self._control(control[1], control[2])
                place = control.end()
            else:
                self._character(text[place])
                place += 1

    def _control(self, numbers: str, letter: str) -> None:
        if letter == "A":
            self._row = max(0, self._row - int(numbers or 1))
        elif letter == "K":
            self.lines[self._row] = ""

    def _character(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            if self._row == len(self.lines):
                self.lines.append("")
        else:
            line = self.lines[self._row].ljust(self._column)
            self.lines[self._row] = line[: self._column] + character + line[self._column + 1 :]
            self._column += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip()


class Terminal:
    """Run a command on a terminal of so many columns; `frames` are all the screens that were to be seen."""

    def __init__(
        self, command: Sequence[str], *, columns: int, cwd: Path, env: Mapping[str, str], seconds: float = 60
    ) -> None:
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        environment = {**env, "TERM": "xterm-256color"}
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        self.screen = Screen()
        self.frames: list[str] = []
        self._read(ours, time.monotonic() + seconds)
        os.close(ours)
        self.code = process.wait(10)

    def _read(self, stream: int, deadline: float) -> None:
        while time.monotonic() < deadline:
            if not select.select([stream], [], [], 0.2)[0]:
                continue
            try:
                data = os.read(stream, 1 << 16)
            except OSError:  # the other side is closed
                return
            if not data:
                return
            # A frame ends where the next begins to erase it.
            for part in re.split(r"(?=\r\x1b\[2K)", data.decode(errors="replace")):
                self.screen.feed(part)
                self.frames.append(self.screen.text)
