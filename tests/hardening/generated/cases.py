"""One case: a folder is arranged, a command is typed, and how it ended is judged."""

from __future__ import annotations

import os
import re
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from overnight.cli import main

ENDINGS = (0, 2, 3, 4, 5, 130)
LONGEST_LINE = 3_000


class Case(NamedTuple):
    """`name` brings the same case back; `arrange` spoils the folder that the command is typed in."""

    name: str
    arrange: Callable[[Path], None]
    arguments: tuple[str, ...]


def finding(case: Case, folder: Path) -> str | None:
    """What is wrong with how the command ended; None for an answer, or for one clear line and its exit code."""
    with inside(folder):
        case.arrange(folder)
        try:
            code, told = done(case.arguments)
        except (Exception, SystemExit):  # noqa: BLE001 - this is what is looked for
            return f"{case.name}: {' '.join(case.arguments)[:200]}: {traceback.format_exc().strip()[-700:]}"
    problem = judged(code, told, asked=any(argument.startswith(("-v", "--verbose")) for argument in case.arguments))
    return None if problem is None else f"{case.name}: {' '.join(case.arguments)[:200]}: {problem}"


def done(arguments: tuple[str, ...]) -> tuple[int, str]:
    """Typed; or called from Python, or looked at in a browser, where that is what the words say."""
    # Imported late: only run folders are met in these ways.
    from hardening.generated import folder_verbs, paid_rows, python_calls

    match arguments:
        case ("paid", verb):
            return paid_rows.bought_again(verb)
        case ("call", name):
            return python_calls.called(name)
        case ("python", name):
            return folder_verbs.called(name)
        case ("serve",):
            return folder_verbs.looked_at()
    return typed(arguments)


def typed(arguments: tuple[str, ...]) -> tuple[int, str]:
    """The exit code, and what was said on stderr."""
    with (
        tempfile.TemporaryFile("w+", errors="backslashreplace") as out,
        tempfile.TemporaryFile("w+", errors="replace") as err,
    ):
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(arguments))
        err.seek(0)
        return code, err.read()


def judged(code: int, told: str, *, asked: bool = False) -> str | None:
    """`asked`: who types -v wants to see where a complaint comes from."""
    complaints = [line for line in told.splitlines() if line.startswith("overnight: ")]
    if "Traceback" in told and not (asked and complaints):
        return f"a traceback: {told[-500:]}"
    if code not in ENDINGS:
        return f"exit code {code}: {told[-500:]}"
    if any(re.search(r"\[Errno|a fault of Overnight's own", line) for line in complaints):
        return f"not in our words: {complaints[-1][:300]}"
    if code == 2 and not complaints:
        return f"exit code 2 without a word: {told[-300:]}"
    if any(len(line) > LONGEST_LINE for line in complaints):
        return f"a line of {max(map(len, complaints))} characters: {complaints[-1][:200]}"
    return None


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
