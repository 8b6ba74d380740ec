"""Settled threads, read from the run's files for what follows from them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Item
from overnight.core.result import Line, Result
from overnight.core.task import Thread
from overnight.ledger.raw import Place, RawFiles
from overnight.ledger.threads import LandedThread
from overnight.ledger.transaction import View
from overnight.store.contract import Store

# Threads whose files are looked up and held open together.
_AT_ONCE = 5_000

Decode = Callable[[bytes], Line]


class Grown(NamedTuple):
    """How many addresses were added, and the outcomes of those among them that share an answer that is here already.

    `more`: something was done, so that there may be more to do.
    """

    addresses: int
    settled: Mapping[str, int]
    more: bool


class ThreadReader:
    """Settled threads with what their turns said, read from the run's files."""

    def __init__(self, files: Store, arms: Mapping[int, Arm], decoders: Mapping[str, Decode]) -> None:
        self._files = files
        self._arms = arms
        self._decoders = decoders

    def read(
        self, view: View, landed: Iterable[LandedThread], *, fields: bool
    ) -> Iterator[tuple[LandedThread, Thread]]:
        """One after another, as they are wanted. `fields`: with those of their items."""
        coming = iter(landed)
        while some := list(islice(coming, _AT_ONCE)):
            places = {place[0] for one in some for place in _places(one)}
            with RawFiles(self._files, view.files.paths(places)) as raw:
                # Threads about one item follow each other: it is read once for all of them.
                last: tuple[Place | None, dict[str, Any]] = None, {}
                for one in some:
                    if fields and one.item_place != last[0]:
                        last = one.item_place, _fields_at(raw, one.item_place)
                    yield one, self._thread(raw, one, last[1])

    def items(self, view: View, stage: int) -> Iterator[Item]:
        """A stage's items in the order in which they came."""
        with RawFiles(self._files, view.files.paths()) as raw:
            for name, fields in view.items.of_stage(raw.read, stage):
                yield Item(name, fields)

    def _thread(self, raw: RawFiles, one: LandedThread, fields: dict[str, Any]) -> Thread:
        arm = self._arms[one.arm]
        decode = self._decoders[arm.model.provider]
        turns = []
        for settled in one.turns:
            told = Result(outcome=settled.outcome, cause=settled.cause)
            turns.append(told if settled.place is None else raw.result(decode, told, *settled.place))
        return Thread(arm=arm, item=Item(one.item, fields), replicate=one.replicate, turns=tuple(turns))


def _fields_at(raw: RawFiles, place: Place | None) -> dict[str, Any]:
    fields: dict[str, Any] = {} if place is None else msgspec.json.decode(raw.read(*place))
    return fields


def _places(one: LandedThread) -> Iterator[Place]:
    if one.item_place is not None:
        yield one.item_place
    for turn in one.turns:
        if turn.place is not None:
            yield turn.place
