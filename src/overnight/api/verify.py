"""`verify`: a run's ledger, files and tables held against one another. Nothing is changed."""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec

from overnight.api.places import run_folder
from overnight.api.run_state import undecided_text
from overnight.api.tabling import decoders, write_tables
from overnight.core.arguments import checked
from overnight.core.attempt import Attempt
from overnight.core.errors import FileDamaged, LedgerError
from overnight.core.opening import strange
from overnight.core.result import Line
from overnight.core.shard import line_of
from overnight.engine.batch.outbox import UNSENT, input_file, is_on_record
from overnight.ledger.copying import REUSED
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import RawFiles, ReadAhead, file_problem
from overnight.ledger.rows import RawResult
from overnight.ledger.transaction import View
from overnight.settings import settings
from overnight.store.contract import hashed
from overnight.store.names import FILES, HALF, top_of, way_out
from overnight.store.run_folder import RunFolder

Kind = Literal["ledger", "file", "place", "money", "count", "answer", "table", "leftover", "unfinished"]

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
    with folder.locked(), look_at(folder) as view:
        checks = _Checks(view, folder)
        broken = [*checks.strangers(), *checks.ledger()]
        if broken:
            return broken
        every = (
            checks.files,
            checks.inputs,
            checks.places,
            checks.settlements,
            checks.sums,
            checks.counts,
            checks.answers,
            checks.questions,
            checks.tables,
            checks.leftovers,
        )
        return [*(finding for check in every for finding in check()), *checks.unfinished()]


