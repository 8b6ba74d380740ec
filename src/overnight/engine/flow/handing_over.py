"""Rows of one stage as items of a later one: each by itself, or in groups that are as complete as they can get."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec

from overnight.core.ask import Item, Message
from overnight.core.handed_on import HANDED_ON, HandedOn, group_item, handed_on, row_id, row_item, turns_of
from overnight.core.stage import Stage
from overnight.core.task import KeepsParts, Rounds, Thread
from overnight.engine.flow.beside import BesideAnswers
from overnight.engine.flow.threads import ThreadReader
from overnight.ledger.threads import GroupedSlot, LandedThread
from overnight.ledger.transaction import Transaction


class HandedOver(msgspec.Struct, kw_only=True):
    """What a step hands over. The rest is known when all items have been taken."""

    items: Iterator[Item]
    # The last address that was looked at.
    last: int
    # (address, 1) of a row that was taken, (address, 0) of one that is missing in its group.
    marks: list[tuple[int, int]] = []
    # Rows that groups were handed on without; and those that came when their group was gone.
    missing: int = 0
    late: int = 0


class HandOver:
    """What one stage takes of another. Failed rows never are, and stay unmarked: they may be asked again."""

    def __init__(
        self, stage: Stage, source: Stage, reader: ThreadReader, *, whole: bool, beside: BesideAnswers | None = None
    ) -> None:
        """`whole`: rows are kept with all their parts, because another stage takes them from this one.

        `beside`: what goes with each item; an item without it stays behind, unmarked as a failed row does.
        """
        self._beside = beside
        self._stage = stage
        self._source = source
        self._reader = reader
        self._retelling = Retelling(source)
        self._kept = stage.task.kept_fields if isinstance(stage.task, KeepsParts) and not whole else HANDED_ON
        # Questions are rendered again only for those who want to know them.
        self._retold = "conversation" in self._kept or stage.group == "thread"

    def next(self, tx: Transaction, limit: int) -> HandedOver | None:
        """The next `limit` rows that have landed, or the groups that these complete; None when none has."""
        if self._stage.group == "item":
            return self._item_groups(tx, limit)
        landed = tx.threads.landed(self._source.id, self._stage.id, limit)
        if not landed:
            return None
        if self._stage.group == "thread":
            return self._thread_groups(tx, landed)
        return self._single_rows(tx, landed)

    def _single_rows(self, tx: Transaction, landed: Sequence[LandedThread]) -> HandedOver:
        handed = HandedOver(items=iter(()), last=landed[-1].slot, marks=[])
        taken = [one for one in landed if one.turns[-1].outcome in self._stage.take]

        def items() -> Iterator[Item]:
            for one, thread, row in self._rows(tx, taken):
                item = self._joined(tx, row_item(row, thread.item.fields, self._kept))
                if item is not None:
                    handed.marks.append((one.slot, 1))
                    yield item

        handed.items = items()
        return handed

    def _joined(self, tx: Transaction, item: Item) -> Item | None:
        return item if self._beside is None else self._beside.joined(tx, item)

    def _rows(self, tx: Transaction, landed: Iterable[LandedThread]) -> Iterator[tuple[LandedThread, Thread, HandedOn]]:
        for one, thread in self._reader.read(tx, landed, fields=True):
            yield one, thread, self._row(thread)

    def _row(self, thread: Thread) -> HandedOn:
        return handed_on(thread, self._retelling.asked(thread) if self._retold else None)

    def _thread_groups(self, tx: Transaction, landed: Sequence[LandedThread]) -> HandedOver:
        """Each conversation's turns."""
        handed = HandedOver(items=iter(()), last=landed[-1].slot, marks=[])
        take = self._stage.take

        def items() -> Iterator[Item]:
            for one, thread in self._reader.read(tx, landed, fields=True):
                rows = [self._row(part) for part in turns_of(thread) if part.turns[-1].outcome in take]
                if not rows:
                    continue
                if tx.threads.is_item(self._stage.id, row_id(one.item, thread.arm.name, one.replicate)):
                    handed.marks.append((one.slot, 0))
                    handed.late += 1
                    continue
                missing = len(thread.turns) - len(rows)
                item = self._joined(tx, group_item(rows, "thread", missing, thread.item.fields, self._kept))
                if item is None:
                    continue
                handed.marks.append((one.slot, int(one.turns[-1].outcome in take)))
                handed.missing += missing
                yield item

        handed.items = items()
        return handed

    def _item_groups(self, tx: Transaction, limit: int) -> HandedOver | None:
        """All conversations about one item, once the last of them is over."""
        last, slots = tx.threads.grouped(self._source.id, self._stage.id, limit)
        if last is None:
            return None
        found = sort_groups(slots, in_turns=self._source.task.most_turns > 1)
        handed = HandedOver(items=iter(()), last=last, marks=[(slot, 0) for slot in found.late], late=len(found.late))

        threads = tx.threads.of_slots(self._source.id, [slot for group in found.complete for slot in group])
        groups = {item: list(group) for item, group in groupby(threads, attrgetter("item"))}
        take = self._stage.take

        def items() -> Iterator[Item]:
            # All groups are read in one go, so that files are opened once for a step and not for each group.
            rows = self._rows(tx, (one for one in threads if one.turns[-1].outcome in take))
            for name, together in groupby(rows, lambda row: row[0].item):
                group, read = groups[name], list(together)
                missing = len(group) - len(read)
                rows_read, fields = [row for _, _, row in read], read[0][1].item.fields
                whole = group_item(rows_read, "item", missing, fields, self._kept)
                item = self._joined(tx, whole)
                if item is None:
                    continue
                handed.marks += [(one.slot, int(one.turns[-1].outcome in take)) for one in group]
                handed.missing += missing
                yield item

        handed.items = items()
        return handed


