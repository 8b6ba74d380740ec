"""`verify`: a run's ledger, files and tables held against one another. Nothing is changed."""

import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from overnight.api.places import run_folder
from overnight.api.tabling import decoders, write_tables
from overnight.api.work import undecided_text
from overnight.core.arguments import checked
from overnight.core.attempt import Attempt
from overnight.core.errors import FileDamaged, LedgerError
from overnight.core.result import Line
from overnight.core.shard import line_of
from overnight.engine.outbox import UNSENT, input_path
from overnight.ledger.answers import RawResult, paths, raw_results
from overnight.ledger.copying import REUSED
from overnight.ledger.diagnosis import damages
from overnight.ledger.identity import arms
from overnight.ledger.looking import looking_at
from overnight.ledger.money import strange_reservations, wrong_sums
from overnight.ledger.raw import RawFiles, ReadAhead, file_hash, file_problem
from overnight.ledger.shards import attempts, foreign_lines
from overnight.settings import settings
from overnight.store.names import way_out
from overnight.store.run_folder import RunFolder

Kind = Literal["ledger", "file", "place", "money", "answer", "table", "leftover", "unfinished"]

# As many examples of one fault as a reader can use.
_EXAMPLES = 5
_COPY = "start a copy that keeps every answer that still fits: overnight run STUDY --as NAME"


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is not as it should be, and what to do about it."""

    kind: Kind
    message: str
    mend: str


@checked
def verify(run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> list[Finding]:
    """Everything that is wrong with a run; empty when ledger, files and tables agree and nothing is open."""
    folder = run_folder(run, settings(runs=runs, emulate=emulate))
    with folder.locked(), looking_at(folder) as db:
        checks = _Checks(db, folder)
        broken = [*checks.strangers(), *checks.ledger()]
        if broken:
            return broken
        every = (
            checks.files,
            checks.inputs,
            checks.places,
            checks.settlements,
            checks.sums,
            checks.answers,
            checks.questions,
            checks.tables,
            checks.leftovers,
        )
        return [*(finding for check in every for finding in check()), *checks.unfinished()]


class _Checks:
    def __init__(self, db: sqlite3.Connection, folder: RunFolder) -> None:
        self._db = db
        self._folder = folder
        self._rebuild = f"overnight rebuild {folder.name}"
        self._resume = f"overnight resume {folder.name}"
        self._attempts: dict[int, Attempt] = {}
        self._damaged: set[int] = set()
        self._unreadable = False

    def ledger(self) -> Iterator[Finding]:
        """Whether the database can be trusted at all: its pages, and the order of its events."""
        mend = f"bring ledger.db back from a copy of the run, or {_COPY}"
        try:
            (problem,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
            if problem != "ok":
                yield Finding(kind="ledger", message=f"ledger.db is damaged: {problem}", mend=mend)
                return
            for damage in damages(self._db):
                yield Finding(kind="ledger", message=damage, mend=mend)
            self._attempts = {attempt.id: attempt for attempt in attempts(self._db)}
            for (path,) in self._db.execute("SELECT path FROM file ORDER BY path"):
                self._folder.file(path)
        except sqlite3.DatabaseError as error:
            yield Finding(kind="ledger", message=f"ledger.db is damaged: {error}", mend=mend)
        except (LedgerError, msgspec.MsgspecError, ValueError, TypeError, LookupError) as error:
            yield Finding(kind="ledger", message=f"the events do not add up: {error}", mend=mend)

    def strangers(self) -> Iterator[Finding]:
        """Links and pipes have no place in a run: whoever made it may have meant somebody else's files."""
        for message in self._folder.strangers():
            yield Finding(kind="file", message=message, mend="remove it, and ask who made the run what it was for")

    def files(self) -> Iterator[Finding]:
        """Every file on record is there, with its size and its bytes."""
        growing = {attempt.files[0] for attempt in self._attempts.values() if attempt.state == "calling"}
        for number, path, size, sha256 in self._db.execute("SELECT id, path, bytes, sha256 FROM file ORDER BY path"):
            if number in growing and self._folder.file(path).is_file():
                continue  # the answers of calls under way: what is on record of it is known when they are over
            problem = file_problem(self._folder.file(path), size, sha256)
            if problem is not None:
                self._damaged.add(number)
                mend = way_out(path)
                yield Finding(kind="file", message=f"{path} {problem}", mend=mend)

    def inputs(self) -> Iterator[Finding]:
        """Every input file that is still to be sent is the one on record."""
        for attempt in self._attempts.values():
            path = input_path(self._folder, attempt.token)
            if attempt.state not in UNSENT or not attempt.sha256 or not path.exists():
                continue  # one that is not there is made when it is wanted
            if not path.is_file() or file_hash(path) != attempt.sha256:
                message = f"outbox/{path.name} is not the file on record"
                yield Finding(kind="file", message=message, mend=f"{self._resume} makes it anew")

    def places(self) -> Iterator[Finding]:
        """Every question is settled, queued, or in a shard that is not done: in exactly one of them."""
        rows = self._db.execute(
            "SELECT count(place.ask), group_concat(place.name, ' and '), min(ask.id), count(DISTINCT ask.id) FROM ask "
            "LEFT JOIN (SELECT ask, 'settled' AS name FROM settled UNION ALL SELECT ask, 'queued' FROM queue "
            "UNION ALL SELECT ask, 'in a shard under way' FROM shard_row "
            "WHERE shard NOT IN (SELECT shard FROM shard_done) AND NOT EXISTS (SELECT 1 FROM result JOIN attempt "
            "ON attempt.id=result.attempt AND attempt.shard=shard_row.shard AND result.line=shard_row.line)"
            ") AS place ON place.ask=ask.id "
            "GROUP BY ask.id HAVING count(place.ask) <> 1"
        ).fetchall()
        told: dict[str, list[int]] = {}
        for count, names, ask, _ in rows:
            told.setdefault(names if count else "nowhere", []).append(ask)
        for where, asks in sorted(told.items()):
            yield Finding(kind="place", message=f"{_questions(asks)} {where}; each should be in one place", mend=_COPY)

    def settlements(self) -> Iterator[Finding]:
        """What settled a question is a result on record, about that question, sent in that line."""
        checks = {
            "settled by a result that is not on record": "SELECT settled.ask FROM settled LEFT JOIN result "
            "ON result.attempt=settled.attempt AND result.line=settled.line WHERE result.ask IS NULL",
            "settled by another question's result": "SELECT settled.ask FROM settled JOIN result "
            "ON result.attempt=settled.attempt AND result.line=settled.line WHERE result.ask<>settled.ask",
            "recorded under a line that was another question's": "SELECT result.ask FROM result "
            "JOIN attempt ON attempt.id=result.attempt LEFT JOIN shard_row ON shard_row.shard=attempt.shard "
            "AND shard_row.line=result.line WHERE shard_row.ask IS NULL OR shard_row.ask<>result.ask",
            "an answer without its bytes": "SELECT ask FROM result WHERE file IS NULL AND outcome<>'failed'",
            "an address without a question": "SELECT slot.ask FROM slot LEFT JOIN ask ON ask.id=slot.ask "
            "WHERE ask.id IS NULL",
        }
        for what, query in checks.items():
            asks = [int(row[0]) for row in self._db.execute(query)]
            if asks:
                yield Finding(kind="place", message=f"{_questions(asks)}: {what}", mend=_COPY)

    def sums(self) -> Iterator[Finding]:
        """The sums of money are those of the rows, and nothing is set aside for a shard that is over."""
        names = {number: f"{arm.stage}/{arm.name}" for number, arm in arms(self._db).items()}
        for wrong in wrong_sums(self._db):
            sums = f"{wrong.kept:,} nano-dollars, and its rows come to {wrong.rows:,}"
            message = f"{names[wrong.arm]}: what is {wrong.what} is on record as {sums}"
            yield Finding(kind="money", message=message, mend=f"{self._rebuild} counts it again")
        under_way = {attempt.shard for attempt in self._attempts.values() if attempt.state != "closed"}
        for shard in strange_reservations(self._db, under_way):
            message = f"shard {shard}: what is set aside for it does not fit how it stands"
            yield Finding(
                kind="money", message=message, mend=f"bring ledger.db back from a copy of the run, or {_COPY}"
            )

    def answers(self) -> Iterator[Finding]:
        """Every raw line on record is what it was, decodes, names its row, and says what the ledger says."""
        known = arms(self._db)
        decode = decoders(list(known.values()))
        names = paths(self._db)
        wrong: Counter[tuple[str, str]] = Counter()
        with RawFiles(self._folder, names) as raw:
            for row in raw_results(self._db):
                if row.file in self._damaged:
                    continue
                try:
                    line = raw.read(row.file, row.offset, row.length, row.digest).strip()
                except FileDamaged:
                    problem: str | None = _CHANGED
                else:
                    decoded = decode[known[row.arm].model.provider](line)
                    problem = _answer_problem(decoded, self._named(row.attempt), row)
                if problem is not None:
                    wrong[names.get(row.file, f"file {row.file}"), problem] += 1
        self._unreadable = self._unreadable or any(problem == _CHANGED for _, problem in wrong)
        for (name, problem), count in sorted(wrong.items()):
            mend = self._rebuild if problem == _OTHERWISE else way_out(name)
            yield Finding(kind="answer", message=f"{name}: {_count(count, 'row')}: {problem}", mend=mend)

    def questions(self) -> Iterator[Finding]:
        """Every body and every item is what it was when it was put on record."""
        names = paths(self._db)
        wrong: Counter[tuple[str, str]] = Counter()
        with RawFiles(self._folder, names) as kept:
            for noun, query in _PLACES.items():
                read = ReadAhead(kept).read
                for place in self._db.execute(query):
                    try:
                        if place[0] not in self._damaged:
                            read(*place)
                    except FileDamaged:
                        wrong[names.get(place[0], f"file {place[0]}"), noun] += 1
        self._unreadable = self._unreadable or bool(wrong)
        for (name, noun), count in sorted(wrong.items()):
            yield Finding(kind="file", message=f"{name}: {_count(count, noun)}: {_CHANGED}", mend=way_out(name))

    @cache  # noqa: B019 - lives as long as one verification
    def _named(self, number: int) -> Callable[[str], int | None] | None:
        """Which line of an attempt a custom id names; None where the ids are those of another run."""
        attempt = self._attempts[number]
        if attempt.token.startswith(REUSED):
            return None
        if attempt.adopted:
            return foreign_lines(self._db, attempt.shard).get
        return lambda custom_id: line_of(attempt.token, custom_id)

    def tables(self) -> Iterator[Finding]:
        """The tables are what a rebuild would give, byte for byte."""
        if self._damaged or self._unreadable:
            return  # they may be all that is left of what the files held
        with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
            write_tables(self._db, _TablesElsewhere(self._folder.path, Path(scratch)))
            for made in (Path(scratch) / "results.parquet", Path(scratch) / "attempts.parquet"):
                kept = self._folder.tables / made.name
                if not kept.exists():
                    yield Finding(kind="table", message=f"tables/{made.name} is not there", mend=self._rebuild)
                elif file_hash(kept) != file_hash(made):
                    message = f"tables/{made.name} is not what ledger and raw files say"
                    yield Finding(kind="table", message=message, mend=self._rebuild)

    def leftovers(self) -> Iterator[Finding]:
        """What a killed process left, and files that nobody put on record."""
        carried = {attempt.token for attempt in self._attempts.values() if attempt.state != "closed"}
        recorded = {path for (path,) in self._db.execute("SELECT path FROM file")}
        for path in sorted(self._folder.path.glob("*/*")):
            relative = str(path.relative_to(self._folder.path))
            if path.suffix == ".part":
                message = f"{relative} is half a file that a killed process left"
            elif path.parent.name == "outbox" and path.stem not in carried:
                message = f"{relative} is the input of an attempt that is over"
            elif path.parent.name in ("raw", "requests", "items") and relative not in recorded:
                message = f"{relative} is not on record"
            else:
                continue
            yield Finding(kind="leftover", message=message, mend=f"harmless; {self._resume} goes on, or remove it")

    def unfinished(self) -> Iterator[Finding]:
        """What is still open: attempts at the provider, questions in the queue, shards that wait."""
        name = self._folder.name
        for attempt in self._attempts.values():
            if attempt.state == "stuck":
                mend = undecided_text(name, attempt.shard, attempt.candidates)
                yield Finding(kind="unfinished", message=f"shard {attempt.shard} waits for your decision", mend=mend)
        under_way = sum(attempt.state not in ("closed", "stuck") for attempt in self._attempts.values())
        if under_way:
            yield Finding(kind="unfinished", message=f"{_count(under_way, 'attempt')} under way", mend=self._resume)
        waiting = int(self._db.execute("SELECT count(*) FROM queue").fetchone()[0])
        if waiting:
            yield Finding(kind="unfinished", message=f"{_count(waiting, 'question')} to be sent", mend=self._resume)


class _TablesElsewhere(RunFolder):
    """The same run, its tables in a scratch folder."""

    def __init__(self, path: Path, tables: Path) -> None:
        super().__init__(path)
        self._tables = tables

    @property
    def tables(self) -> Path:
        return self._tables


_PLACES = {
    "question": "SELECT file, offset, length, digest FROM ask ORDER BY file, offset",
    "item": "SELECT file, offset, length, digest FROM item ORDER BY file, offset",
}
_CHANGED = "the bytes are not those on record"
_OTHERWISE = "today's reader says something else than the ledger"


def _answer_problem(line: Line, named: Callable[[str], int | None] | None, row: RawResult) -> str | None:
    if line.custom_id is None or line.result is None:
        return f"the line cannot be read ({line.problem})"
    if named is not None and named(line.custom_id) != row.line:
        return "the line's custom id names another row"
    return None if (line.result.outcome, line.result.cause) == (row.outcome, row.cause) else _OTHERWISE


def _questions(asks: list[int]) -> str:
    shown = ", ".join(str(ask) for ask in asks[:_EXAMPLES])
    more = ", ..." if len(asks) > _EXAMPLES else ""
    return f"{_count(len(asks), 'question')} ({shown}{more})"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"
