"""What cannot be in a ledger: values of another kind than their column's, rows that point nowhere, JSON that is none.

Looked for when a run is verified, and when reading one has failed for no reason that we know: an answer to "is it the
ledger, or is it us?".
"""

from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from typing import NamedTuple

import msgspec

from overnight.core.errors import LedgerError, OvernightError
from overnight.ledger.attempts import AttemptsView
from overnight.ledger.connection import Records
from overnight.ledger.counts import Count, CountsView
from overnight.ledger.database import Database, Home
from overnight.ledger.keys import KEY_TABLES
from overnight.ledger.sqlite_damage import LAST_TIME

# Columns that hold JSON, and those that point to a row of another table.
_JSON = (
    *(("stage", "spec"), ("stage", "settings"), ("arm", "definition"), ("price", "price"), ("event", "data")),
    ("round_closed", "left_out"),
)
_POINTERS = (
    *(("arm", "stage", "stage"), ("ask", "arm", "arm"), ("ask", "file", "file"), ("slot", "arm", "arm")),
    *(("slot", "ask", "ask"), ("shard", "arm", "arm"), ("shard_row", "shard", "shard"), ("shard_row", "ask", "ask")),
    *(("attempt", "shard", "shard"), ("attempt", "account", "account"), ("event", "attempt", "attempt")),
    *(("result", "attempt", "attempt"), ("result", "ask", "ask"), ("presumption", "attempt", "attempt")),
    *(
        ("settled", "attempt", "attempt"),
        ("settled", "ask", "ask"),
        ("item", "stage", "stage"),
        ("queue", "ask", "ask"),
        ("opened", "stage", "stage"),
        ("screening", "stage", "stage"),
    ),
    ("ingest", "attempt", "attempt"),
    *(("spent", "arm", "arm"), ("price", "arm", "arm"), ("counted", "arm", "arm"), ("reservation", "shard", "shard")),
    *(("shard_done", "shard", "shard"), ("announced", "attempt", "attempt"), ("landed", "stage", "stage")),
    *(("asked", "ask", "ask"), ("asked_lately", "ask", "ask")),
    *(("passed_on", "stage", "stage"), ("round", "stage", "stage"), ("round_closed", "stage", "stage")),
)
# What else cannot be: how many rows are so, and the words for it.
_CONTRADICTIONS = {
    "arm.definition names another stage than its own": "SELECT count(*) FROM arm JOIN stage ON stage.id=arm.stage "
    "WHERE json_valid(definition) AND coalesce(json_extract(definition, '$.stage'), '') <> stage.name",
    "stage.settings names a stage that does not come before it": "SELECT count(*) FROM stage, "
    "(SELECT '$.of' AS place UNION ALL SELECT '$.after.stage' UNION ALL SELECT '$.beside.stage') AS named "
    "WHERE json_valid(settings) AND json_extract(settings, place) IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM stage AS before WHERE before.id<stage.id AND before.name=json_extract(stage.settings, place))",
    # Arms may share a question, but no two models do.
    "slot.arm has another model than its question": "SELECT count(*) FROM slot JOIN ask ON ask.id=slot.ask "
    "JOIN arm ON arm.id=slot.arm JOIN arm AS asked ON asked.id=ask.arm WHERE arm.id<>asked.id AND "
    "json_valid(arm.definition) AND json_valid(asked.definition) "
    "AND coalesce(json_extract(arm.definition, '$.model'), '') "
    "<> coalesce(json_extract(asked.definition, '$.model'), '')",
    # No count is kept above this.
    "counted has a number that cannot be": "SELECT count(*) FROM counted WHERE NOT ("
    + " AND ".join(f"{count} BETWEEN 0 AND {2**62}" for count in Count._fields)
    + ")",
    "ask.key is not among the keys that were asked": "SELECT count(*) FROM ask WHERE "
    + " AND ".join(f"NOT EXISTS (SELECT 1 FROM {table} WHERE {table}.key=ask.key AND ask=id)" for table in KEY_TABLES),
    # Tables hold them in 32 bits.
    "slot has a number that cannot be": "SELECT count(*) FROM slot WHERE NOT ("
    + " AND ".join(f"{number} BETWEEN 0 AND {2**31 - 1}" for number in ("replicate", "turn", "round"))
    + ")",
    "slot.round names no round": "SELECT count(*) FROM slot JOIN arm ON arm.id=slot.arm LEFT JOIN round "
    "ON round.stage=arm.stage AND round.n=slot.round WHERE slot.round<>0 AND round.n IS NULL",
    "attempt has a number that cannot be": "SELECT count(*) FROM attempt WHERE NOT ("
    + " AND ".join(f"{number} BETWEEN 0 AND {2**31 - 1}" for number in ("shard", "n"))
    + ")",
    "result.offset and length do not go with its file": "SELECT count(*) FROM result "
    "WHERE (file IS NULL)<>(result.offset IS NULL) OR (file IS NULL)<>(length IS NULL)",
    "result.cause is missing": "SELECT count(*) FROM result WHERE outcome='failed' AND cause IS NULL",
    "fact.value of begun_at is no time": "SELECT count(*) FROM fact WHERE name='begun_at' "
    f"AND (CAST(value AS DOUBLE PRECISION) NOT BETWEEN 1 AND {LAST_TIME})",
}
# What came in a file, or from another run, was sent with no account that we know.
_POINTS_NOWHERE = {("attempt", "account"): "adopted<>0 AND account=0"}


