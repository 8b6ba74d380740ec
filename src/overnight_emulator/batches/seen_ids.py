"""Which ids stood in an input before: told apart exactly, in 16 to 32 bytes for each, however long they are."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from itertools import islice

_SLOTS_AT_FIRST = 1024


class SeenIds:
    """A table of hashes, at most half of it filled; a set of a million ids would take four times as much.

    `again` reads all ids of the input from its start. It is asked only when a hash was met before, which nearly always
    means that the id was; `mark` is what makes a number of an id.
    """

    def __init__(self, again: Callable[[], Iterable[str]], mark: Callable[[str], int] = hash) -> None:
        self.count = 0
        self._again = again
        self._mark = mark
        self._filled = 0
        self._slots = array("q", (0,)) * _SLOTS_AT_FIRST

    def add(self, one: str) -> bool:
        """False when this very id was there before; ids are added in the order in which `again` reads them."""
        mark = self._mark(one) or 1  # zero marks a free slot
        slots = self._slots
        last = len(slots) - 1
        at = mark & last
        while held := slots[at]:
            if held == mark:
                return self._second_look(one)
            at = (at + 1) & last
        slots[at] = mark
        self.count += 1
        self._filled += 1
        if self._filled * 2 > last:
            self._grow()
        return True

    def _second_look(self, one: str) -> bool:
        if one in islice(self._again(), self.count):
            return False
        self.count += 1
        return True

    def _grow(self) -> None:
        wider = array("q", (0,)) * (2 * len(self._slots))
        last = len(wider) - 1
        for mark in filter(None, self._slots):
            at = mark & last
            while wider[at]:
                at = (at + 1) & last
            wider[at] = mark
        self._slots = wider
