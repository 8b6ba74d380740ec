"""What a ledger is asked and told, concept by concept. A view only reads; a transaction writes too."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from overnight.core.ask import Arm
from overnight.ledger.answers import Answers, AnswersView
from overnight.ledger.attempts import Attempts, AttemptsView
from overnight.ledger.bills import BillsView
from overnight.ledger.checks import Checks
from overnight.ledger.copying import Copies, CopiesView
from overnight.ledger.counts import Counts, CountsView
from overnight.ledger.database import Database
from overnight.ledger.files import Files, FilesView
from overnight.ledger.identity import Accounts, AccountsView, Facts, FactsView, Stages, StagesView
from overnight.ledger.questions import Intake, QuestionsView
from overnight.ledger.reopening import Reopening
from overnight.ledger.rounds import Rounds, RoundsView
from overnight.ledger.rows import ItemsView, Rows, RowsView
from overnight.ledger.screening import Screening, ScreeningView
from overnight.ledger.shards import Shards, ShardsView
from overnight.ledger.spending import Spending, SpendingView
from overnight.ledger.team import Team
from overnight.ledger.threads import Threads, ThreadsView
from overnight.store.contract import Store


class View:
    """Everything on record, to be read."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.accounts = AccountsView(db)
        self.answers = AnswersView(db)
        self.attempts = AttemptsView(db)
        self.bills = BillsView(db)
        self.checks = Checks(db)
        self.copies = CopiesView(db)
        self.counts = CountsView(db)
        self.facts = FactsView(db)
        self.files = FilesView(db)
        self.items = ItemsView(db)
        self.questions = QuestionsView(db)
        self.rounds = RoundsView(db)
        self.rows = RowsView(db)
        self.screening = ScreeningView(db)
        self.shards = ShardsView(db)
        self.spending = SpendingView(db)
        self.stages = StagesView(db)
        self.threads = ThreadsView(db)

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """What is read in this block is as it was at its beginning, whoever writes meanwhile."""
        self._db.begin_reading()
        try:
            yield
        finally:
            self._db.roll_back()


class Transaction(View):
    """The same to be read and added to. What is told in one transaction becomes durable together."""

    accounts: Accounts
    answers: Answers
    attempts: Attempts
    copies: Copies
    counts: Counts
    facts: Facts
    files: Files
    rounds: Rounds
    rows: Rows
    screening: Screening
    shards: Shards
    spending: Spending
    stages: Stages
    threads: Threads

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.accounts = Accounts(db)
        self.answers = Answers(db)
        self.attempts = Attempts(db)
        self.copies = Copies(db)
        self.counts = Counts(db)
        self.facts = Facts(db)
        self.files = Files(db)
        self.rounds = Rounds(db)
        self.rows = Rows(db)
        self.screening = Screening(db)
        self.shards = Shards(db)
        self.reopening = Reopening(db)
        self.spending = Spending(db)
        self.stages = Stages(db)
        self.team = Team(db)
        self.threads = Threads(db)

    def intake(
        self, files: Store, stage: tuple[str, str, str], arms: Iterable[Arm], priority: str | None = None
    ) -> Intake:
        """Takes in items and questions of a stage: its name, its task's name and version.

        `priority` is the column that says which items are more urgent.
        """
        return Intake(self._db, files, stage, arms, priority)

    def give_back(self) -> None:
        """Nothing is told for now: memory that only makes it faster goes back."""
        self._db.give_back()
