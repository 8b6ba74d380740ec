"""What a batch that has ended gives up: downloaded, read once, row by row, and looked for again where it is not whole.

Rows that come are settled at once, whatever else is wrong with the file they came in. What the looks so far say of the
rows that did not come is decided in `evidence`; each look is on record, so that passes and processes add up.
"""

import asyncio
import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from os import SEEK_END
from typing import BinaryIO, NamedTuple

import msgspec

from overnight.core import heap
from overnight.core.attempt import Attempt, Closed, Ended, Fetched
from overnight.core.clock import duration_text
from overnight.core.errors import Gone, Unavailable
from overnight.core.result import failed
from overnight.core.shard import lines_of
from overnight.core.wording import cancelled_words, number_of
from overnight.engine.batch.answer_lines import AnswerLines
from overnight.engine.batch.evidence import (
    DAY,
    USUAL_RETENTION,
    Absent,
    Again,
    Download,
    Standing,
    conclude,
    doubt_of,
    ended_event,
    part_names,
)
from overnight.engine.batch.line_splitting import LONGEST_LINE, is_json
from overnight.engine.batch.outbox import line_overhead
from overnight.engine.context import RunContext
from overnight.engine.provider_account import ProviderAccount
from overnight.engine.settlement import Fresh, Settlement
from overnight.ledger.landed import Landed
from overnight.ledger.raw import beside_others, check_file
from overnight.ledger.transaction import Transaction
from overnight.store.contract import Writer

_IN_QUOTES = re.compile(rb'"([^"\\]{1,256})"')
# The most that a file may have, for its shard: far above any answer in text.
_LEAST_ALLOWED = 64 << 20
_ALLOWED_FOR_A_ROW = 4 << 20
# What a shard of more rows leaves behind in memory is given back: many such come in, one after another.
_MANY_ROWS = 10_000


class Part:
    """One file on its way down, as long as it can be a file of its shard at all."""

    def __init__(self, kind: str, file: Writer, rows: int) -> None:
        self._kind = kind
        self.file = file
        self._most = _LEAST_ALLOWED + rows * _ALLOWED_FOR_A_ROW
        self._loose = 0

    def write(self, chunk: bytes) -> None:
        """Unavailable for what can be no file of this shard: a download that does not end would fill the disk."""
        self.file.write(chunk)
        cut = chunk.rfind(b"\n") + 1
        self._loose = len(chunk) - cut if cut else self._loose + len(chunk)
        if self._loose > LONGEST_LINE:
            raise Unavailable(f"a line of more than {LONGEST_LINE >> 20} MB came, which is no provider's file")
        if self.file.size > self._most:
            raise Unavailable(f"the {self._kind} file is larger than {self._most >> 20:,} MB, too much for its rows")


class _Came(NamedTuple):
    """One file as it came: what is known of it, its hash, and its number if it is kept."""

    download: Download
    sha256: str
    number: int | None


