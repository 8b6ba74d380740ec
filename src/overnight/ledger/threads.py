"""Landed answers and what follows from them: next turns, items of later stages, rounds."""

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from overnight.core.result import Cause, Outcome


class LandedSlot(msgspec.Struct, frozen=True):
    """An address whose question is settled."""

    slot: int
    arm: int
    item: str
    replicate: int
    turn: int
    outcome: str


class Settled(msgspec.Struct, frozen=True):
    """Where a settled answer is, and the ledger's word for it."""

    outcome: Outcome
    cause: Cause | None
    # The file, offset, length and digest of its raw line; None where no file holds one.
    place: tuple[int, int, int, bytes] | None


_LANDED = (
    "SELECT slot.id, slot.arm, slot.item, slot.replicate, slot.turn, result.outcome FROM slot "
    "JOIN arm ON arm.id=slot.arm JOIN settled ON settled.ask=slot.ask "
    "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
    "WHERE arm.stage=:stage AND NOT EXISTS "
    "(SELECT 1 FROM passed_on WHERE passed_on.stage=:consumer AND passed_on.slot=slot.id)"
)
# Only the last turn of a thread goes on: the one after which nothing more is asked.
_OVER = " AND EXISTS (SELECT 1 FROM passed_on WHERE passed_on.stage=:stage AND passed_on.slot=slot.id AND asks=0)"


def landed_slots(
    db: sqlite3.Connection, stage: int, consumer: int, *, over: bool, attempt: int | None, limit: int
) -> list[LandedSlot]:
    """Settled addresses of `stage` that `consumer` has not seen, in the tables' order.

    `over`: only threads that have ended. `attempt`: only what came with it.
    """
    query = _LANDED + (_OVER if over else "")
    if attempt is not None:
        query += " AND slot.ask IN (SELECT ask FROM result WHERE attempt=:attempt)"
    query += " ORDER BY arm.name, slot.item, slot.replicate, slot.turn LIMIT :limit"
    values = {"stage": stage, "consumer": consumer, "attempt": attempt, "limit": limit}
    return [LandedSlot(*row) for row in db.execute(query, values)]


def settled_turns(db: sqlite3.Connection, slot: LandedSlot) -> list[Settled]:
    """A thread's settled turns up to this one, in order."""
    rows = db.execute(
        "SELECT result.outcome, result.cause, result.file, result.offset, result.length, result.digest FROM slot "
        "JOIN settled ON settled.ask=slot.ask "
        "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
        "WHERE slot.item=? AND slot.arm=? AND slot.replicate=? AND slot.turn<=? ORDER BY slot.turn",
        (slot.item, slot.arm, slot.replicate, slot.turn),
    )
    return [Settled(outcome, cause, None if place[0] is None else place) for outcome, cause, *place in rows]


def pass_on(db: sqlite3.Connection, consumer: int, slots: Iterable[tuple[int, int]]) -> None:
    """(slot, asks that followed): each is passed on to a consumer once."""
    db.executemany("INSERT INTO passed_on VALUES(?,?,?)", ((consumer, slot, asks) for slot, asks in slots))


def reopen_threads(db: sqlite3.Connection) -> None:
    """Nothing followed from what is asked again: once it is answered, its conversation goes on."""
    db.execute(
        "DELETE FROM passed_on WHERE asks=0 AND slot IN (SELECT id FROM slot WHERE ask IN (SELECT ask FROM queue))"
    )


def handed_on(db: sqlite3.Connection, outcomes: Sequence[str]) -> int:
    """How many settled rows with these outcomes later stages have been given."""
    marks = ",".join("?" * len(outcomes))
    row = db.execute(
        "SELECT count(*) FROM passed_on JOIN slot ON slot.id=passed_on.slot JOIN settled ON settled.ask=slot.ask "
        "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
        f"WHERE passed_on.asks > 0 AND result.outcome IN ({marks})",
        tuple(outcomes),
    ).fetchone()
    return int(row[0])


def handed_on_asks(db: sqlite3.Connection, asks: list[int]) -> int:
    """How many of these questions' answers have been given to later turns or stages."""
    query = (
        "SELECT 1 FROM passed_on JOIN slot ON slot.id=passed_on.slot WHERE slot.ask=? AND passed_on.asks > 0 LIMIT 1"
    )
    return sum(db.execute(query, (ask,)).fetchone() is not None for ask in asks)


def stage_is_quiet(db: sqlite3.Connection, stage: int) -> bool:
    """Whether every address of the stage is settled: nothing queued, nothing on the way."""
    row = db.execute(
        "SELECT 1 FROM slot JOIN arm ON arm.id=slot.arm LEFT JOIN settled ON settled.ask=slot.ask "
        "WHERE arm.stage=? AND settled.ask IS NULL LIMIT 1",
        (stage,),
    ).fetchone()
    return row is None


# --- rounds


class Round(msgspec.Struct, frozen=True):
    n: int
    asks: int
    opened_at: float
    closed: bool


def last_round(db: sqlite3.Connection, stage: int) -> Round | None:
    row = db.execute(
        "SELECT round.n, asks, opened_at, round_closed.n IS NOT NULL FROM round "
        "LEFT JOIN round_closed ON round_closed.stage=round.stage AND round_closed.n=round.n "
        "WHERE round.stage=? ORDER BY round.n DESC LIMIT 1",
        (stage,),
    ).fetchone()
    return None if row is None else Round(row[0], row[1], row[2], bool(row[3]))


def open_round(db: sqlite3.Connection, stage: int, n: int, asks: int, at: float) -> None:
    """A round that asked nothing may be opened again: there may be more to ask of it by now."""
    db.execute("INSERT OR REPLACE INTO round VALUES(?,?,?,?)", (stage, n, asks, at))


def close_round(db: sqlite3.Connection, stage: int, n: int, digest: str, left_out: Sequence[int], at: float) -> None:
    text = msgspec.json.encode(list(left_out)).decode()
    db.execute("INSERT INTO round_closed VALUES(?,?,?,?,?)", (stage, n, digest, text, at))


def unsettled_in_round(db: sqlite3.Connection, stage: int, n: int) -> list[int]:
    """Addresses of a round that have no answer yet."""
    rows = db.execute(
        "SELECT slot.id FROM slot JOIN arm ON arm.id=slot.arm LEFT JOIN settled ON settled.ask=slot.ask "
        "WHERE arm.stage=? AND slot.round=? AND settled.ask IS NULL ORDER BY slot.id",
        (stage, n),
    )
    return [int(row[0]) for row in rows]


def round_slots(db: sqlite3.Connection, stage: int, upto: int) -> list[LandedSlot]:
    """Settled addresses of the closed rounds, without those that came too late for theirs."""
    late: set[int] = set()
    for (text,) in db.execute("SELECT left_out FROM round_closed WHERE stage=? AND n<=?", (stage, upto)):
        late.update(msgspec.json.decode(text))
    rows = db.execute(
        "SELECT slot.id, slot.arm, slot.item, slot.replicate, slot.turn, result.outcome FROM slot "
        "JOIN arm ON arm.id=slot.arm JOIN settled ON settled.ask=slot.ask "
        "JOIN result ON result.attempt=settled.attempt AND result.line=settled.line "
        "WHERE arm.stage=? AND slot.round<=? ORDER BY slot.round, arm.name, slot.item, slot.replicate, slot.turn",
        (stage, upto),
    )
    return [LandedSlot(*row) for row in rows if row[0] not in late]
