"""`accounts.db`: what all runs together have learned of accounts. Advisory, and there once there is something in it."""

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from overnight.core.errors import OvernightError
from overnight.ledger.account_places import AccountFile, AccountPlace
from overnight.ledger.database import Database

T = TypeVar("T")
# Sums stay below what SQLite can hold.
_MOST = 2**53
_HOUR = 3600.0


class KnownAccount(NamedTuple):
    """What is remembered of one model at one account; None and nought where nothing is."""

    account: str
    model: str
    queue_limit: int | None
    bytes: int
    tokens: int


def known_accounts(place: Path | AccountPlace) -> list[KnownAccount]:
    """Everything in the book, read from outside; nothing where there is no book."""
    query = (
        "SELECT place, model, max(tokens), max(bytes), max(counted) FROM ("
        "SELECT place, model, tokens, 0 AS bytes, 0 AS counted FROM queue_limit "
        "UNION ALL SELECT place, model, NULL, bytes, tokens FROM density) AS known GROUP BY 1, 2 ORDER BY 1, 2"
    )
    return _looked_at(place, lambda db: [KnownAccount._make(row) for row in db.execute(query)], [])


def _looked_at(place: Path | AccountPlace, read: Callable[[Database], T], nothing: T) -> T:
    """From outside; an OvernightError says what is wrong with the book."""
    book = AccountFile(place) if isinstance(place, Path) else place
    try:
        if not book.is_there():
            return nothing
        with closing(book.look()) as db:
            return read(db)
    except Exception as error:
        trouble = book.trouble(error)
        if trouble is None or trouble is error:
            raise
        raise trouble from error


class AnswerSize(NamedTuple):
    """Answers of one step of length: who gave them, to which task, how many, their tokens and their bytes as text."""

    provider: str
    model: str
    thinking: str
    task: str
    step: int
    answers: int
    tokens: int
    bytes: int


class RequestSize(NamedTuple):
    """Requests of one step of size: their bytes, and the tokens that the provider counted."""

    provider: str
    model: str
    step: int
    requests: int
    bytes: int
    tokens: int


class Turnaround(NamedTuple):
    """Batches of one step of size that came back whole: the logarithms of their seconds, summed, and their squares."""

    provider: str
    step: int
    batches: int
    sum: float
    squares: float


class Lessons(NamedTuple):
    """What all runs together have seen of answers, requests and batches."""

    answers: Sequence[AnswerSize] = ()
    requests: Sequence[RequestSize] = ()
    batches: Sequence[Turnaround] = ()


def lessons_in(place: Path | AccountPlace) -> Lessons:
    """Read from outside; nothing where there is no book, and nothing where it cannot be read: it only advises."""

    def read(db: Database) -> Lessons:
        return Lessons(
            [AnswerSize._make(row) for row in db.execute("SELECT * FROM answer_length")],
            [RequestSize._make(row) for row in db.execute("SELECT * FROM request_size")],
            [Turnaround._make(row) for row in db.execute("SELECT * FROM turnaround")],
        )

    try:
        return _looked_at(place, read, Lessons())
    except OvernightError:
        return Lessons()


class Doubt(NamedTuple):
    """A create of another run that may or may not have made a batch; `possible`: there is one that may be it."""

    run: str
    possible: bool


