"""`report`, and the line about it at the end of a run."""

from pathlib import Path
from typing import Annotated

import overnight
from overnight.cli.flags import Flags
from overnight.cli.looking import OneRun
from overnight.terminal.parameters import Parameter


def report(
    run: OneRun,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(alias="-o", help="Write the page to this file; default: report.html in the run.")
    ] = None,
    figures: Annotated[
        Path | None, Parameter(help="Write each figure to this folder as well: NAME.svg and NAME.csv.", metavar="DIR")
    ] = None,
    png: Annotated[bool, Parameter(help="With --figures: NAME.png too (pip install 'overnight[png]').")] = False,
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Draw a run's report: one HTML file, with all that came of it.

    Findings with their uncertainty, figures, what was left out and why, the bill, and every row to search. The file
    needs no network, prints, and reads on a phone. It is drawn from the run's own records; every `run` ends with it.

    Examples:
      overnight report essay-quality
      overnight report essay-quality -o essay-quality.html
      overnight report essay-quality --figures figures --png
    """
    display = flags.display()
    drawn = overnight.report(run, output=output, figures=figures, png=png, emulate=flags.emulate, runs=flags.runs)
    return display.show_report(drawn)
