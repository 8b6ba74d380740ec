"""`serve`: the dashboard."""

from typing import Annotated

import overnight
from overnight.cli.flags import Flags
from overnight.terminal.parameters import Parameter


def serve(
    *,
    port: Annotated[int, Parameter(help="Listen on this port of 127.0.0.1; 0 picks a free one. Default: 8780.")] = 8780,
    open_browser: Annotated[
        bool | None,
        Parameter(
            name="--open",
            negative="--no-open",
            help="Open the page in a browser; default: when there is a screen and a terminal.",
        ),
    ] = None,
    keep: Annotated[
        bool, Parameter(help="Also work on every open run that nobody works on: others may submit, and sleep.")
    ] = False,
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Look at runs in a browser of this machine, live.

    Progress, money, troubles, every row, answers side by side. Only who has the token in the printed address can look.
    It reads what is on record; resume and cancel are done when you have said so twice. Ctrl-C ends it.

    Examples:
      overnight serve
      overnight serve --emulate
      overnight serve --runs /data/runs --port 0 --no-open
      overnight serve --keep --runs 'postgresql://db.lab/overnight?files=s3://lab/runs'
    """
    display = flags.display()

    said: list[str] = []

    def say(line: str) -> None:
        """The address comes first; then what becomes of runs that are taken up."""
        if said:
            display.say(line)
        else:
            display.show({"address": line.rpartition(" ")[2]}, line)
        said.append(line)

    overnight.serve(runs=flags.runs, port=port, open_browser=open_browser, keep=keep, emulate=flags.emulate, say=say)
    return 0
