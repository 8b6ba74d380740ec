"""What the screens are made from: the runs, their tables, and the commands that were begun here."""

import tempfile
import threading
import time
from collections.abc import Hashable
from pathlib import Path

from overnight.core.errors import OvernightError, StudyError
from overnight.ledger.account_book import KnownAccount, known_accounts
from overnight.serving.commands import Command, Commands
from overnight.serving.known_runs import KnownRun, KnownRuns
from overnight.serving.pace import Pace, Rate
from overnight.serving.run_tables import RunTable, RunTables
from overnight.settings import Settings

# Seconds that a page waits for a report; drawing that of a large run takes longer, and goes on.
_PATIENCE = 600.0
_REPORT = "report"


class Records:
    """Everything that a dashboard knows. Its methods may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.runs = KnownRuns(settings)
        self.commands = Commands(settings)
        self.tables = RunTables(self.commands)
        self._paces: dict[str, Pace] = {}
        self._drawing = threading.Lock()
        self._scratch = tempfile.TemporaryDirectory(prefix="overnight-", ignore_cleanup_errors=True)

    def close(self) -> None:
        self.commands.close()
        self.tables.close()
        self._scratch.cleanup()

    def changes(self, run: str | None) -> Hashable:
        """Differs when what is shown of a run, or of all, has changed."""
        return self.runs.stamps(run), self.commands.signs(run)

    def rate(self, run: KnownRun) -> Rate | None:
        """How fast it goes, measured from look to look."""
        status, now = run.status, time.monotonic()
        if not status.worked_on:
            self._paces.pop(run.name, None)
            return None
        pending = status.total("pending")
        ahead = sum(batch.completed + batch.failed for batch in status.batches if batch.state in ("running", "ended"))
        pace = self._paces.setdefault(run.name, Pace())
        pace.look(now, status.total("rows") - pending + min(ahead, pending))
        return pace.rate(now, max(0, pending - ahead))

    def table(self, run: KnownRun) -> RunTable | None:
        if run.status.trouble is not None:
            raise StudyError(f"run '{run.name}' cannot be read: {run.status.trouble}")
        return self.tables.of(run)

    def accounts(self) -> tuple[list[KnownAccount], str | None]:
        """What was learned of accounts, and why nothing can be told, where that is so."""
        try:
            return known_accounts(self.settings.accounts), None
        except OvernightError as error:
            return [], f"What was learned of accounts cannot be read: {error}"

    def report(self, run: KnownRun) -> str:
        """The report as it is drawn now, by the command that draws it, in a process of its own."""
        with self._drawing:
            page = Path(self._scratch.name) / "report.html"
            page.unlink(missing_ok=True)
            command: Command = self.commands.start(run.name, _REPORT, "report", "-o", page, "-q")
            code = command.wait(_PATIENCE)
            if code is None:
                raise StudyError(f"the report of '{run.name}' takes long; it is being drawn: come back later")
            if code != 0 or not page.is_file():
                said = " ".join(command.lines) or f"exit code {code}"
                raise StudyError(f"the report of '{run.name}' could not be drawn: {said}")
            return page.read_text(encoding="utf-8")
