"""Where a run's ledger is kept."""

from overnight.ledger.connection import SqliteFile
from overnight.ledger.database import Home
from overnight.ledger.shared_run import SharedRun
from overnight.store.run_folder import RunFolder


def home_of(folder: RunFolder) -> Home:
    return folder.home if isinstance(folder, SharedRun) else SqliteFile(folder.ledger)
