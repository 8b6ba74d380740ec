"""The ledger's tables and how older ledgers are brought up to date.

Facts are inserted, not changed; a few small tables are the exception because they are work in hand, not
history: `queue` (questions waiting for a shard), `ingest` (how far a raw file has been read), `announced` (how
many lines of a live slice may have been asked), `landed` (answers that a stage has still to look at), and what is kept
so that nobody has to count: `counted`, and the running sums of money in `reservation` and `spent` (`presumption` says
what the presumed ones are made of).
"""

import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from overnight.core.errors import FileDamaged, LedgerTooNew
from overnight.ledger.raw import RawFiles, digest_of, file_problem
from overnight.store.run_folder import RunFolder

_FIRST = """
CREATE TABLE fact(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE stage(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, task TEXT NOT NULL, version TEXT NOT NULL,
    spec TEXT NOT NULL DEFAULT '{}', settings TEXT NOT NULL DEFAULT '{}');
CREATE TABLE arm(
    id INTEGER PRIMARY KEY, stage INTEGER NOT NULL, name TEXT NOT NULL, definition TEXT NOT NULL,
    UNIQUE(stage, name));
CREATE TABLE account(
    id INTEGER PRIMARY KEY, provider TEXT NOT NULL, place TEXT NOT NULL, organization TEXT NOT NULL,
    project TEXT NOT NULL, fingerprint TEXT NOT NULL, same_as INTEGER,
    UNIQUE(provider, place, organization, project, fingerprint));
CREATE TABLE file(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, bytes INTEGER NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE item(
    stage INTEGER NOT NULL, item_id TEXT NOT NULL, digest BLOB NOT NULL,
    file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL,
    PRIMARY KEY(stage, item_id)) WITHOUT ROWID;
CREATE TABLE ask(
    id INTEGER PRIMARY KEY, arm INTEGER NOT NULL, key BLOB NOT NULL,
    file INTEGER NOT NULL, offset INTEGER NOT NULL, length INTEGER NOT NULL);
CREATE TABLE slot(
    id INTEGER PRIMARY KEY, arm INTEGER NOT NULL, item TEXT NOT NULL, replicate INTEGER NOT NULL,
    turn INTEGER NOT NULL, ask INTEGER NOT NULL, round INTEGER NOT NULL DEFAULT 0);
CREATE TABLE passed_on(
    stage INTEGER NOT NULL, slot INTEGER NOT NULL, asks INTEGER NOT NULL,
    PRIMARY KEY(stage, slot)) WITHOUT ROWID;
CREATE TABLE round(
    stage INTEGER NOT NULL, n INTEGER NOT NULL, asks INTEGER NOT NULL, opened_at REAL NOT NULL,
    PRIMARY KEY(stage, n)) WITHOUT ROWID;
CREATE TABLE round_closed(
    stage INTEGER NOT NULL, n INTEGER NOT NULL, digest TEXT NOT NULL, left_out TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY(stage, n)) WITHOUT ROWID;
CREATE TABLE queue(ask INTEGER PRIMARY KEY, tries INTEGER NOT NULL, follow INTEGER NOT NULL DEFAULT 0);
CREATE TABLE price(arm INTEGER PRIMARY KEY, price TEXT NOT NULL);
CREATE TABLE reservation(
    shard INTEGER PRIMARY KEY, amount INTEGER, released INTEGER NOT NULL, density REAL NOT NULL);
CREATE TABLE spent(arm INTEGER PRIMARY KEY, settled INTEGER NOT NULL, presumed INTEGER NOT NULL);
CREATE TABLE shard(
    id INTEGER PRIMARY KEY, arm INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL,
    made_at REAL NOT NULL);
CREATE TABLE shard_row(
    shard INTEGER NOT NULL, line INTEGER NOT NULL, ask INTEGER NOT NULL, tries INTEGER NOT NULL,
    PRIMARY KEY(shard, line)) WITHOUT ROWID;
CREATE TABLE shard_done(shard INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE attempt(
    id INTEGER PRIMARY KEY, shard INTEGER NOT NULL, n INTEGER NOT NULL, token TEXT NOT NULL UNIQUE,
    account INTEGER NOT NULL, estimate INTEGER NOT NULL, sha256 TEXT NOT NULL, intended_at REAL NOT NULL,
    adopted INTEGER NOT NULL DEFAULT 0,
    UNIQUE(shard, n));
CREATE TABLE event(
    id INTEGER PRIMARY KEY, at REAL NOT NULL, attempt INTEGER, kind TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX event_attempt ON event(attempt);
CREATE TABLE ingest(
    attempt INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
    PRIMARY KEY(attempt, file)) WITHOUT ROWID;
CREATE TABLE result(
    attempt INTEGER NOT NULL, line INTEGER NOT NULL, ask INTEGER NOT NULL,
    outcome TEXT NOT NULL, cause TEXT, detail TEXT,
    file INTEGER, offset INTEGER, length INTEGER,
    input INTEGER, cached INTEGER, cache_write INTEGER, output INTEGER, reasoning INTEGER,
    cost INTEGER, received_at REAL NOT NULL,
    PRIMARY KEY(attempt, line)) WITHOUT ROWID;
CREATE TABLE settled(ask INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, line INTEGER NOT NULL);
"""


