"""The armed faults: for each event they are tried in order, and the first that fires wins.

How often each was met and fired is part of the state, so that "at most twice" holds across restarts.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from copy import copy

from msgspec.structs import replace

from overnight_emulator.chance import Chance
from overnight_emulator.clock import Clock
from overnight_emulator.faults.kinds import Caller, Counter, Event, Fault, matches
from overnight_emulator.store import Store

# Who makes the call that is under way; nobody, where the emulator acts on its own.
CALLER: ContextVar[Callable[[], Caller]] = ContextVar("caller")


class ArmedFaults:
    """May be asked from several threads."""

    def __init__(self, given: Sequence[Fault], store: Store, chance: Chance, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.now()
        self._given = tuple(given)
        self._store = store
        self._chance = chance
        self._lock = threading.Lock()
        self._faults: tuple[Fault, ...] = ()
        self._counters: list[Counter] = []
        self._row_counters: dict[int, Counter] = {}
        self._by_event: dict[str, list[int]] = {}
        self._arm(*store.armed_faults(given))

    def replace(self, faults: Sequence[Fault]) -> None:
        """Arm another list in place of this one; its counters start at nought."""
        self._arm(faults, [])
        self.save()

    def watches(self, on: str) -> bool:
        return on in self._by_event

    def strike(self, event: Event) -> Fault | None:
        """The fault that fires at this event, if any. What was counted is saved at once."""
        if not self.watches(event.on):
            return None
        caller = CALLER.get(None)
        fault = self._first_that_fires(event if caller is None else replace(event, caller=caller()))
        self.save()
        return fault

    def strike_row(self, event: Event) -> Fault | None:
        """The same for a row: what was counted is saved only when all rows of its batch are done."""
        return self._first_that_fires(event)

    def end_rows(self) -> None:
        with self._lock:
            self._row_counters = {index: copy(self._counters[index]) for index in self._by_event.get("row", ())}

    def save(self) -> None:
        with self._lock:
            counters = [self._row_counters.get(index, counter) for index, counter in enumerate(self._counters)]
        self._store.save_faults(self._given, self._faults, counters)

    def listed(self) -> tuple[Fault, ...]:
        return self._faults

    def fired(self) -> dict[str, int]:
        return {str(index): counter.fired for index, counter in enumerate(self._counters)}

    def _arm(self, faults: Sequence[Fault], counters: Sequence[Counter]) -> None:
        with self._lock:
            self._faults = tuple(faults)
            self._counters = list(counters) or [Counter() for _ in faults]
            self._by_event = {}
            for index, fault in enumerate(self._faults):
                self._by_event.setdefault(fault.on, []).append(index)
        self.end_rows()

    def _first_that_fires(self, event: Event) -> Fault | None:
        now = self._clock.now() - self._began
        with self._lock:
            for index in self._by_event.get(event.on, ()):
                if matches(self._faults[index], event, now) and self._fires(index, event):
                    return self._faults[index]
        return None

    def _fires(self, index: int, event: Event) -> bool:
        fault, counter = self._faults[index], self._counters[index]
        ordinal = counter.seen
        counter.seen += 1
        if ordinal < fault.skip or (fault.times is not None and counter.fired >= fault.times):
            return False
        attempt = ordinal if event.run_before is None else event.run_before
        if fault.odds < 1 and self._chance.share("fault", index, event.on, event.content, attempt) >= fault.odds:
            return False
        now = self._clock.now()
        if fault.lasts is not None and counter.began is not None and now >= counter.began + fault.lasts:
            return False
        counter.began = now if counter.began is None else counter.began
        counter.fired += 1
        return True
