"""Progress on a terminal: a bar over all rows, the open batches, and messages that scroll by above."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from overnight.api.run_words import batch_words, open_batches
from overnight.cli.output import console_on
from overnight.cli.words import outcomes_text, time_left, tokens_text
from overnight.core.clock import duration_text
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.engine.progress import BatchLine, Snapshot
from overnight.prices import dollars
from overnight.terminal.plain_text import one_line, shortened

_MOST_BATCHES = 8
_FRAMES_PER_SECOND = 4
_NARROWEST_BAR = 8
_WIDEST_BAR = 60
_WIDEST_NAME = 24
_WIDEST_ARM = 48
# What stands in a batch's line besides its arm: the shard, the counts, and a few words.
_BESIDE_ARM = 42
# `12h 05m, about 10h 55m left`
_WIDEST_TIMES = 27
# Lines that are not batches: the bar, the counts, trouble, what is left out, and some room above.
_OTHER_LINES = 6


class LivePicture:
    """Redrawn a few times a second, from whatever was told last. It goes when the work ends."""

    def __init__(self, *, time_scale: float = 1.0, verbose: bool = False, console: Console | None = None) -> None:
        self._console = console or console_on(sys.stderr)
        self._time_scale = time_scale
        self._verbose = verbose
        self._began = time.monotonic()
        self._snapshots: dict[str, Snapshot] = {}
        self._arms: dict[str, None] = {}
        self._waiting = Spinner("dots", "getting ready")
        self._lock = threading.Lock()
        self._live = Live(
            console=self._console,
            get_renderable=self.picture,
            refresh_per_second=_FRAMES_PER_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def start(self) -> None:
        self._live.start()

    def stop(self) -> None:
        with suppress(OSError):
            self._live.stop()

    def say(self, text: str) -> None:
        with suppress(OSError):  # the terminal is gone; the run does not depend on it
            self._console.print(one_line(text), style="dim" if text.startswith("shard ") else "")

    def tell(self, snapshot: Snapshot) -> None:
        with self._lock:
            self._snapshots[snapshot.run] = snapshot
            self._arms.update(dict.fromkeys(batch.arm for batch in snapshot.batches))

    def picture(self) -> RenderableType:
        with self._lock:
            snapshots = list(self._snapshots.values())
            names = short_names(list(self._arms))
        if not snapshots:
            return self._waiting
        return Group(*self._lines(snapshots, names))

    def _lines(self, snapshots: list[Snapshot], names: dict[str, str]) -> Iterator[Text]:
        for snapshot in snapshots:
            yield self._bar_line(snapshot)
            yield self._line(Text(f"  {_counts(snapshot, self._console.width - 3)}"))
            if snapshot.trouble:
                yield self._line(Text(f"  {one_line(snapshot.trouble)}", style="yellow"))
        found = open_batches(batch for snapshot in snapshots for batch in snapshot.batches)
        room = max(1, min(_MOST_BATCHES, self._console.height - _OTHER_LINES))
        for batch in found[:room]:
            yield self._line(self._batch_line(batch, names[batch.arm]))
        if len(found) > room:
            yield self._line(Text(f"  and {number_of(len(found) - room, 'more batch', 'more batches')}", style="dim"))

    def _line(self, text: Text) -> Text:
        text.truncate(self._console.width - 1, overflow="ellipsis")
        text.no_wrap = True
        return text

    def _bar_line(self, snapshot: Snapshot) -> Text:
        name = shortened(snapshot.run, _WIDEST_NAME)
        elapsed = duration_text(time.monotonic() - self._began)
        left = time_left(snapshot, self._time_scale)
        done = snapshot.settled + snapshot.ahead
        share = done / snapshot.total if snapshot.total else 1.0
        total = f"{snapshot.total:,}"
        # Every part has a width of its own, so that the bar does not jump.
        numbers = f"{snapshot.settled:>{len(total)},}/{total}  {share:4.0%}  "
        times = f"{elapsed}, {left}" if left else elapsed
        room = self._console.width - len(name) - len(numbers) - _WIDEST_TIMES - 5
        width = max(_NARROWEST_BAR, min(_WIDEST_BAR, room))
        line = Text.assemble((name, "bold"), "  ", bar(snapshot, width), "  ", numbers, (times, "dim"))
        return self._line(line)

    def _batch_line(self, batch: BatchLine, arm: str) -> Text:
        counted = batch.batch_id is not None or batch.live
        counts = f"{batch.completed + batch.failed:,}/{batch.rows:,}" if counted else f"{batch.rows:,} rows"
        words = batch_words(batch)
        style = "yellow" if batch.state in ("stuck", "unsure") or batch.message else "dim"
        beside = _BESIDE_ARM + (len(batch.batch_id or "") if self._verbose else 0)
        room = max(_WIDEST_NAME, min(_WIDEST_ARM, self._console.width - beside))
        line = Text(f"  shard {batch.shard:<4} {shortened(arm, room):<{room}} {counts:>11}  ")
        line.append(words, style=style)
        if self._verbose and batch.batch_id:
            line.append(f"  {batch.batch_id}", style="dim")
        return line


def _counts(snapshot: Snapshot, width: int) -> str:
    """The money first; on a narrow terminal without the tokens."""
    cost = f"{dollars(snapshot.spent)} spent; " if snapshot.spent else ""
    rows = f"{cost}{outcomes_text(snapshot, always=('answered', 'failed'))}"
    whole = f"{rows}; tokens {tokens_text(snapshot.input_tokens, snapshot.output_tokens)}"
    return whole if len(whole) <= width else rows


def bar(snapshot: Snapshot, width: int) -> Text:
    """Answered and failed rows that are here, rows that are done at the provider, and the rest."""
    lengths = _shares(
        [snapshot.settled - snapshot.failed, snapshot.failed, snapshot.ahead, snapshot.pending - snapshot.ahead], width
    )
    styles = ("green", "red", "cyan", "bright_black")
    # Without colours the parts must differ in shape.
    marks = ("━", "━", "╍", "─")
    drawn = [(mark * length, style) for mark, length, style in zip(marks, lengths, styles, strict=True)]
    return Text.assemble(*drawn)


def _shares(counts: list[int], width: int) -> list[int]:
    """The width cut in proportion, to the character."""
    total = sum(counts)
    if total <= 0:
        return [width, *([0] * (len(counts) - 1))]
    edges = [round(sum(counts[:index]) * width / total) for index in range(len(counts) + 1)]
    return [after - before for before, after in pairwise(edges)]