def _create(db: sqlite3.Connection, _: Path) -> None:
    for statement in _FIRST.split(";\n"):
        if statement.strip():
            db.execute(statement)


def _compare_items_themselves(db: sqlite3.Connection, _: Path) -> None:
    """An item's text is kept anyway: a hash of it beside it cost more than all else about an item."""
    db.execute("ALTER TABLE item DROP COLUMN digest")


def _add_live(db: sqlite3.Connection, _: Path) -> None:
    """Shards whose rows are live calls, how far their calls were announced, and prices by processing."""
    db.execute("ALTER TABLE shard ADD COLUMN live INTEGER NOT NULL DEFAULT 0")
    db.execute("CREATE TABLE announced(attempt INTEGER PRIMARY KEY, lines INTEGER NOT NULL)")
    db.execute("ALTER TABLE price RENAME TO batch_price")
    db.execute(
        "CREATE TABLE price(arm INTEGER NOT NULL, processing TEXT NOT NULL, price TEXT NOT NULL, "
        "PRIMARY KEY(arm, processing)) WITHOUT ROWID"
    )
    db.execute("INSERT INTO price SELECT arm, 'batch', price FROM batch_price")
    db.execute("DROP TABLE batch_price")


def _add_digests(db: sqlite3.Connection, run: Path) -> None:
    """What every body, item and raw line is known by, so that none is used that is not what it was."""
    for table in ("ask", "item", "result"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN digest BLOB")
    files = RunFolder(run).files
    known = db.execute("SELECT id, path, bytes, sha256 FROM file").fetchall()
    # A file that has changed since it was put on record proves nothing: its lines get no digest, and are not used.
    sound = {
        number: path
        for number, path, size, sha256 in known
        if not sha256 or file_problem(files, path, size, sha256) is None
    }
    with RawFiles(files, sound) as kept:

        def digest(file: int, offset: int, length: int) -> bytes | None:
            with suppress(FileDamaged):
                return digest_of(kept.bytes_at(file, offset, length))
            return None

        db.create_function("digest_of_line", 3, digest)
        for table in ("ask", "item", "result"):
            db.execute(f"UPDATE {table} SET digest=digest_of_line(file, offset, length) WHERE file IS NOT NULL")
        db.create_function("digest_of_line", 3, None)


def _add_presumptions(db: sqlite3.Connection, _: Path) -> None:
    """What is presumed spent, row by row, so that it can be held against its sum, and taken back."""
    db.execute(
        "CREATE TABLE presumption(attempt INTEGER NOT NULL, line INTEGER NOT NULL, amount INTEGER NOT NULL, "
        "PRIMARY KEY(attempt, line)) WITHOUT ROWID"
    )
    # Which rows an older sum is made of is not on record: the last row of the arm that may be one of them bears it.
    db.execute(
        "INSERT INTO presumption SELECT number, line, presumed FROM (SELECT attempt.id AS number, result.line, "
        "spent.presumed, row_number() OVER (PARTITION BY spent.arm ORDER BY attempt.id DESC, line DESC) AS place "
        "FROM spent JOIN shard ON shard.arm=spent.arm JOIN attempt ON attempt.shard=shard.id "
        "JOIN result ON result.attempt=attempt.id AND result.cost IS NULL WHERE spent.presumed > 0) WHERE place=1"
    )


def _add_landed(db: sqlite3.Connection, _: Path) -> None:
    """Who looks at whose answers, and at which of them it still has to. Filled when the run is worked on again."""
    db.execute(
        "CREATE TABLE follower(source INTEGER NOT NULL, stage INTEGER NOT NULL, every_turn INTEGER NOT NULL, "
        "PRIMARY KEY(source, stage)) WITHOUT ROWID"
    )
    db.execute(
        "CREATE TABLE landed(stage INTEGER NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY(stage, slot)) WITHOUT ROWID"
    )
    db.execute("CREATE TABLE left_out(stage INTEGER PRIMARY KEY, missing INTEGER NOT NULL, late INTEGER NOT NULL)")


def _add_counts(db: sqlite3.Connection, _: Path) -> None:
    """Counts that people look at often, kept: nobody counts a million rows to say how a run stands."""
    db.execute(
        "CREATE TABLE counted(arm INTEGER NOT NULL, outcome TEXT NOT NULL, cause TEXT NOT NULL, "
        "addresses INTEGER NOT NULL, tries INTEGER NOT NULL, settled INTEGER NOT NULL, unbilled INTEGER NOT NULL, "
        "input INTEGER NOT NULL, cached INTEGER NOT NULL, output INTEGER NOT NULL, "
        "PRIMARY KEY(arm, outcome, cause)) WITHOUT ROWID"
    )
    db.execute(
        "INSERT INTO counted SELECT slot.arm, coalesce(result.outcome, 'pending'), coalesce(result.cause, ''), "
        "count(*), 0, 0, 0, 0, 0, 0 FROM slot LEFT JOIN settled ON settled.ask=slot.ask "
        "LEFT JOIN result ON result.attempt=settled.attempt AND result.line=settled.line GROUP BY 1, 2, 3"
    )
    db.execute(
        "INSERT INTO counted SELECT shard.arm, result.outcome, coalesce(result.cause, ''), 0, count(*), "
        "count(settled.ask), sum(cost IS NULL AND (outcome<>'failed' OR cause IN "
        "('gone', 'lost', 'unreadable'))), CAST(min(total(input), 1 << 62) AS INTEGER), "
        "CAST(min(total(cached), 1 << 62) AS INTEGER), CAST(min(total(output), 1 << 62) AS INTEGER) FROM result "
        "JOIN attempt ON attempt.id=result.attempt JOIN shard ON shard.id=attempt.shard "
        "LEFT JOIN settled ON settled.ask=result.ask AND settled.attempt=result.attempt AND settled.line=result.line "
        "GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET tries=excluded.tries, settled=excluded.settled, "
        "unbilled=excluded.unbilled, input=excluded.input, cached=excluded.cached, output=excluded.output"
    )


def _order_addresses_by_arm(db: sqlite3.Connection, _: Path) -> None:
    """Tables are made arm by arm: along this index, nothing has to be sorted."""
    known = db.execute("SELECT 1 FROM sqlite_master WHERE name='slot_address'").fetchone()
    if known is not None:
        db.execute("DROP INDEX slot_address")
        db.execute("CREATE UNIQUE INDEX slot_address ON slot(arm, item, replicate, turn)")


def _add_phases(db: sqlite3.Connection, _: Path) -> None:
    """How urgent items and shards are; which stages have begun after another; and who was let through."""
    for table in ("item", "shard"):
        db.execute(f"ALTER TABLE {table} ADD COLUMN priority REAL NOT NULL DEFAULT 0")
    # Empty where nobody has said what is urgent, which is then known at once.
    db.execute("CREATE INDEX item_urgent ON item(stage) WHERE priority<>0")
    db.execute("CREATE TABLE opened(stage INTEGER PRIMARY KEY, extent TEXT NOT NULL, at REAL NOT NULL)")
    db.execute(
        "CREATE TABLE screening(stage INTEGER NOT NULL, unit TEXT NOT NULL, n INTEGER NOT NULL, value REAL, lwr REAL, "
        "upr REAL, moved INTEGER NOT NULL, why TEXT NOT NULL, PRIMARY KEY(stage, unit)) WITHOUT ROWID"
    )


def _add_asked(db: sqlite3.Connection, _: Path) -> None:
    """The keys of all questions in order, and beside them those that came since: a few that are soon in order, too."""
    for table in ("asked", "asked_lately"):
        db.execute(
            f"CREATE TABLE {table}(key BLOB NOT NULL, ask INTEGER NOT NULL, PRIMARY KEY(key, ask)) WITHOUT ROWID"
        )
    db.execute("INSERT INTO asked SELECT key, id FROM ask ORDER BY key, id")
    db.execute("INSERT INTO fact SELECT 'keys_in_order', CAST(id AS TEXT) FROM ask ORDER BY id DESC LIMIT 1")
    db.execute("DROP INDEX IF EXISTS ask_key")


# One function for each version, in order: it is given the ledger and the run's folder. A released one is never edited.
MIGRATIONS: tuple[Callable[[sqlite3.Connection, Path], None], ...] = (
    _create,
    _compare_items_themselves,
    _add_live,
    _add_digests,
    _add_presumptions,
    _add_landed,
    _add_counts,
    _order_addresses_by_arm,
    _add_phases,
    _add_asked,
)


def version(db: sqlite3.Connection, path: Path) -> int:
    """The ledger's version; one that is newer than ours is refused."""
    found = int(db.execute("PRAGMA user_version").fetchone()[0])
    newest = len(MIGRATIONS)
    if found > newest:
        message = (
            f"{path}: the ledger has version {found}, written by a newer Overnight; this one reads up to {newest}. "
            "Update Overnight, or go on with the version that made it"
        )
        raise LedgerTooNew(message)
    return found


def is_older(db: sqlite3.Connection, path: Path) -> bool:
    return version(db, path) < len(MIGRATIONS)


def migrate(db: sqlite3.Connection, path: Path) -> None:
    """Bring the ledger that is, or is to be, at this path to this version, in one transaction."""
    found, newest = version(db, path), len(MIGRATIONS)
    if found == newest:
        return
    db.execute("BEGIN IMMEDIATE")
    for step in MIGRATIONS[found:]:
        step(db, path.parent)
    db.execute(f"PRAGMA user_version={newest}")
    db.execute("COMMIT")
