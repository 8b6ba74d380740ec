"""The command line: `overnight VERB`."""

import sys
from collections.abc import Sequence

from cyclopts import CycloptsError

from overnight.cli.app import build
from overnight.cli.ending import complain_line, exit_code_of, left, terminated_like_interrupted
from overnight.cli.flags import Voice
from overnight.cli.wrong_use import sentence
from overnight.core import heap
from overnight.core.exit_codes import WRONG_USE
from overnight.core.garbage import leave_all, seldom_collected

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the arguments say (those of the process when none are given); the exit code."""
    if argv is None:
        heap.let_polars_give_back()
    # Loading a command makes a hundred thousand objects that stay: to look through them meanwhile finds nothing.
    with seldom_collected():
        code = _done(list(sys.argv[1:] if argv is None else argv))
        if argv is None:
            leave_all()
        return code


def _done(arguments: list[str]) -> int:
    app = build(arguments[0] if arguments else None)
    try:
        command, bound, _ = app.parse_args(arguments, print_error=False, exit_on_error=False)
    except CycloptsError as error:
        complain_line(sentence(error, app))
        return WRONG_USE
    voice = next((value for value in bound.arguments.values() if isinstance(value, Voice)), Voice())
    with terminated_like_interrupted():
        return left(exit_code_of(lambda: command(*bound.args, **bound.kwargs), voice))