class Ingest:
    def __init__(self, context: RunContext, account: ProviderAccount, attempt: Attempt) -> None:
        self._context = context
        self._account = account
        self._attempt = attempt
        self._settlement: Settlement
        self._row_of: Callable[[str | None], int | None] = lines_of(attempt.token, attempt.rows)
        self._lines: AnswerLines

    async def bring_in(self) -> Attempt:
        """One look at the results when its time has come; closed when all is there, or clear why it is not."""
        ledger, shard = self._context.ledger, self._attempt.shard
        overhead = line_overhead(self._account.batch_format, self._context.arms[self._attempt.arm].model)
        self._settlement = await Settlement.of(self._context, self._attempt, overhead)
        if self._attempt.adopted:
            foreign = await ledger.read(lambda view: view.shards.foreign_lines(shard))
            self._row_of = lambda custom_id: None if custom_id is None else foreign.get(custom_id)
        self._lines = AnswerLines(self._account.provider.format.decode, self._row_of, self._settlement.landed)
        if self._ended.phase == "cancelled":
            # By whoever looked at it first, perhaps in an earlier pass; and the user may have said `run` since.
            called_off = await ledger.read(lambda view: view.facts.called_off())
            if (why := called_off.get(self._attempt.arm)) is not None:
                self._context.halt_arm(self._attempt.arm, why)
        given_up = self._attempt.id in self._context.reask_missing
        await asyncio.to_thread(self._check_files)
        await self._read_files()
        missing = await self._unanswered()
        verdict = await self._verdict(missing)
        if isinstance(verdict, Again):
            await self._context.waiting.until(self._context.now() if given_up else verdict.at)
            await self._look(missing)
            await self._read_files()
            missing = await self._unanswered()
            verdict = await self._verdict(missing)
        await self._note_strange()
        if isinstance(verdict, Again) and not given_up:
            self._say_what_is_missing(verdict, len(missing))
            return self._attempt
        await self._close(missing, verdict)
        return self._attempt

    @property
    def _ended(self) -> Ended:
        ended = self._attempt.ended
        assert ended is not None  # only ended attempts come here
        return ended

    async def _verdict(self, missing: Sequence[int]) -> Again | Absent | None:
        """None when no row is missing."""
        if not missing:
            return None
        attempt, ended, context = self._attempt, self._ended, self._context
        came, ran = await context.ledger.read(lambda view: view.attempts.came_of(attempt.id))
        standing = Standing(
            phase=ended.phase,
            rows=attempt.rows,
            came=came,
            ran=ran,
            completed=ended.completed,
            failed=ended.failed,
            unrun=ended.unrun,
            seen_completed=attempt.seen_completed,
            parts=bool(ended.parts),
        )
        days = self._account.batch_format.limits(context.arms[attempt.arm].model).retention_days
        retention = USUAL_RETENTION if days is None else days * DAY
        return conclude(standing, attempt.fetches, context.now(), attempt.ended_at or 0.0, retention)

    def _say_what_is_missing(self, verdict: Again, rows: int) -> None:
        wait = verdict.at - self._context.now()
        if verdict.why and wait > 0:
            waiting = f"{number_of(rows, 'row')} not here yet; looking again in {duration_text(wait)}"
            self._context.say(f"shard {self._attempt.shard}: {verdict.why}; {waiting}")

    # --- down the wire

    async def _look(self, missing: Sequence[int]) -> None:
        """Download what the batch names, keep what holds rows that are missing, and put on record what it proves."""
        number = self._attempt.looks_before + len(self._attempt.fetches) + 1
        if number > 1:
            await self._see_again()
        parts: list[_Came] = []
        past = False
        try:
            async with self._account.fetching:
                for name, kind, ref in part_names(self._ended.parts):
                    parts.append(await self._download(name, kind, ref, number, missing))
        except Gone as gone:
            past = True
            await self._context.note("gone", str(gone), self._attempt)
            self._context.say(f"shard {self._attempt.shard}: {gone}")
        doubts = (doubt_of(part.download, self._ended) for part in parts)
        event = Fetched(
            (*self._attempt.files, *(part.number for part in parts if part.number is not None)),
            number,
            past,
            next((doubt for doubt in doubts if doubt is not None), None),
            any(part.download.news for part in parts),
            sum(part.download.unreadable for part in parts if part.download.kind == "output"),
            tuple(part.sha256 for part in parts),
        )
        self._attempt = await self._context.record(self._attempt, event)

    async def _see_again(self) -> None:
        """The batch may have named no file, another one, or other counts too early."""
        provider, batch_id, known = self._account.batches, self._attempt.batch_id or "", self._ended
        batch = await self._account.patiently(lambda: provider.retrieve(batch_id))
        if batch is None or batch.phase == "running":
            return
        event = ended_event(batch if batch.parts else msgspec.structs.replace(batch, parts=known.parts))
        if event != known:
            self._attempt = await record_end(self._context, self._attempt, event)

    async def _download(self, name: str, kind: str, ref: str, number: int, missing: Sequence[int]) -> _Came:
        suffix = "" if number == 1 else f"-{number}"
        path = f"raw/{self._attempt.token}-{name}{suffix}.jsonl"
        file, announced = await self._account.patiently(
            partial(self._stream, kind, path, ref), *self._context.download_tries
        )
        try:
            download = await asyncio.to_thread(self._survey, kind, file, announced, missing, number)
        except BaseException:
            file.drop()
            raise
        if not download.news:
            file.drop()
            return _Came(download, file.sha256, None)
        file = await asyncio.to_thread(beside_others, self._context.files, file)
        await asyncio.to_thread(file.keep)
        kept = await self._context.ledger.commit("file", lambda tx: self._register(tx, file))
        return _Came(download, file.sha256, kept)

    async def _stream(self, kind: str, name: str, ref: str) -> tuple[Writer, int | None]:
        file = await asyncio.to_thread(self._context.files.put, name)
        try:
            fetching = self._account.batches.fetch(ref, Part(kind, file, self._attempt.rows).write)
            return file, await self._context.waiting.while_going(fetching)
        except BaseException:
            file.drop()
            raise

    def _survey(self, kind: str, file: Writer, announced: int | None, missing: Sequence[int], number: int) -> Download:
        """What a file holds. The first that looks whole need only show that it holds rows; others are read through."""
        readable = foreign = unreadable = 0
        news, ends_whole = False, True
        named: set[int] = set()
        with file.so_far() as handle:
            enough = number == 1 and _ends_in_newline(handle)
            for line in handle:
                text = line.strip()
                if not text:
                    continue
                decoded = self._account.provider.format.decode(text)
                known = decoded.custom_id is not None and decoded.result is not None
                row = self._row_of(decoded.custom_id) if known else None
                if not known:
                    unreadable += 1
                    named |= self._rows_named(text)
                readable, foreign = readable + int(row is not None), foreign + int(known and row is None)
                news = news or (row is not None and _is_among(row, missing))
                ends_whole = known or line.endswith(b"\n")
                if news and enough:
                    break
        return Download(
            kind=kind,
            bytes=file.size,
            announced=announced,
            readable=readable,
            foreign=foreign,
            unreadable=unreadable,
            named=len(named),
            ends_whole=ends_whole,
            news=news,
        )

    def _register(self, tx: Transaction, file: Writer) -> int:
        return tx.files.keep(file.name, file.size, file.sha256)

    # --- into the ledger

    def _check_files(self) -> None:
        """What an earlier look downloaded: a row that a damaged file no longer holds would be asked again."""
        for file in self._context.ledger.view().files.on_record(self._attempt.files):
            check_file(self._context.files, file.path, file.bytes, file.sha256)

    async def _read_files(self) -> None:
        names = await self._context.ledger.read(lambda view: view.files.paths())
        for number in self._attempt.files:
            async with self._context.reading, self._settlement.holding_rows():
                await self._read_file(number, names[number])

    async def _read_file(self, number: int, name: str) -> None:
        """In chunks; results, fates and how far we are become durable together."""
        context, attempt = self._context, self._attempt
        start = await context.ledger.read(lambda view: view.answers.read_offset(attempt.id, number))
        with await asyncio.to_thread(context.files.stream, name, start) as handle:
            chunks = self._lines.chunks(handle, number, start)
            while chunk := await asyncio.to_thread(next, chunks, None):
                await self._take_in(number, *chunk)

    def _rows_named(self, text: bytes) -> set[int]:
        """The rows of this batch that a broken line names: those of a web page do not, and requests are not broken."""
        if is_json(text):
            return set()
        ids = (found.decode(errors="replace") for found in _IN_QUOTES.findall(text))
        return {row for row in map(self._row_of, ids) if row is not None}

    async def _take_in(self, file: int, end: int, landed: Landed) -> None:
        context, attempt, at = self._context, self._attempt, self._context.now()

        def fact(tx: Transaction) -> Fresh:
            fresh = self._settlement.settle(tx, landed, at)
            tx.answers.set_read_offset(attempt.id, file, end)
            return fresh

        self._settlement.count(await context.ledger.commit("results", fact))

    async def _unanswered(self) -> Sequence[int]:
        attempt = self._attempt
        return await self._context.ledger.read(lambda view: view.answers.unanswered_lines(attempt.id, attempt.rows))

    async def _note_strange(self) -> None:
        if self._lines.strange:
            text = ", ".join(f"{count} {what}" for what, count in sorted(self._lines.strange.items()))
            await self._context.note("strange", text, self._attempt)
            self._context.say(f"shard {self._attempt.shard}: {text}, kept in raw/ and joined to nothing")

    async def _close(self, missing: Sequence[int], verdict: Again | Absent | None) -> None:
        """Rows without an answer get their cause, the attempt its end, the shard its rest: one transaction."""
        context, attempt, at = self._context, self._attempt, self._context.now()
        given_up = isinstance(verdict, Again)
        found = verdict if isinstance(verdict, Absent) else Absent("gone", ran=True)
        result = failed(found.cause, self._ended.message or found.detail)
        again = frozenset(missing) if given_up else frozenset()

        def fact(tx: Transaction) -> tuple[Attempt, Fresh]:
            fresh = self._settlement.settle(tx, landed, at, ran=found.ran)
            closed = tx.attempts.record(attempt, Closed("ingested"), at)
            tx.shards.finish(attempt.shard, at)
            return closed, fresh

        async with self._settlement.holding_rows() if missing else nullcontext():
            landed = self._settlement.landed(missing, [result] * len(missing), again=again)
            self._attempt, fresh = await context.ledger.commit("closed", fact)
            self._settlement.count(fresh)
        context.keep(self._attempt)
        self._settlement.learn(self._attempt)
        if attempt.rows > _MANY_ROWS:
            await asyncio.to_thread(heap.trim)


async def record_end(context: RunContext, attempt: Attempt, event: Ended) -> Attempt:
    """How a batch has ended. One that somebody has cancelled calls its rows off, until the user says `run`."""
    known = attempt.ended.phase if attempt.ended is not None else None
    if event.phase != "cancelled" or known == "cancelled" or context.spilled or attempt.adopted:
        return await context.record(attempt, event)
    context.halt_arm(attempt.arm, cancelled_words(attempt.batch_id))
    at = context.now()
    ended = await context.ledger.commit("ended", lambda tx: tx.attempts.end_cancelled(attempt, event, at))
    context.keep(ended)
    return ended


def _is_among(row: int, rows: Sequence[int]) -> bool:
    """Whether it is one of these, which are in order."""
    place = bisect_left(rows, row)
    return place < len(rows) and rows[place] == row


def _ends_in_newline(handle: BinaryIO) -> bool:
    size = handle.seek(0, SEEK_END)
    handle.seek(max(0, size - 1))
    last = handle.read(1)
    handle.seek(0)
    return last == b"\n"
