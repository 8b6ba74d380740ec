"""What a batch that has ended gives up: downloaded whole, read once, row by row.

A row is missing only when two whole downloads agree that it is in neither file.
"""

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from overnight.core.attempt import Attempt, Closed, Ended, Fetched
from overnight.core.errors import Gone, Unavailable
from overnight.core.result import Cause, Line, failed
from overnight.core.shard import line_of
from overnight.engine.decisions import Download, backoff, complete
from overnight.engine.desk import Desk
from overnight.engine.landing import Fresh, Landing, Settling
from overnight.engine.loose_line import LooseLine
from overnight.engine.outbox import line_overhead
from overnight.engine.scene import Scene
from overnight.ledger.answers import paths, read_offset, set_read_offset, unanswered_lines
from overnight.ledger.folder import DurableFile
from overnight.ledger.questions import files_on_record
from overnight.ledger.raw import check_file, digest_of
from overnight.ledger.shards import finish_shard, foreign_lines, record
from overnight.providers._contract import Counts

# What is read at once is committed at once. More would save a little time, and hold on to memory for good.
_CHUNK_BYTES = 4 << 20
_BUFFER_BYTES = 1 << 20
_DOWNLOAD_TRIES = 4
# The most that a file may have, for its shard: far above any answer in text.
_LEAST_ALLOWED = 64 << 20
_ALLOWED_FOR_A_ROW = 4 << 20
# What a row in neither file is called, by how its batch ended.
_ABSENT: dict[str, Cause] = {"expired": "expired", "cancelled": "cancelled", "gone": "gone"}


class Part:
    """One file on its way down: its bytes, and enough about its shape to judge whether it is whole."""

    def __init__(self, kind: str, file: DurableFile, rows: int) -> None:
        self.kind = kind
        self.file = file
        self._most = _LEAST_ALLOWED + rows * _ALLOWED_FOR_A_ROW
        self._lines = 0
        self._loose = LooseLine()

    def write(self, chunk: bytes) -> None:
        """Unavailable for what can be no file of this shard: a download that does not end would fill the disk."""
        self.file.write(chunk)
        self._lines += chunk.count(b"\n")
        self._loose.add(chunk)
        if self.file.bytes > self._most:
            raise Unavailable(f"the {self.kind} file is larger than {self._most >> 20:,} MB, too much for its rows")

    def facts(self, announced: int | None, readable: Callable[[bytes], bool]) -> Download:
        tail = self._loose.rest
        loose = bool(tail.strip())
        return Download(
            kind=self.kind,
            bytes=self.file.bytes,
            announced=announced,
            lines=self._lines + int(loose),
            ends_with_newline=not loose,
            last_line_whole=loose and readable(tail),
        )


