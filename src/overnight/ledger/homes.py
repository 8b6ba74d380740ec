"""Where a run's ledger is kept, and what is known of its accounts."""

from overnight.ledger.account_places import AccountPlace, SharedAccounts
from overnight.ledger.connection import SqliteFile
from overnight.ledger.database import Home
from overnight.ledger.shared_run import SharedRun
from overnight.store.run_folder import RunFolder


def accounts_of(folder: RunFolder) -> AccountPlace | None:
    """Where what runs have learned of accounts is kept; None where that is beside the runs, in a file."""
    return SharedAccounts(folder.address, rehearsal=folder.rehearsal) if isinstance(folder, SharedRun) else None


def home_of(folder: RunFolder) -> Home:
    return folder.home if isinstance(folder, SharedRun) else SqliteFile(folder.ledger)
