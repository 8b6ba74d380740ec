"""Lines of a batch's raw files as results of its rows: many at a time, and column by column."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import BinaryIO

from overnight.core.result import Line, Result
from overnight.ledger.landed import Landed, Places, chosen
from overnight.ledger.raw import digest_of

# What is read at once: a little, so that it stays in the processor's cache.
_BLOCK_BYTES = 1 << 20
# Rows that are committed at once: half of what most providers take in a batch. Lines come in any order, so that every
# commit goes through all the pages that the ledger has of the attempt. No texts are held: these rows are 10 MB.
_COMMITTED_ROWS = 25_000


class AnswerLines:
    """`row_of` names the row of a custom id; `landed` says what results of rows cost, and what becomes of them."""

    def __init__(
        self,
        decode: Callable[[bytes], Line],
        row_of: Callable[[str | None], int | None],
        landed: Callable[[Sequence[int], Sequence[Result], Places], Landed],
    ) -> None:
        self._decode = decode
        self._row_of = row_of
        self._landed = landed
        # What was joined to nothing, in words.
        self.strange: Counter[str] = Counter()

    def chunks(
        self, handle: BinaryIO, file: int, start: int, block: int = _BLOCK_BYTES, at_once: int = _COMMITTED_ROWS
    ) -> Iterator[tuple[int, Landed]]:
        """(how far the file is read, what its lines settle), from `start` on, where `handle` stands.

        Failures come last: of a row that the file holds twice, an answer counts, wherever it stands. Until then the
        file counts as read up to the first of them.
        """
        answers, failures = Landed.none(), Landed.none()
        offset = start
        while lines := handle.readlines(block):
            came = self._joined(file, offset, lines)
            offset += sum(map(len, lines))
            if "failed" in came.outcome:
                lost = [outcome == "failed" for outcome in came.outcome]
                failures.add(came.where(lost))
                came = came.where([not one for one in lost])
            answers.add(came)
            if len(answers) >= at_once:
                yield (failures.offset[0] or 0) if len(failures) else offset, answers
                answers = Landed.none()
        answers.add(failures)
        if offset > start:
            yield offset, answers

    def _joined(self, file: int, offset: int, lines: Sequence[bytes]) -> Landed:
        """What lines say of the rows that they belong to, by their custom ids and nothing else."""
        decode, row_of = self._decode, self._row_of
        starts: Sequence[int] = list(accumulate(map(len, lines), initial=offset))
        decoded: Sequence[Line] = [*map(decode, lines)]
        rows = [None if one.result is None else row_of(one.custom_id) for one in decoded]
        if None in rows:
            self._note_strange(lines, decoded, rows)
            joined = [place for place, row in enumerate(rows) if row is not None]
            lines, starts, decoded = chosen(lines, joined), chosen(starts, joined), chosen(decoded, joined)
        count = len(lines)
        places = Places([file] * count, [*starts[:count]], [*map(len, lines)], [*map(digest_of, lines)])
        known = [row for row in rows if row is not None]
        return self._landed(known, [one.result for one in decoded if one.result is not None], places)

    def _note_strange(self, lines: Sequence[bytes], decoded: Sequence[Line], rows: Sequence[int | None]) -> None:
        for line, one, row in zip(lines, decoded, rows, strict=True):
            if row is not None or not line.strip():
                continue
            if one.custom_id is None or one.result is None:
                self.strange["unreadable lines"] += 1
            else:
                self.strange["lines with a foreign custom id"] += 1
