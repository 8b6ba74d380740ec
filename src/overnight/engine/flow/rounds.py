"""Rounds: each is chosen by what all rounds before it have shown, and committed as a whole."""

import hashlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import Any, Protocol
from weakref import finalize

import msgspec

from overnight.core.ask import Ask
from overnight.core.errors import LedgerError
from overnight.core.stage import Stage
from overnight.core.task import Rounds, Row, alike_in
from overnight.engine.flow.threads import Grown, ThreadReader
from overnight.ledger.rounds import Round
from overnight.ledger.transaction import Transaction, View

# Rows that are kept in memory before they go to a file of their own, in bytes; and how many are written together.
_IN_MEMORY = 16 << 20
_TOGETHER = 1_000


class Take(Protocol):
    def __call__(self, tx: Transaction, stage: Stage, asks: Iterable[Ask], round_n: int) -> Grown: ...


class RoundFlow:
    """The rounds of one stage."""

    def __init__(self, stage: Stage, task: Rounds, reader: ThreadReader, take: Take) -> None:
        self._stage = stage
        self._task = task
        self._alike = alike_in(task)
        self._reader = reader
        self._take = take
        self._rows = _Rows()
        self._look_again = False

    def advance(self, tx: Transaction, at: float, *, afresh: bool) -> Grown | None:
        """Close the round whose answers are all there, or whose time is up, and open the next; None if neither."""
        try:
            return self._advanced(tx, at, afresh=afresh)
        except BaseException:
            self._rows = _Rows()  # what was read for a round that did not close is read again
            raise

    def _advanced(self, tx: Transaction, at: float, *, afresh: bool) -> Grown | None:
        last = tx.rounds.last(self._stage.id)
        if last is None:
            return self._open(tx, 0, at)
        if last.asks == 0:
            # The task had nothing more to ask. When a pass begins, there may be more items than then; and rows that
            # are asked again decide with the others, so that these are waited for.
            self._look_again = self._look_again or afresh
            if not self._look_again or not tx.threads.stage_is_quiet(self._stage.id):
                return None
            self._look_again = False
            return self._open(tx, last.n, at)
        if not last.closed and not self._closed(tx, last, at):
            return None
        return self._open(tx, last.n + 1, at)

    def rows(self, tx: Transaction) -> Iterator[Row]:
        """Those of all closed rounds as they are now, with what was asked again since."""
        for one in tx.rounds.everything(self._stage.id):
            if one.closed:
                yield from self._read(tx, one.n)

    def deadline(self, view: View) -> float | None:
        """When the open round must close."""
        last = view.rounds.last(self._stage.id)
        if last is None or last.closed or not last.asks or self._stage.round_deadline is None:
            return None
        return last.opened_at + self._stage.round_deadline

    def _open(self, tx: Transaction, n: int, at: float) -> Grown | None:
        stage = self._stage
        if tx.rounds.has_strays(stage.id):
            # Their answers would be nobody's, and one round after another would ask the same for ever.
            raise LedgerError(
                f"stage '{stage.name}': slot.round names rounds that are not on record; bring ledger.db back from a "
                "copy of the run; `overnight verify` tells more"
            )
        self._read_up_to(tx, n - 1)
        items = self._reader.items(tx, stage.id)
        asks = _Counted(self._task.next_round(n, items, iter(self._rows), round_seed(stage.seed, stage.name, n)))
        first = next(asks, None)
        grown = None if first is None else self._take(tx, stage, chain([first], asks), n)
        known = tx.rounds.last(stage.id)
        if known is not None and known.n == n and grown is None:
            return None  # as it was
        tx.rounds.open(stage.id, n, asks.count, at)
        data = {"stage": stage.name, "round": n, "asks": asks.count}
        tx.attempts.note(at, "round", msgspec.json.encode(data).decode())
        return grown or Grown(0, {}, more=True)

    def _closed(self, tx: Transaction, last: Round, at: float) -> bool:
        """What the round is judged by is fixed here: answers that come later are kept, but not used."""
        stage, n = self._stage, last.n
        due = self.deadline(tx)
        overdue = due is not None and at >= due
        if not overdue and not tx.rounds.is_settled(stage.id, n):
            return False
        late = tx.rounds.unsettled(stage.id, n)
        tx.rounds.close(stage.id, n, late, at)
        self._read_up_to(tx, n)
        tx.rounds.set_digest(stage.id, n, self._rows.digest)
        if late:
            data = {"stage": stage.name, "round": n, "left_out": len(late)}
            tx.attempts.note(at, "deadline", msgspec.json.encode(data).decode())
        return True

    def _read_up_to(self, tx: Transaction, n: int) -> None:
        """Answers are decoded once: those of a round when it closes, those of rounds before this process at once."""
        for before in range(self._rows.rounds, n + 1):
            self._rows.add(self._read(tx, before))

    def _read(self, tx: Transaction, n: int) -> Iterator[Row]:
        """A closed round's rows, in the tables' order."""
        task = self._task
        for one, thread in self._reader.read(tx, tx.rounds.threads(self._stage.id, n), fields=task.reads_items):
            result = thread.turns[-1]
            common: dict[str, Any] = {
                "arm": thread.arm.name,
                "item_id": one.item,
                "replicate": one.replicate,
                "status": result.outcome,
                "answer": result.answer,
            }
            for own in task.read(thread):
                yield common | self._alike(thread.arm) | own


class _Rows:
    """The rows of closed rounds, in order; beyond some megabytes in a file without a name."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - goes with this object
        finalize(self, self._file.close)
        self._blocks: list[tuple[int, int]] = []
        self._hash = hashlib.blake2b(digest_size=16)
        self.rounds = 0

    def add(self, rows: Iterator[Row]) -> None:
        """One more round."""
        while some := list(islice(rows, _TOGETHER)):
            for row in some:
                self._hash.update(msgspec.json.encode(row, order="deterministic"))
            block = msgspec.msgpack.encode(some)
            offset = self._file.seek(0, SEEK_END)
            self._file.write(block)
            self._blocks.append((offset, len(block)))
        self.rounds += 1

    @property
    def digest(self) -> str:
        """Of all rows so far: what the next round is chosen by."""
        return self._hash.hexdigest()

    def __iter__(self) -> Iterator[Row]:
        for offset, length in self._blocks:
            self._file.seek(offset)
            yield from msgspec.msgpack.decode(self._file.read(length))


class _Counted:
    def __init__(self, asks: Iterator[Ask]) -> None:
        self._asks = asks
        self.count = 0

    def __iter__(self) -> "_Counted":
        return self

    def __next__(self) -> Ask:
        ask = next(self._asks)
        self.count += 1
        return ask


def round_seed(seed: int, stage: str, n: int) -> int:
    """A seed of its own for every round, the same on every resume."""
    digest = hashlib.blake2b(f"{seed}\x1f{stage}\x1f{n}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) >> 1
