"""How often the collector of cycles looks, while rows go by in their millions.

Rows are plain values without cycles, freed the moment they are done with; but their number alone makes the collector
look through everything alive, again and again, for a fifth of all time.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# New objects between two looks: more than a command loads, which all stays, and no more than some megabytes of others.
_BETWEEN = 200_000


@contextmanager
def seldom_collected() -> Iterator[None]:
    """For as long as this lasts, look seldom; then as often as before."""
    often, *older = gc.get_threshold()
    gc.set_threshold(max(often, _BETWEEN) if often else 0, *older)
    try:
        yield
    finally:
        gc.set_threshold(often, *older)


def leave_all() -> None:
    """Before a process ends: nothing is looked through any more, since all of it goes with the process."""
    gc.freeze()
