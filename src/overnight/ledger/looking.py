"""A run's ledger, read from outside: beside a process that works on it, and without touching it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from overnight.core.surroundings import damaged, ledger_trouble
from overnight.ledger.database import connect
from overnight.ledger.diagnosis import diagnosed
from overnight.ledger.traces import no_ledger, refuse_blank
from overnight.store.run_folder import RunFolder


@contextmanager
def looking_at(folder: RunFolder) -> Iterator[sqlite3.Connection]:
    """Whatever is wrong with the file is said with its path; LedgerLost when it was there and is no longer."""
    with diagnosed(folder.ledger), _opened(folder) as db:
        yield db


@contextmanager
def _opened(folder: RunFolder) -> Iterator[sqlite3.Connection]:
    no_ledger(folder)
    db = connect(folder.ledger, read_only=True)
    try:
        refuse_blank(folder, db)
        yield db
    except sqlite3.DatabaseError as error:
        raise ledger_trouble(folder.ledger, error) from error
    except msgspec.MsgspecError as error:
        raise damaged(folder.ledger, error) from error
    finally:
        db.close()
