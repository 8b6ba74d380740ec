"""Rounds on record: when each was opened and closed, and what it is judged by."""

from collections.abc import Iterator, Sequence

import msgspec

from overnight.ledger.connection import Records
from overnight.ledger.threads import THREADS, LandedThread, ThreadsView, threads_of

_ROUND = (
    "WITH due AS MATERIALIZED (SELECT slot.id AS slot, row_number() OVER "
    "(ORDER BY arm.name, slot.item, slot.replicate, slot.turn) AS n "
    "FROM slot JOIN arm ON arm.id=slot.arm WHERE arm.stage=:source AND slot.round=:round) "
)


class Round(msgspec.Struct, frozen=True):
    n: int
    asks: int
    opened_at: float
    closed: bool


class RoundsView(Records):
    """The rounds of stages that ask in rounds."""

    def last(self, stage: int) -> Round | None:
        row = self._db.execute(
            "SELECT round.n, asks, opened_at, round_closed.n IS NOT NULL FROM round "
            "LEFT JOIN round_closed ON round_closed.stage=round.stage AND round_closed.n=round.n "
            "WHERE round.stage=? ORDER BY round.n DESC LIMIT 1",
            (stage,),
        ).fetchone()
        return None if row is None else Round(row[0], row[1], row[2], bool(row[3]))

    def everything(self, stage: int) -> list[Round]:
        rows = self._db.execute(
            "SELECT n, asks, opened_at, n IN (SELECT n FROM round_closed WHERE stage=?1) FROM round WHERE stage=?1 "
            "ORDER BY n",
            (stage,),
        )
        return [Round(n, asks, at, bool(closed)) for n, asks, at, closed in rows]

    def left_out(self, stage: int, n: int) -> list[int]:
        """Addresses that came too late for a round that is closed."""
        row = self._db.execute("SELECT left_out FROM round_closed WHERE stage=? AND n=?", (stage, n)).fetchone()
        return [] if row is None else msgspec.json.decode(row[0], type=list[int])

    def is_settled(self, stage: int, n: int) -> bool:
        return not ThreadsView(self._db).is_under_way(stage) and not self.unsettled(stage, n)

    def unsettled(self, stage: int, n: int) -> list[int]:
        """Addresses of a round that have no answer yet."""
        rows = self._db.execute(
            "SELECT slot.id FROM slot JOIN arm ON arm.id=slot.arm LEFT JOIN settled ON settled.ask=slot.ask "
            "WHERE arm.stage=? AND slot.round=? AND settled.ask IS NULL ORDER BY slot.id",
            (stage, n),
        )
        return [int(row[0]) for row in rows]

    def has_strays(self, stage: int) -> bool:
        """Whether addresses are of a round that was never opened: somebody has edited the ledger."""
        query = (
            "SELECT 1 FROM slot JOIN arm ON arm.id=slot.arm WHERE arm.stage=?1 "
            "AND coalesce(slot.round, -1) NOT IN (SELECT n FROM round WHERE stage=?1) LIMIT 1"
        )
        return self._db.execute(query, (stage,)).fetchone() is not None

    def threads(self, stage: int, n: int) -> Iterator[LandedThread]:
        """Settled addresses of a closed round, without those that came too late for it."""
        late = set(self.left_out(stage, n))
        found = threads_of(self._db.each(_ROUND + THREADS, {"source": stage, "round": n}))
        return (thread for thread in found if thread.slot not in late)


class Rounds(RoundsView):
    """Rounds that are opened and closed."""

    def open(self, stage: int, n: int, asks: int, at: float) -> None:
        """One that asked nothing may be opened again: there may be more to ask of it by now."""
        self._db.execute(
            "INSERT INTO round VALUES(?,?,?,?) ON CONFLICT(stage, n) DO UPDATE "
            "SET asks=excluded.asks, opened_at=excluded.opened_at",
            (stage, n, asks, at),
        )

    def close(self, stage: int, n: int, left_out: Sequence[int], at: float) -> None:
        """Answers to those left out are kept, but not used. The digest of what it is judged by comes after."""
        text = msgspec.json.encode(list(left_out)).decode()
        self._db.execute("INSERT INTO round_closed VALUES(?,?,'',?,?)", (stage, n, text, at))

    def set_digest(self, stage: int, n: int, digest: str) -> None:
        self._db.execute("UPDATE round_closed SET digest=? WHERE stage=? AND n=?", (digest, stage, n))