class _Checks:
    def __init__(self, view: View, folder: RunFolder) -> None:
        self._view = view
        self._folder = folder
        self._files = folder.files
        self._rebuild = f"overnight rebuild {folder.name}"
        self._resume = f"overnight resume {folder.name}"
        self._attempts: dict[int, Attempt] = {}
        self._damaged: set[int] = set()
        self._unreadable = False

    def ledger(self) -> Iterator[Finding]:
        """Whether the database can be trusted at all: its pages, and the order of its events."""
        mend = f"bring ledger.db back from a copy of the run, or {_COPY}"
        damages = list(self._view.checks.damages())
        for damage in damages:
            yield Finding(kind="ledger", message=damage, mend=mend)
        if damages:
            return
        self._attempts = {attempt.id: attempt for attempt in self._view.attempts.everything()}
        try:
            for file in self._view.files.everything():
                self._files.exists(file.path)
        except LedgerError as error:
            yield Finding(kind="ledger", message=f"the events do not add up: {error}", mend=mend)

    def strangers(self) -> Iterator[Finding]:
        """Links and pipes have no place in a run: whoever made it may have meant somebody else's files."""
        for message in self._folder.strangers():
            yield Finding(kind="file", message=message, mend="remove it, and ask who made the run what it was for")

    def files(self) -> Iterator[Finding]:
        """Every file on record is there, with its size and its bytes."""
        growing = {attempt.files[0] for attempt in self._attempts.values() if attempt.state == "calling"}
        for number, path, size, sha256 in self._view.files.everything():
            if number in growing and self._files.problem(path) is None:
                continue  # the answers of calls under way: what is on record of it is known when they are over
            problem = file_problem(self._files, path, size, sha256)
            if problem is not None:
                self._damaged.add(number)
                mend = way_out(path)
                yield Finding(kind="file", message=f"{path} {problem}", mend=mend)

    def inputs(self) -> Iterator[Finding]:
        """Every input file that is still to be sent is the one on record."""
        for attempt in self._attempts.values():
            file = input_file(self._files, attempt.token)
            if attempt.state not in UNSENT or not attempt.sha256 or not file.exists():
                continue  # one that is not there is made when it is wanted
            if self._files.problem(file.name) or not is_on_record(self._files, file.name, attempt.sha256):
                message = f"{file.name} is not the file on record"
                yield Finding(kind="file", message=message, mend=f"{self._resume} makes it anew")

    def places(self) -> Iterator[Finding]:
        """Every question is settled, queued, or in a shard that is not done: in exactly one of them."""
        for where, asks in self._view.checks.misplaced().items():
            yield Finding(kind="place", message=f"{_questions(asks)} {where}; each should be in one place", mend=_COPY)
        under_way = {attempt.shard for attempt in self._attempts.values() if attempt.state != "closed"}
        waiting = [shard.id for shard in self._view.shards.waiting(under_way)]
        for message in self._view.checks.answered_shards(waiting):
            yield Finding(kind="place", message=message, mend=_COPY)

    def settlements(self) -> Iterator[Finding]:
        """What settled a question is a result on record, about that question, sent in that line."""
        for what, asks in self._view.checks.wrongly_settled().items():
            yield Finding(kind="place", message=f"{_questions(asks)}: {what}", mend=_COPY)

    def sums(self) -> Iterator[Finding]:
        """The sums of money are those of the rows, and nothing is set aside for a shard that is over."""
        names = {number: f"{arm.stage}/{arm.name}" for number, arm in self._view.stages.arms().items()}
        for wrong in self._view.spending.wrong_sums():
            sums = f"{wrong.kept:,} nano-dollars, and its rows come to {wrong.rows:,}"
            message = f"{names[wrong.arm]}: what is {wrong.what} is on record as {sums}"
            yield Finding(kind="money", message=message, mend=f"{self._rebuild} counts it again")
        under_way = {attempt.shard for attempt in self._attempts.values() if attempt.state != "closed"}
        for shard in self._view.spending.strange_reservations(under_way):
            message = f"shard {shard}: what is set aside for it does not fit how it stands"
            yield Finding(
                kind="money", message=message, mend=f"bring ledger.db back from a copy of the run, or {_COPY}"
            )

    def counts(self) -> Iterator[Finding]:
        """The counts that are kept are those of the rows."""
        names = {number: f"{arm.stage}/{arm.name}" for number, arm in self._view.stages.arms().items()}
        for wrong in self._view.checks.wrong_counts():
            kind = f"{wrong.outcome}, {wrong.cause}" if wrong.cause else wrong.outcome
            where = f"{names.get(wrong.arm, f'arm {wrong.arm}')} ({kind})"
            message = f"{where}: {wrong.what} kept as {wrong.kept:,}, and the rows come to {wrong.rows:,}"
            yield Finding(kind="count", message=message, mend=f"{self._rebuild} counts them again")

    def answers(self) -> Iterator[Finding]:
        """Every raw line on record is what it was, decodes, names its row, and says what the ledger says."""
        known = self._view.stages.arms()
        decode = decoders(list(known.values()))
        names = self._view.files.paths()
        wrong: Counter[tuple[str, str]] = Counter()
        with RawFiles(self._files, names) as raw:
            for row in self._view.rows.raw_results():
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
        names = self._view.files.paths()
        wrong: Counter[tuple[str, str]] = Counter()
        with RawFiles(self._files, names) as kept:
            checks = self._view.checks
            for noun, places in (("question", checks.body_places()), ("item", checks.item_places())):
                read = ReadAhead(kept).read
                for place in places:
                    try:
                        if place.file not in self._damaged:
                            read(*place)
                    except FileDamaged:
                        wrong[names.get(place.file, f"file {place.file}"), noun] += 1
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
            return self._view.shards.foreign_lines(attempt.shard).get
        return lambda custom_id: line_of(attempt.token, custom_id)

    def tables(self) -> Iterator[Finding]:
        """The tables are what a rebuild would give, byte for byte."""
        if self._damaged or self._unreadable:
            return  # they may be all that is left of what the files held
        with tempfile.TemporaryDirectory(prefix="verify-") as scratch:
            write_tables(self._view, self._files, Path(scratch))
            for made in (Path(scratch) / "results.parquet", Path(scratch) / "attempts.parquet"):
                kept = self._folder.tables / made.name
                if (what := strange(kept)) is not None:
                    yield Finding(kind="table", message=f"tables/{made.name} {what}", mend=self._rebuild)
                elif not kept.exists():
                    yield Finding(kind="table", message=f"tables/{made.name} is not there", mend=self._rebuild)
                elif _hash_of(kept) != _hash_of(made):
                    message = f"tables/{made.name} is not what ledger and raw files say"
                    yield Finding(kind="table", message=message, mend=self._rebuild)

    def leftovers(self) -> Iterator[Finding]:
        """What a killed process left, and files that nobody put on record."""
        carried = {attempt.token for attempt in self._attempts.values() if attempt.state != "closed"}
        recorded = set(self._view.files.paths().values())
        found = [name for part in FILES for name in self._files.names(part)]
        for name in sorted([*found, *self._folder.table_names()]):
            part = top_of(name)
            if name.endswith(HALF):
                message = f"{name} is half a file that a killed process left"
            elif part == "outbox" and PurePosixPath(name).stem not in carried:
                message = f"{name} is the input of an attempt that is over"
            elif part in ("raw", "requests", "items") and name not in recorded:
                message = f"{name} is not on record"
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
        waiting = sum(rows for rows, _, _ in self._view.shards.queued().values())
        if waiting:
            yield Finding(kind="unfinished", message=f"{_count(waiting, 'question')} to be sent", mend=self._resume)


_CHANGED = "the bytes are not those on record"
_OTHERWISE = "today's reader says something else than the ledger"


def _answer_problem(line: Line, named: Callable[[str], int | None] | None, row: RawResult) -> str | None:
    if line.custom_id is None or line.result is None:
        return f"the line cannot be read ({line.problem})"
    if named is not None and named(line.custom_id) != row.line:
        return "the line's custom id names another row"
    return None if (line.result.outcome, line.result.cause) == (row.outcome, row.cause) else _OTHERWISE


def _hash_of(table: Path) -> str:
    with table.open("rb") as content:
        return hashed(content).hexdigest()


def _questions(asks: list[int]) -> str:
    shown = ", ".join(str(ask) for ask in asks[:_EXAMPLES])
    more = ", ..." if len(asks) > _EXAMPLES else ""
    return f"{_count(len(asks), 'question')} ({shown}{more})"


def _count(number: int, noun: str) -> str:
    return f"1 {noun}" if number == 1 else f"{number:,} {noun}s"