@contextmanager
def diagnosed(home: Home) -> Iterator[None]:
    """What is no error of ours, and yet ends the reading of a ledger, is blamed on the ledger only if it is damaged."""
    home.refuse_strange()
    try:
        yield
    except OvernightError:
        raise
    except Exception as error:
        if home.trouble(error) is not None or isinstance(error, msgspec.MsgspecError):
            raise LedgerError(f"{home.where}: the ledger cannot be read: {error}; {_WAY_OUT}") from error
        problem = next(damages_of(home), None)
        if problem is None:
            raise
        raise LedgerError(f"{home.where}: {problem}; {_WAY_OUT}") from error


_WAY_OUT = "bring ledger.db back from a copy of the run; `overnight verify` tells more"


def damages_of(home: Home) -> Iterator[str]:
    try:
        with closing(home.to_diagnose()) as db:
            try:
                yield from damages(db)
            except db.error as error:
                yield f"the ledger cannot be read: {error}"
    except (LedgerError, OSError) as error:
        yield f"the ledger cannot be read: {error}"


def damages(db: Database) -> Iterator[str]:
    """Each in one line. The tables are held against those that this version would make."""
    yield from db.damaged_columns()
    for table, column in _JSON:
        query = f"SELECT count(*) FROM {table} WHERE NOT json_valid({column})"
        yield from _counted(db, query, f"{table}.{column} is no JSON")
    query = "SELECT count(*) FROM fact WHERE name IN ('work', 'definition') AND NOT json_valid(value)"
    yield from _counted(db, query, "fact.value is no JSON")
    for table, column, other in _POINTERS:
        but = _POINTS_NOWHERE.get((table, column), f"{column} IS NULL")
        query = f"SELECT count(*) FROM {table} WHERE NOT ({but}) AND {column} NOT IN (SELECT id FROM {other})"
        yield from _counted(db, query, f"{table}.{column} names no {other}")
    for words, query in _CONTRADICTIONS.items():
        yield from _counted(db, query, words)


def _counted(db: Database, query: str, words: str) -> Iterator[str]:
    try:
        (count,) = db.execute(query).fetchone()
    except db.error as error:
        yield f"{words.partition(' ')[0]} cannot be read: {error}"
        return
    if count:
        yield f"{words} in {count:,} {'row' if count == 1 else 'rows'}"


class PlaceOnRecord(NamedTuple):
    """Where bytes are, and their digest."""

    file: int
    offset: int
    length: int
    digest: bytes


class WrongCount(NamedTuple):
    """A kept count beside what the rows on record come to."""

    arm: int
    outcome: str
    cause: str
    what: str
    kept: int
    rows: int


