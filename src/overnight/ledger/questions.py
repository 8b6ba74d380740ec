"""Questions on record: the items they come from, their bodies on disk, their addresses, their queue."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, compress, islice

import msgspec

from overnight.core.ask import Arm, Ask, Item, KeyMaker
from overnight.core.errors import StudyChanged
from overnight.core.priority import priority_of
from overnight.ledger.connection import Records
from overnight.ledger.counts import Counts
from overnight.ledger.database import Database, WaitingColumns, found_among
from overnight.ledger.files import Files
from overnight.ledger.identity import Facts, FactsView, Stages
from overnight.ledger.keys import Keys, KeysView
from overnight.ledger.raw import digest_of
from overnight.ledger.threads import Threads
from overnight.store.contract import Store, Writer

# Items or questions that are worked on at once: few enough that long texts take little memory.
_AT_ONCE = 50
_canonical = msgspec.json.Encoder(order="deterministic")


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What one intake added."""

    items: int
    slots: int
    asks: int
    shared: int
    # Outcomes of new addresses whose question was settled before they came: they wait for nothing.
    settled: dict[str, int] = {}


class Intake:
    """Takes a stage's items and questions into the ledger, all in the caller's one transaction.

    Questions already on record are passed over; a known address that now asks something else is refused.
    """

    def __init__(
        self,
        db: Database,
        files: Store,
        stage: tuple[str, str, str],
        arms: Iterable[Arm],
        priority: str | None = None,
    ) -> None:
        self._db = db
        self._priority = priority
        self._files = files
        self._record = Files(db)
        self.stage = Stages(db).keep(*stage)
        self._arms = {arm.name: (Stages(db).keep_arm(self.stage, arm), KeyMaker(arm)) for arm in arms}
        # Items without questions: a task that asks in rounds has not begun the first.
        self._fresh = db.execute("SELECT 1 FROM ask UNION ALL SELECT 1 FROM item LIMIT 1").fetchone() is None
        self._floor, self._slot_floor = (
            int(db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]) for table in ("ask", "slot")
        )
        self._last_ask = self._floor
        # Items that came, known ones included.
        self.seen = 0
        # The digests of new ones that are still to be written.
        self._waiting_items: dict[str, bytes] = {}
        self._new_items = WaitingColumns(
            db, "item", ("item_id", "stage", "file", '"offset"', "length", "digest", "priority")
        )
        self._new_asks = WaitingColumns(db, "ask", ("id", "arm", "key", "file", '"offset"', "length", "digest"))
        self._new_slots = WaitingColumns(db, "slot", ("ask", "arm", "item", "replicate", "turn", "round"))

    def items(self, source: Iterable[Item]) -> Iterator[Item]:
        """Pass the items through, keeping a copy of each new one."""
        with self._record.new(self._files, "items") as (number, file, marks):
            coming = iter(source)
            while some := list(islice(coming, _AT_ONCE)):
                self.seen += len(some)
                marks.add(self._keep_items(some, file, number))
                yield from some
        self._new_items.flush()

    def _keep_items(self, items: Sequence[Item], file: Writer, number: int) -> list[bytes]:
        """Those that are new; returns their digests."""
        known = {} if self._fresh else self._known_items(items)
        texts = [_canonical.encode(item.fields) for item in items]
        digests = list(map(digest_of, texts))
        if known:
            new = [not _is_same_item(item, digest, known) for item, digest in zip(items, digests, strict=True)]
            items, texts, digests = list(compress(items, new)), list(compress(texts, new)), list(compress(digests, new))
        column = self._priority
        urgencies = [0.0 if column is None else priority_of(item.fields.get(column)) or 0.0 for item in items]
        count = len(texts)
        names, written = [item.id for item in items], self._new_items.rows
        self._new_items.add(
            names,
            [self.stage] * count,
            [number] * count,
            *_places(file.size, texts),
            list(map(bytearray, digests)),
            urgencies,
        )
        file.write_lines(texts)
        if not self._fresh:
            if self._new_items.rows > written:
                self._waiting_items.clear()
            self._waiting_items.update(zip(names, digests, strict=True))
        return digests

    def _known_items(self, items: Sequence[Item]) -> dict[str, bytes]:
        """The digests of those of these items that are on record, or came just before."""
        query = "SELECT item_id, digest FROM item WHERE stage=? AND item_id IN ({})"
        known: dict[str, bytes] = dict(found_among(self._db, query, (item.id for item in items), self.stage))
        waiting = self._waiting_items
        return known | {item.id: waiting[item.id] for item in items if item.id in waiting}

    def asks(
        self,
        asks: Iterable[Ask],
        encode: Callable[[Ask], bytes],
        *,
        shared: bool,
        follow: bool = False,
        round_n: int = 0,
    ) -> Taken:
        """Write bodies and addresses, share what is the same question, and queue the rest.

        `follow`: they follow from answers, so a few of them may wait for siblings.
        """
        try:
            with self._record.new(self._files, "requests") as (number, file, marks):
                coming = iter(asks)
                while some := list(islice(coming, _AT_ONCE)):
                    marks.add(self._keep_asks(some, encode, file, number, shared=shared, round_n=round_n))
            self._new_asks.flush()
            self._new_slots.flush()
        except self._db.conflict as error:  # the ids of a table are known to be unique before it is taken in
            raise StudyChanged("an item came twice: its table was changed while it was read; run it again") from error
        build_indexes(self._db)
        twins = Keys(self._db).share_twins(self._floor, self._last_ask)
        if twins:
            Threads(self._db).land_new(self._slot_floor)
        new = self._db.execute(
            "INSERT INTO queue SELECT id, 0, ? FROM ask WHERE id > ?", (int(follow), self._floor)
        ).rowcount
        if twins:
            Facts(self._db).keep("shared", str(int(FactsView(self._db).get("shared") or "0") + twins))
        Counts(self._db).asked(self._slot_floor)
        settled = self._settled_at_once() if twins else {}
        return Taken(items=self._new_items.rows, slots=self._new_slots.rows, asks=new, shared=twins, settled=settled)

    def _settled_at_once(self) -> dict[str, int]:
        return dict(
            self._db.execute(
                "SELECT result.outcome, count(*) FROM slot JOIN settled ON settled.ask=slot.ask "
                "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
                "WHERE slot.id > ? GROUP BY result.outcome",
                (self._slot_floor,),
            )
        )

    def _keep_asks(
        self,
        asks: Sequence[Ask],
        encode: Callable[[Ask], bytes],
        file: Writer,
        number: int,
        *,
        shared: bool,
        round_n: int,
    ) -> list[bytes]:
        """Those that are new; returns the digests of their bodies."""
        arms = self._arms
        known = {} if self._fresh else self._known_slots(asks)
        new: list[Ask] = []
        numbers: list[int] = []
        # sqlite3 takes a bytearray as it is, but looks for a way to adapt bytes at every single one.
        keys: list[bytearray] = []
        bodies: list[bytes] = []
        for ask in asks:
            arm, maker = arms[ask.arm.name]
            key = maker.key(ask, shared=shared)
            if known and _is_same_ask(ask, key, known.get((arm, ask.item, ask.replicate, ask.turn))):
                continue
            new.append(ask)
            numbers.append(arm)
            keys.append(bytearray(key))
            bodies.append(encode(ask))
        digests = list(map(digest_of, bodies))
        count = len(new)
        ids = range(self._last_ask + 1, self._last_ask + 1 + count)
        self._last_ask += count
        self._new_asks.add(
            ids,
            numbers,
            keys,
            [number] * count,
            *_places(file.size, bodies),
            list(map(bytearray, digests)),
        )
        self._new_slots.add(
            ids,
            numbers,
            [ask.item for ask in new],
            [ask.replicate for ask in new],
            [ask.turn for ask in new],
            [round_n] * count,
        )
        file.write_lines(bodies)
        return digests

    def _known_slots(self, asks: Sequence[Ask]) -> dict[tuple[int, str, int, int], bytes]:
        """The keys on record of all addresses about these items."""
        query = (
            "SELECT slot.arm, slot.item, slot.replicate, slot.turn, ask.key FROM slot JOIN ask ON ask.id=slot.ask "
            "WHERE slot.arm=? AND slot.item IN ({})"
        )
        items: dict[int, set[str]] = {}
        for ask in asks:
            items.setdefault(self._arms[ask.arm.name][0], set()).add(ask.item)
        return {
            (slot[0], slot[1], slot[2], slot[3]): key
            for arm, some in items.items()
            for *slot, key in found_among(self._db, query, some, arm)
        }


