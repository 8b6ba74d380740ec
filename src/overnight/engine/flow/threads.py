"""Settled threads, read from the run's files for what follows from them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice, repeat
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from overnight.core.ask import Arm, Item
from overnight.core.result import Line, Result
from overnight.core.task import Thread
from overnight.ledger.raw import Place, RawFiles, ReadAhead
from overnight.ledger.threads import LandedThread
from overnight.ledger.transaction import View
from overnight.store.contract import Store

# Threads whose files are looked up and held open together; and those whose lines are read together, few enough that
# long texts take little memory.
_AT_ONCE = 5_000
_TOGETHER = 50

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
                # Items lie in one file and answers in another, each in about this order.
                items, answers = ReadAhead(raw), ReadAhead(raw)
                for start in range(0, len(some), _TOGETHER):
                    together = some[start : start + _TOGETHER]
                    told = _fields(items, together) if fields else repeat({})
                    yield from zip(together, self._threads(answers, together, told), strict=True)

    def items(self, view: View, stage: int) -> Iterator[Item]:
        """A stage's items in the order in which they came."""
        with RawFiles(self._files, view.files.paths()) as raw:
            for name, fields in view.items.of_stage(raw.read, stage):
                yield Item(name, fields)

    def _threads(
        self, raw: ReadAhead, together: Sequence[LandedThread], fields: Iterable[dict[str, Any]]
    ) -> Iterator[Thread]:
        places = [turn.place for one in together for turn in one.turns if turn.place is not None]
        lines = zip(places, raw.read_all(places), strict=True)
        for one, told in zip(together, fields, strict=False):
            arm = self._arms[one.arm]
            decode = self._decoders[arm.model.provider]
            turns: list[Result] = []
            for turn in one.turns:
                result = Result(outcome=turn.outcome, cause=turn.cause)
                turns.append(result if turn.place is None else raw.result(decode, result, *next(lines)))
            yield Thread(arm=arm, item=Item(one.item, told), replicate=one.replicate, turns=tuple(turns))


def _fields(raw: ReadAhead, together: Sequence[LandedThread]) -> Iterator[dict[str, Any]]:
    """Of the item of each. Threads about one item follow each other: it is read once for all of them."""
    places = [place for place, _ in groupby(one.item_place for one in together)]
    lines = iter(raw.read_all(place for place in places if place is not None))
    for place, about in groupby(together, attrgetter("item_place")):
        told: dict[str, Any] = {} if place is None else msgspec.json.decode(next(lines))
        for _ in about:
            yield told


def _places(one: LandedThread) -> Iterator[Place]:
    if one.item_place is not None:
        yield one.item_place
    for turn in one.turns:
        if turn.place is not None:
            yield turn.place
