"""docs/commands.md, written from the commands themselves: `python -m overnight.cli.reference > docs/commands.md`."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

from cyclopts import App
from rich.console import Console

from overnight.cli.app import build
from overnight.settings import VARIABLES

COLUMNS = 80

_TITLE = """\
# Commands

What can be typed, word for word as `--help` shows it. This page is written from the code.

Every command that shows something prints one JSON document instead with `--json`: that and nothing else is on
stdout, while progress and messages go to stderr. On a terminal progress is drawn; elsewhere it is one line at a
time with the time in UTC.

## Exit codes

| code | means |
|---|---|
| 0 | done |
| 1 | a fault of Overnight's own |
| 2 | wrong use, or something is wrong with the study, a file or the run's folder |
| 3 | the run is done, but rows failed for good; or `verify` found something |
| 4 | the provider or the network; or time is up and the batches go on |
| 5 | the rest would pass the budget |
| 130 | stopped by the user (Ctrl-C or SIGTERM) |
"""


def page() -> str:
    """The whole page."""
    app = build()
    return "\n".join((_TITLE, _variables(), "## overnight\n", _block(help_text(app, [])), *_sections(app)))


def _variables() -> str:
    rows = "\n".join(f"| `{name}` | {meaning} |" for name, meaning in VARIABLES.items())
    where = "Keys may also be in `.env` in the working folder; these may not."
    return f"## Environment\n\n{where}\n\n| variable | means |\n|---|---|\n{rows}\n"


def _sections(app: App) -> Iterator[str]:
    for name in app:
        if not name.startswith("-"):
            text = emulator_help() if name == "emulator" else help_text(app, [name])
            yield f"## overnight {name}\n"
            yield _block(text)


def _block(text: str) -> str:
    return f"```text\n{text}\n```\n"


def help_text(app: App, tokens: list[str]) -> str:
    """A help page as a terminal of 80 columns shows it, without its colours."""
    output = io.StringIO()
    app.help_print(tokens, console=Console(file=output, width=COLUMNS, no_color=True, highlight=False))
    return tidied(output.getvalue())


def emulator_help() -> str:
    """The emulator's own: it has a parser of its own."""
    output = io.StringIO()
    with _columns(COLUMNS), redirect_stdout(output), suppress(SystemExit):
        build()(["emulator", "--help"], exit_on_error=False, result_action="return_value")
    return tidied(output.getvalue())


@contextmanager
def _columns(number: int) -> Iterator[None]:
    """argparse looks for the width here."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(number)
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before


def tidied(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


if __name__ == "__main__":
    sys.stdout.write(page())
