"""`watch`: a run's records, looked at again and again beside the process that works on it."""

import sys
import time
from collections.abc import Callable, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from overnight.api import RunStatus
from overnight.api.run_words import batches, is_open, open_batches, state_words
from overnight.cli.log_lines import LogLines
from overnight.cli.output import console_on, is_terminal
from overnight.cli.status_pictures import nobody_text, one_run, overview
from overnight.core.wording import number_of

Look = Callable[[], Sequence[RunStatus]]


def follow(
    look: Look, interval: float, *, quiet: bool, every_arm: bool, typed: Callable[[str], str]
) -> list[RunStatus]:
    """Until nothing is open any more; what was seen last. Drawn on a terminal, else a line for each change.

    `typed` puts our advice as it has to be typed here.
    """
    if quiet:
        return _until_finished(look, interval, lambda _: None)
    if is_terminal(sys.stderr):
        console = console_on(sys.stderr)
        with Live(console=console, transient=True, auto_refresh=False) as live:

            def draw(found: Sequence[RunStatus]) -> None:
                live.update(_picture(found, console, every_arm=every_arm, typed=typed), refresh=True)

            return _until_finished(look, interval, draw)
    return _until_finished(look, interval, _Changes(typed).tell)


def _until_finished(look: Look, interval: float, tell: Callable[[Sequence[RunStatus]], None]) -> list[RunStatus]:
    while True:
        found = list(look())
        tell(found)
        if not any(is_open(run) for run in found):
            return found
        time.sleep(interval)


def _picture(
    found: Sequence[RunStatus], console: Console, *, every_arm: bool, typed: Callable[[str], str]
) -> RenderableType:
    if len(found) == 1 and found[0].trouble is None:
        run = found[0]
        advice = [typed(nobody_text(run))] if left_alone(run) else []
        return one_run(run, advice, console.width, every_arm=every_arm, height=console.height)
    alone = [Text(typed(f"{run.run}: {nobody_text(run)}"), style="yellow") for run in found if left_alone(run)]
    return Group(overview(found), *alone)


class _Changes:
    """A log line for every run that is not as it was at the last look."""

    def __init__(self, typed: Callable[[str], str]) -> None:
        self._lines = LogLines()
        self._typed = typed
        self._told: dict[str, str] = {}

    def tell(self, found: Sequence[RunStatus]) -> None:
        for run in found:
            text = change_text(run)
            if self._told.get(run.run) != text:
                self._told[run.run] = text
                self._lines.say(f"{run.run}: {self._typed(text)}")


def change_text(run: RunStatus) -> str:
    """`120/300 settled, 2 failed, 3 batches open (80 rows done there)`."""
    total = run.total("rows")
    found = open_batches(run.batches)
    ahead = sum(batch.completed + batch.failed for batch in found if batch.state == "running")
    parts = [f"{total - run.total('pending'):,}/{total:,} settled"]
    if run.total("failed"):
        parts.append(f"{run.total('failed'):,} failed")
    if found:
        parts.append(f"{batches(len(found))} open" + (f" ({number_of(ahead, 'row')} done there)" if ahead else ""))
    else:
        parts.append(state_words(run))
    if left_alone(run):
        parts.append(nobody_text(run))
    return ", ".join(parts)


def left_alone(run: RunStatus) -> bool:
    """Whether it waits for a person, since nobody works on it."""
    return is_open(run) and not run.worked_on
