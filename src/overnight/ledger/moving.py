"""A whole ledger, brought from one database to another: all of it in one transaction, or nothing."""

from contextlib import closing

from overnight.core.errors import LedgerError
from overnight.ledger.database import Database
from overnight.ledger.homes import home_of
from overnight.ledger.identity import Facts, FactsView
from overnight.ledger.questions import build_indexes
from overnight.ledger.sqlite_damage import tables_of_today
from overnight.store.run_folder import RunFolder


def has_begun(folder: RunFolder) -> bool:
    """Whether there is a ledger with a run in it."""
    home = home_of(folder)
    if home.missing() is not None:
        return False
    with closing(home.reader()) as db:
        return FactsView(db).get("run_id") is not None


def move_ledger(source: RunFolder, target: RunFolder) -> int:
    """How many rows were brought. Both are held by who asks; nothing of a run is in the target before."""
    there, here = home_of(source), home_of(target)
    here.remove()
    with closing(there.reader()) as old, closing(here.writer()) as new:
        old.begin_reading()
        new.begin()
        try:
            rows = sum(
                _copied(old, new, table, [c.name for c in columns]) for table, columns in tables_of_today().items()
            )
            build_indexes(new)
            # Tables that people open are made where the run is.
            Facts(new).outdate_tables()
            new.commit()
        except BaseException:
            new.roll_back()
            raise
    return rows


def _copied(old: Database, new: Database, table: str, columns: list[str]) -> int:
    names = ", ".join(f'"{column}"' for column in columns)
    rows = new.bulk(f"{table}({names})", len(columns))
    for row in old.each(f"SELECT {names} FROM {table}"):
        rows.add(row)
    rows.flush()
    new.go_on_counting(table)
    (found,) = new.execute(f"SELECT count(*) FROM {table}").fetchone()
    if found != rows.rows:
        raise LedgerError(f"{table}: {rows.rows:,} rows were brought, and {found:,} arrived; nothing was changed")
    return rows.rows
