"""A whole ledger, brought from one database to another: all of it in one transaction, or nothing."""

from contextlib import closing

from overnight.ledger.database import bring_rows
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
                bring_rows(old, new, table, [c.name for c in columns]) for table, columns in tables_of_today().items()
            )
            build_indexes(new)
            # Tables that people open are made where the run is.
            Facts(new).outdate_tables()
            new.commit()
        except BaseException:
            new.roll_back()
            raise
    return rows