class AccountBook:
    """By account and model: how many tokens its queue holds, and how many tokens its bytes made."""

    def __init__(self, place: Path | AccountPlace) -> None:
        """A path is that of SQLite's file."""
        self._place = AccountFile(place) if isinstance(place, Path) else place
        self._opened: Database | None = None
        self._opening = threading.Lock()
        self._writing = threading.Lock()
        # Why nothing is remembered, once that is so: no run depends on it.
        self.trouble: str | None = None

    def limits(self, account: str) -> dict[str, int]:
        rows = self._recall("SELECT model, tokens FROM queue_limit WHERE place=?", account)
        return {str(model): int(tokens) for model, tokens in rows}

    def keep_limit(self, account: str, model: str, tokens: int) -> None:
        self._remember(
            "INSERT INTO queue_limit VALUES(?,?,?) ON CONFLICT(place, model) DO UPDATE SET tokens=excluded.tokens",
            *(account, model, tokens),
        )

    def measured(self, account: str, model: str) -> tuple[int, int]:
        """(request bytes, input tokens that they were counted as), of everything so far."""
        rows = self._recall("SELECT bytes, tokens FROM density WHERE place=? AND model=?", account, model)
        return next(((int(sent), int(tokens)) for sent, tokens in rows), (0, 0))

    def add_measure(self, account: str, model: str, sent: int, tokens: int) -> None:
        self._remember(
            "INSERT INTO density VALUES(?,?,?,?) ON CONFLICT(place, model) DO UPDATE SET "
            "bytes=density.bytes+excluded.bytes, tokens=density.tokens+excluded.tokens",
            *(account, model, sent, tokens),
        )

    @property
    def shared(self) -> bool:
        return self._place.shared

    def use(self, account: str, model: str, run: str, holding: tuple[int, int], at: float) -> None:
        """What a run has there now: batches and their tokens."""
        self._remember(
            "INSERT INTO account_use VALUES(?,?,?,?,?,?) ON CONFLICT(account, model, run) DO UPDATE SET "
            "batches=excluded.batches, tokens=excluded.tokens, at=excluded.at",
            *(account, model, run, *holding, at),
        )

    def forget_use(self, run: str) -> None:
        """Of a run whose work begins anew, and tells it again."""
        if self._place.is_there():
            self._remember("DELETE FROM account_use WHERE run=?", run)
            self._remember("DELETE FROM account_doubt WHERE run=?", run)

    def used_by_others(self, account: str, run: str, since: float) -> list[tuple[str, int, int]]:
        """By model: batches and tokens. What nobody has told of for long is over."""
        return [
            (str(model), int(batches), int(tokens))
            for model, batches, tokens in self._recall(
                "SELECT model, sum(batches), sum(tokens) FROM account_use WHERE account=? AND run<>? AND at>=? "
                "GROUP BY model",
                *(account, run, since),
            )
        ]

    def add_create(self, account: str, run: str, at: float) -> None:
        self._remember("DELETE FROM account_create WHERE account=? AND at<?", account, at - _HOUR)
        self._remember("INSERT INTO account_create VALUES(?,?,?) ON CONFLICT DO NOTHING", account, run, at)

    def creates_of_others(self, account: str, run: str, since: float) -> int:
        rows = self._recall(
            "SELECT count(*) FROM account_create WHERE account=? AND run<>? AND at>=?", *(account, run, since)
        )
        return int(rows[0][0]) if rows else 0

    def claim_doubt(
        self, account: str, run: str, name: str, *, possible: bool, at: float, since: float
    ) -> Doubt | None:
        """That a create of this run may be in doubt there: one at a time may. Another run's, where it has one already.

        What nobody has told of for long is over.
        """
        self._remember(
            "INSERT INTO account_doubt VALUES(?,?,?,?,?) ON CONFLICT(account) DO UPDATE SET run=excluded.run, "
            "name=excluded.name, possible=excluded.possible, at=excluded.at "
            "WHERE account_doubt.run=excluded.run OR account_doubt.at<?",
            *(account, run, name, int(possible), at, since),
        )
        found = self._recall("SELECT name, possible FROM account_doubt WHERE account=? AND run<>?", account, run)
        return next((Doubt(str(name), bool(possible)) for name, possible in found), None)

    def end_doubt(self, account: str, run: str) -> None:
        self._remember("DELETE FROM account_doubt WHERE account=? AND run=?", account, run)

    def learn(self, lessons: Lessons) -> None:
        """Added to what is known, in one transaction."""
        if self.trouble is not None:
            return
        try:
            db = self._db()
            with self._writing:
                db.begin()
                try:
                    self._add(db, "answer_length", ("answers", "tokens", "bytes"), lessons.answers)
                    self._add(db, "request_size", ("requests", "bytes", "tokens"), lessons.requests)
                    self._add(db, "turnaround", ("batches", "sum", "squares"), lessons.batches)
                    db.commit()
                except BaseException:
                    db.roll_back()
                    raise
        except Exception as error:
            if not self._forgets(error):
                raise

    def _add(self, db: Database, table: str, sums: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
        # Together with the columns that are summed, those of the key are all that there are.
        most = f"{table}.{{0}}+excluded.{{0}}>{_MOST}"
        added = ", ".join(
            f"{name}=CASE WHEN {most.format(name)} THEN {_MOST} ELSE {table}.{name}+excluded.{name} END"
            for name in sums
        )
        for row in rows:
            marks, key = ",".join("?" * len(row)), ", ".join(row._fields[: -len(sums)])  # type: ignore[attr-defined]
            db.execute(f"INSERT INTO {table} VALUES({marks}) ON CONFLICT({key}) DO UPDATE SET {added}", row)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def _recall(self, question: str, *values: str | float) -> list[tuple[Any, ...]]:
        if self.trouble is not None:
            return []
        try:
            if self._opened is None and not self._place.is_there():
                return []
            return self._db().execute(question, values).fetchall()
        except Exception as error:
            if not self._forgets(error):
                raise
            return []

    def _remember(self, statement: str, *values: str | float) -> None:
        if self.trouble is None:
            try:
                db = self._db()
                with self._writing:  # not in the middle of another's transaction
                    db.execute(statement, values)
            except Exception as error:
                if not self._forgets(error):
                    raise

    def _forgets(self, error: Exception) -> bool:
        """Whether it is the book's own trouble: from then on nothing is remembered."""
        told = self._place.trouble(error)
        if told is not None:
            self.trouble = f"limits of accounts are not remembered: {told}"
        return told is not None

    def _db(self) -> Database:
        with self._opening:  # the loop and the ledger's writer both ask
            if self._opened is None:
                self._opened = self._place.open()
            return self._opened