class Arrivals:
    def __init__(self, scene: Scene, desk: Desk, attempt: Attempt) -> None:
        self._scene = scene
        self._desk = desk
        self._attempt = attempt
        self._landing: Landing
        self._foreign: dict[str, int] | None = None
        self._strange: Counter[str] = Counter()

    async def bring_in(self) -> Attempt:
        """Download, read, and close; ask the provider a second time about rows that did not come."""
        db, shard = self._scene.db, self._attempt.shard
        overhead = line_overhead(self._desk.batches, self._scene.arms[self._attempt.arm].model)
        self._landing = await Landing.of(self._scene, self._attempt, overhead)
        if self._attempt.adopted:
            self._foreign = await asyncio.to_thread(lambda: foreign_lines(db.reader(), shard))
        if self._attempt.state == "ended":
            await self._download(1)
        else:
            await asyncio.to_thread(self._check_files)
        await self._read_files()
        lines = await self._unanswered()
        if lines and self._attempt.downloads < 2 and self._phase != "gone":
            await self._look_again()
            await self._read_files()
            lines = await self._unanswered()
        await self._note_strange()
        await self._close(lines)
        return self._attempt

    @property
    def _ended(self) -> Ended:
        ended = self._attempt.ended
        assert ended is not None  # only ended attempts come here
        return ended

    @property
    def _phase(self) -> str:
        return self._ended.phase

    # --- down the wire

    async def _look_again(self) -> None:
        """The batch may have named no file, or another one, too early: see it once more, then download."""
        provider, batch_id = self._desk.batches, self._attempt.batch_id or ""
        batch = await self._desk.patiently(lambda: provider.retrieve(batch_id))
        parts = batch.parts if batch is not None and batch.parts else self._ended.parts
        await self._download(2, parts)

    async def _download(self, number: int, parts: Sequence[tuple[str, str]] | None = None) -> None:
        files: list[int] = []
        past = False
        try:
            async with self._desk.fetching:
                for kind, ref in self._ended.parts if parts is None else parts:
                    files.append(await self._download_part(kind, ref, number))
        except Gone as gone:
            past = True
            await self._scene.note("gone", str(gone), self._attempt)
            self._scene.say(f"shard {self._attempt.shard}: {gone}")
        self._attempt = await self._scene.record(self._attempt, Fetched((*self._attempt.files, *files), number, past))

    async def _download_part(self, kind: str, ref: str, number: int) -> int:
        """One whole file on disk and on record. A doubt that two downloads share is the provider's own."""
        doubts: list[tuple[str, str]] = []
        suffix = "" if number == 1 else f"-{number}"
        path = self._scene.folder.file(f"raw/{self._attempt.token}-{kind}{suffix}.jsonl")
        while True:
            file = DurableFile(path)
            doubt = await self._stream(Part(kind, file, self._attempt.rows), ref)
            seen = (doubt or "", file.sha256)
            if doubt is None or seen in doubts:
                break
            file.drop()
            doubts.append(seen)
            if len(doubts) >= _DOWNLOAD_TRIES:
                message = f"shard {self._attempt.shard}: the {kind} file does not come whole: {doubt}"
                raise Unavailable(message)
            await self._scene.patience.pause(backoff(len(doubts) - 1))
        file.keep()
        return await self._scene.db.commit("file", lambda db: self._register(db, file))

    def _register(self, db: sqlite3.Connection, file: DurableFile) -> int:
        relative = str(file.path.relative_to(self._scene.folder.path))
        db.execute("DELETE FROM file WHERE path=?", (relative,))
        # An empty file stays on record too: it is what the provider gave.
        row = db.execute(
            "INSERT INTO file(path, bytes, sha256) VALUES(?,?,?) RETURNING id", (relative, file.bytes, file.sha256)
        ).fetchone()
        return int(row[0])

    async def _stream(self, part: Part, ref: str) -> str | None:
        """Why the download is in doubt, or None."""
        try:
            announced = await self._scene.patience.while_going(self._desk.batches.fetch(ref, part.write))
        except Unavailable as error:
            return str(error)
        except BaseException:
            part.file.drop()
            raise
        counts = Counts(completed=self._ended.completed, failed=self._ended.failed)
        return complete(part.facts(announced, self._readable), counts)

    def _readable(self, line: bytes) -> bool:
        return self._desk.provider.decode(line).custom_id is not None

    # --- into the ledger

    def _check_files(self) -> None:
        """What an earlier process downloaded: a row that a damaged file no longer holds would be asked again."""
        for file in files_on_record(self._scene.db.reader(), self._attempt.files):
            check_file(self._scene.folder, *file)

    async def _read_files(self) -> None:
        names = await asyncio.to_thread(lambda: paths(self._scene.db.reader()))
        for number in self._attempt.files:
            async with self._scene.reading:
                await self._read_file(number, names[number])

    async def _read_file(self, number: int, relative: str) -> None:
        """In chunks; results, fates and how far we are become durable together."""
        scene, attempt = self._scene, self._attempt
        start = await asyncio.to_thread(lambda: read_offset(scene.db.reader(), attempt.id, number))
        chunks = self._chunks(number, scene.folder.file(relative), start)
        while chunk := await asyncio.to_thread(next, chunks, None):
            await self._take_in(number, *chunk)

    def _chunks(self, number: int, path: Path, start: int) -> Iterator[tuple[int, list[Settling]]]:
        """(offset after the chunk, what its lines settle) of a raw file, from `start` on; for a worker thread."""
        decode = self._desk.provider.decode
        with path.open("rb", buffering=_BUFFER_BYTES) as handle:
            handle.seek(start)
            offset = start
            while lines := handle.readlines(_CHUNK_BYTES):
                landed = []
                for line in lines:
                    text = line.strip()
                    if text and (one := self._joined(number, offset, line, decode(text))) is not None:
                        landed.append(one)
                    offset += len(line)
                yield offset, landed

    def _joined(self, number: int, offset: int, line: bytes, decoded: Line) -> Settling | None:
        """The row a line belongs to, by its custom id and nothing else."""
        if decoded.custom_id is None or decoded.result is None:
            self._strange["unreadable lines"] += 1
            return None
        if self._foreign is not None:
            row = self._foreign.get(decoded.custom_id)
        else:
            row = line_of(self._attempt.token, decoded.custom_id)
        if row is None or row >= len(self._landing.rows):
            self._strange["lines with a foreign custom id"] += 1
            return None
        return self._landing.row(row, decoded.result, (number, offset, len(line), digest_of(line)))

    async def _take_in(self, file: int, end: int, landed: list[Settling]) -> None:
        scene, attempt, at = self._scene, self._attempt, self._scene.now()

        def fact(db: sqlite3.Connection) -> Fresh:
            fresh = self._landing.settle(db, landed, at)
            set_read_offset(db, attempt.id, file, end)
            return fresh

        self._landing.count(await scene.db.commit("results", fact))

    async def _unanswered(self) -> list[int]:
        attempt = self._attempt
        return await asyncio.to_thread(lambda: unanswered_lines(self._scene.db.reader(), attempt.id, attempt.rows))

    async def _note_strange(self) -> None:
        if self._strange:
            text = ", ".join(f"{count} {what}" for what, count in sorted(self._strange.items()))
            await self._scene.note("strange", text, self._attempt)
            self._scene.say(f"shard {self._attempt.shard}: {text}, kept in raw/ and joined to nothing")

    async def _close(self, missing: list[int]) -> None:
        """Rows without an answer get their cause, the attempt its end, the shard its rest: one transaction."""
        scene, attempt, at = self._scene, self._attempt, self._scene.now()
        cause = "gone" if attempt.gone else _ABSENT.get(self._phase, "missing")
        result = failed(cause, self._ended.message)
        landed = [self._landing.row(line, result) for line in missing]

        def fact(db: sqlite3.Connection) -> tuple[Attempt, Fresh]:
            fresh = self._landing.settle(db, landed, at)
            closed = record(db, attempt, Closed("ingested"), at)
            finish_shard(db, attempt.shard, at)
            return closed, fresh

        self._attempt, fresh = await scene.db.commit("closed", fact)
        self._landing.count(fresh)
        scene.keep(self._attempt)
        self._landing.remember_density()
        if self._phase == "cancelled" and not scene.spilled:
            scene.halt_arm(attempt.arm, f"batch {attempt.batch_id} was cancelled; `run` asks its rows again")
