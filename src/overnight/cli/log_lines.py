"""Progress where nobody draws: one line at a time, with the time in UTC."""

import sys
import threading
import time
from collections.abc import Callable
from typing import IO

import msgspec

from overnight.api.run_words import batch_words
from overnight.cli.words import progress_text
from overnight.core.clock import time_text
from overnight.core.names import short_names
from overnight.core.wording import number_of
from overnight.engine.progress import Snapshot
from overnight.terminal.plain_text import one_line

# Counts are told at most this often; a rehearsal is over sooner.
_EVERY = 30.0
_EVERY_IN_REHEARSAL = 10.0


class LogLines:
    """Messages at once; counts when they changed, now and then. A stream that breaks is left alone."""

    def __init__(
        self,
        stream: IO[str] | None = None,
        *,
        time_scale: float = 1.0,
        verbose: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stderr
        self._time_scale = time_scale
        self._verbose = verbose
        self._monotonic = monotonic
        self._every = _EVERY if time_scale == 1.0 else _EVERY_IN_REHEARSAL
        self._told: dict[str, tuple[str, float]] = {}
        self._troubled: dict[str, bool] = {}
        self._batches: dict[tuple[str, int, int], str] = {}
        self._lock = threading.Lock()
        self._broken = False

    def start(self) -> None:
        """Nothing to set up."""

    def stop(self) -> None:
        """Nothing to take down."""

    def say(self, text: str) -> None:
        with self._lock:
            if self._broken:
                return
            try:
                self._stream.write(f"{time_text(time.time())} {one_line(text)}\n")
                self._stream.flush()
            except OSError:
                # Nobody reads any more; the run does not depend on it.
                self._broken = True

    def tell(self, snapshot: Snapshot) -> None:
        if self._verbose:
            self._tell_batches(snapshot)
        text = progress_text(snapshot, self._time_scale)
        # Without the guess at the time left, which changes while nothing happens.
        counts = progress_text(msgspec.structs.replace(snapshot, seconds_left=None), self._time_scale)
        before, at = self._told.get(snapshot.run, ("", float("-inf")))
        now = self._monotonic()
        soon = self._turned(snapshot)
        if counts == before or (now - at < self._every and not soon):
            return
        self._told[snapshot.run] = (counts, now)
        several = len(self._told) > 1
        self.say(f"{snapshot.run}: {text}" if several else text)

    def _turned(self, snapshot: Snapshot) -> bool:
        """Whether trouble has just begun or ended: that does not wait."""
        before = self._troubled.get(snapshot.run, False)
        self._troubled[snapshot.run] = snapshot.trouble is not None
        return before != self._troubled[snapshot.run]

    def _tell_batches(self, snapshot: Snapshot) -> None:
        names = short_names([batch.arm for batch in snapshot.batches])
        for batch in snapshot.batches:
            place = (snapshot.run, batch.shard, batch.attempt)
            words = batch_words(batch)
            if self._batches.get(place) != words:
                self._batches[place] = words
                which = f" as {batch.batch_id}" if batch.batch_id else ""
                rows = number_of(batch.rows, "row")
                self.say(f"shard {batch.shard} ({names[batch.arm]}, {rows}): {words}{which}")
