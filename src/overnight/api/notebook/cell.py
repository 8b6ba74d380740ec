"""Progress in a notebook's cell: one picture for each run, drawn anew as its rows land."""

import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any

from overnight.api.notebook.html import progress_html
from overnight.engine.progress import Snapshot

# Drawings in a second: more would only fill the notebook's file.
_EVERY = 0.25


class CellProgress:
    """A cell that goes on with a run it has drawn before draws into the same place."""

    # The places of the cell that runs now, by run; another cell has places of its own.
    _cell: int | None = None
    _places: dict[str, Any] = {}  # noqa: RUF012 - of the notebook, not of one picture

    def __init__(self, shell: Any, time_scale: float) -> None:
        self._time_scale = time_scale
        self._drawn_at = 0.0
        self._waiting: Snapshot | None = None
        if CellProgress._cell != shell.execution_count:
            CellProgress._cell, CellProgress._places = shell.execution_count, {}

    def tell(self, snapshot: Snapshot) -> None:
        self._waiting = snapshot
        if time.monotonic() - self._drawn_at >= _EVERY:
            self.end()

    def end(self) -> None:
        """Draw what has not been drawn yet."""
        if self._waiting is not None:
            snapshot, self._waiting = self._waiting, None
            self._drawn_at = time.monotonic()
            with suppress(OSError):  # the notebook is gone; the run does not depend on it
                self._draw(snapshot)

    def _draw(self, snapshot: Snapshot) -> None:
        drawing = import_module("IPython.display")  # there is a notebook, so it is there
        picture = drawing.HTML(progress_html(snapshot, self._time_scale))
        place = self._places.get(snapshot.run)
        if place is None:
            self._places[snapshot.run] = drawing.display(picture, display_id=True)
        else:
            place.update(picture)


def cell_progress(time_scale: float = 1.0) -> CellProgress | None:
    """None where no notebook's cell is running."""
    loaded = sys.modules.get("IPython")
    shell = loaded.get_ipython() if loaded is not None else None
    # A terminal's shell has no cells to draw in.
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return CellProgress(shell, time_scale)