def _places(begin: int, lines: Sequence[bytes]) -> tuple[list[int], list[int]]:
    """The offset of each line in a file that has come so far, and its length."""
    lengths = list(map(len, lines))
    return list(accumulate((length + 1 for length in lengths[:-1]), initial=begin))[: len(lines)], lengths


def build_indexes(db: Database) -> None:
    """After questions came by the thousand: while they come, each would be looked up for nothing."""
    db.execute("CREATE UNIQUE INDEX IF NOT EXISTS slot_address ON slot(arm, item, replicate, turn)")
    db.execute("CREATE INDEX IF NOT EXISTS slot_ask ON slot(ask)")


def _is_same_item(item: Item, digest: bytes, known: Mapping[str, bytes]) -> bool:
    """Whether the item is on record; StudyChanged where another one of its id is."""
    before = known.get(item.id)
    if before is not None and before != digest:
        message = (
            f"items: '{item.id}' is not what it was when the run began; put it back, give it a new id, "
            "or start a copy with --as NAME"
        )
        raise StudyChanged(message)
    return before is not None


def _is_same_ask(ask: Ask, key: bytes, before: bytes | None) -> bool:
    """Whether the address is on record; StudyChanged where it asked something else."""
    if before is not None and before != key:
        message = (
            f"item '{ask.item}' in arm {ask.arm.name} now asks something else than it did when the run began; "
            "start a copy with --as NAME"
        )
        raise StudyChanged(message)
    return before is not None


