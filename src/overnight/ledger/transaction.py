"""What a ledger is asked and told, concept by concept. A view only reads; a transaction writes too."""

import sqlite3

from overnight.ledger.answers import Answers, AnswersView
from overnight.ledger.attempts import Attempts, AttemptsView
from overnight.ledger.checks import Checks
from overnight.ledger.copying import Copies, CopiesView
from overnight.ledger.counts import CountsView
from overnight.ledger.files import Files, FilesView
from overnight.ledger.identity import Accounts, AccountsView, Facts, FactsView, Stages, StagesView
from overnight.ledger.reopening import Reopening
from overnight.ledger.rows import ItemsView, Rows, RowsView
from overnight.ledger.shards import Shards, ShardsView
from overnight.ledger.spending import Spending, SpendingView


class View:
    """Everything on record, to be read."""

    def __init__(self, db: sqlite3.Connection) -> None:
        # For modules of the ledger that do not have their verbs here yet; nobody else uses it.
        self.connection = db
        self.accounts = AccountsView(db)
        self.answers = AnswersView(db)
        self.attempts = AttemptsView(db)
        self.checks = Checks(db)
        self.copies = CopiesView(db)
        self.counts = CountsView(db)
        self.facts = FactsView(db)
        self.files = FilesView(db)
        self.items = ItemsView(db)
        self.rows = RowsView(db)
        self.shards = ShardsView(db)
        self.spending = SpendingView(db)
        self.stages = StagesView(db)


class Transaction(View):
    """The same to be read and added to. What is told in one transaction becomes durable together."""

    accounts: Accounts
    answers: Answers
    attempts: Attempts
    copies: Copies
    facts: Facts
    files: Files
    rows: Rows
    shards: Shards
    spending: Spending
    stages: Stages

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__(db)
        self.accounts = Accounts(db)
        self.answers = Answers(db)
        self.attempts = Attempts(db)
        self.copies = Copies(db)
        self.facts = Facts(db)
        self.files = Files(db)
        self.rows = Rows(db)
        self.shards = Shards(db)
        self.reopening = Reopening(db)
        self.spending = Spending(db)
        self.stages = Stages(db)