class Checks(Records):
    """A ledger held against itself."""

    def damages(self) -> Iterator[str]:
        """Whether it can be trusted at all: its pages, its columns, and the order of its events. Each in one line."""
        try:
            torn = list(self._db.torn_pages())
            if torn:
                yield torn[0]
                return
            yield from damages(self._db)
            AttemptsView(self._db).everything()
        except self._db.error as error:
            yield f"ledger.db is damaged: {error}"
        except (LedgerError, msgspec.MsgspecError, ValueError, TypeError, LookupError) as error:
            yield f"the events do not add up: {error}"

    def misplaced(self) -> dict[str, list[int]]:
        """Questions that are not in exactly one place (settled, queued, in a shard that is not done), by where."""
        rows = self._db.execute(
            "SELECT count(place.ask), group_concat(place.name, ' and '), ask.id FROM ask "
            "LEFT JOIN (SELECT ask, 'settled' AS name FROM settled UNION ALL SELECT ask, 'queued' FROM queue "
            "UNION ALL SELECT ask, 'in a shard under way' FROM shard_row "
            "WHERE shard NOT IN (SELECT shard FROM shard_done) AND NOT EXISTS (SELECT 1 FROM result JOIN attempt "
            "ON attempt.id=result.attempt AND attempt.shard=shard_row.shard AND result.line=shard_row.line)"
            ") AS place ON place.ask=ask.id GROUP BY ask.id HAVING count(place.ask) <> 1"
        )
        told: dict[str, list[int]] = {}
        for count, names, ask in rows:
            told.setdefault(names if count else "nowhere", []).append(int(ask))
        return dict(sorted(told.items()))

    def wrongly_settled(self) -> dict[str, list[int]]:
        """Questions by what is wrong: a result settles its own question, sent in that line, with its bytes kept."""
        found = {what: [int(row[0]) for row in self._db.execute(query)] for what, query in _SETTLEMENTS.items()}
        return {what: asks for what, asks in found.items() if asks}

    def refuse_to_send(self, where: str, waiting: Collection[int]) -> None:
        """LedgerError where what has been asked would be asked, and paid, again. `waiting`: shards that may be sent."""
        found = (problem for words, query in _PAID_AGAIN.items() for problem in _counted(self._db, query, words))
        for problem in (*found, *self.answered_shards(waiting)):
            raise LedgerError(f"{where}: {problem}; nothing is sent; {_WAY_OUT}")

    def answered_shards(self, waiting: Collection[int]) -> Iterator[str]:
        """Whether shards that may be sent have been, and were answered."""
        query = (
            "SELECT count(DISTINCT shard_row.shard) FROM shard_row JOIN settled ON settled.ask=shard_row.ask "
            "JOIN attempt ON attempt.id=settled.attempt AND attempt.shard=shard_row.shard "
            f"WHERE shard_row.shard IN ({', '.join(map(str, waiting)) or 'NULL'})"
        )
        return _counted(self._db, query, "shard_done lacks shards that were answered,")

    def wrong_counts(self) -> Iterator[WrongCount]:
        """Counts that are kept and are not those of the rows."""
        counts = CountsView(self._db)
        kept, rows = counts.kept(), counts.counted()
        for kind in sorted({*kept, *rows}):
            both = zip(Count._fields, kept.get(kind, Count()), rows.get(kind, Count()), strict=True)
            yield from (WrongCount(*kind, what, one, other) for what, one, other in both if one != other)

    def body_places(self) -> Iterator[PlaceOnRecord]:
        """Every question's body, in the order in which they lie."""
        rows = self._db.each("SELECT file, ask.offset, length, digest FROM ask ORDER BY file, ask.offset")
        return map(PlaceOnRecord._make, rows)

    def item_places(self) -> Iterator[PlaceOnRecord]:
        rows = self._db.each("SELECT file, item.offset, length, digest FROM item ORDER BY file, item.offset")
        return map(PlaceOnRecord._make, rows)


_SETTLEMENTS = {
    "settled by a result that is not on record": "SELECT settled.ask FROM settled LEFT JOIN result "
    "ON result.attempt=settled.attempt AND result.line=settled.line WHERE result.ask IS NULL",
    "settled by another question's result": "SELECT settled.ask FROM settled JOIN result "
    "ON result.attempt=settled.attempt AND result.line=settled.line WHERE result.ask<>settled.ask",
    "recorded under a line that was another question's": "SELECT result.ask FROM result "
    "JOIN attempt ON attempt.id=result.attempt LEFT JOIN shard_row ON shard_row.shard=attempt.shard "
    "AND shard_row.line=result.line WHERE shard_row.ask IS NULL OR shard_row.ask<>result.ask",
    "an answer without its bytes": "SELECT ask FROM result WHERE file IS NULL AND outcome<>'failed'",
    "an address without a question": "SELECT slot.ask FROM slot LEFT JOIN ask ON ask.id=slot.ask WHERE ask.id IS NULL",
}
# What would send a question again that has its answer: looked for each time before anything is sent.
_PAID_AGAIN = {
    "settled names no result of its question": "SELECT count(*) FROM settled LEFT JOIN result "
    "ON result.attempt=settled.attempt AND result.line=settled.line WHERE coalesce(result.ask, -1) <> settled.ask",
    "queue holds a question that is settled": "SELECT count(*) FROM queue JOIN settled ON settled.ask=queue.ask",
}