class QuestionsView(Records):
    """Items and addresses, to compare a study with."""

    def removed_items(self, stage: str, present: int) -> int:
        """How many items on record were not among those just read."""
        row = self._db.execute(
            "SELECT count(*) FROM item JOIN stage ON stage.id=item.stage WHERE stage.name=?", (stage,)
        ).fetchone()
        return max(0, int(row[0]) - present)

    def rows_by_arm(self, stage: str) -> dict[str, int]:
        """How many addresses each arm of a stage has on record."""
        return dict(
            self._db.execute(
                "SELECT arm.name, count(*) FROM slot JOIN arm ON arm.id=slot.arm JOIN stage ON stage.id=arm.stage "
                "WHERE stage.name=? GROUP BY arm.name",
                (stage,),
            )
        )

    def known_addresses(self, stage: str, items: Iterable[str]) -> Iterator[tuple[str, str, int, int]]:
        """(arm, item, replicate, turn) of everything that a stage has on record of these items."""
        query = (
            "SELECT arm.name, slot.item, slot.replicate, slot.turn FROM stage CROSS JOIN arm ON arm.stage=stage.id "
            "CROSS JOIN slot ON slot.arm=arm.id WHERE stage.name=? AND slot.item IN ({})"
        )
        return found_among(self._db, query, items, stage)

    def known_keys(self, stage: str, keys: Iterable[bytes]) -> Iterator[tuple[str, bytes]]:
        """Those of these keys that are of first questions of a stage, with the arms that have asked them."""
        query = (
            "SELECT arm.name, slot.ask FROM slot CROSS JOIN arm ON arm.id=slot.arm "
            "CROSS JOIN stage ON stage.id=arm.stage WHERE stage.name=? AND slot.turn=0 AND slot.ask IN ({})"
        )
        asked = {ask: key for key, ask in KeysView(self._db).asks(keys)}
        return ((arm, asked[ask]) for arm, ask in found_among(self._db, query, asked, stage))