class SortedGroups(NamedTuple):
    """The last addresses of the conversations of each complete group; and of those whose group is gone."""

    complete: list[list[int]]
    late: list[int]


def sort_groups(slots: Iterable[GroupedSlot], *, in_turns: bool) -> SortedGroups:
    """Which groups are as complete as they can get: all conversations about the item are over, however they ended.

    `slots` are those of whole groups, by item, conversation and turn.
    """
    complete: list[list[int]] = []
    late: list[int] = []
    for _, together in groupby(slots, attrgetter("item")):
        threads = [list(turns)[-1] for _, turns in groupby(together, attrgetter("arm", "replicate"))]
        over = [one for one in threads if one.settled and (one.ended or not in_turns)]
        if threads[0].gone:
            late += [one.slot for one in over if not one.marked]
        elif len(over) == len(threads):
            complete.append([one.slot for one in threads])
    return SortedGroups(complete, late)


class Retelling:
    """What was asked in a thread, rendered again by its task from the same item and the same answers."""

    def __init__(self, stage: Stage) -> None:
        # Asked once: a protocol is looked up member by member.
        self._task = None if isinstance(stage.task, Rounds) else stage.task
        self._seed = stage.seed
        # The first questions about the item that was looked at last: its replicates follow each other.
        self._item = ""
        self._first: dict[tuple[str, int], tuple[Message, ...]] = {}

    def asked(self, thread: Thread) -> Sequence[Message] | None:
        """The messages that the thread's last turn answers; None where the task cannot tell them from its item."""
        task, before = self._task, thread.turns[:-1]
        if task is None or not thread.item.fields:
            return None
        if before:
            follow = task.follow_up(msgspec.structs.replace(thread, turns=before))
            return follow[0].messages if follow else None
        if self._item != thread.item.id:
            asks = task.start([thread.item], self._seed)
            self._first = {(ask.arm.name, ask.replicate): ask.messages for ask in asks}
            self._item = thread.item.id
        return self._first.get((thread.arm.name, thread.replicate))
