"""Lines of raw files, by the block: what goes on record is what one line after another would come to."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ledger.stores import Run, open_new
from overnight.core.attempt import Attempt
from overnight.core.result import Result
from overnight.core.shard import custom_id, line_of, lines_of
from overnight.engine.batch.answer_lines import AnswerLines
from overnight.ledger.landed import Landed, Places
from overnight.ledger.raw import digest_of
from overnight.providers.openai_api.rows import decode

ROWS = 6
# Row, outcome, cause, cost, offset, length, digest, whether it counts.
Kept = tuple[int, str, str | None, int | None, int, int, bytes, bool]


def answer(name: str, text: str = "yes", reason: str = "stop", tokens: object = 7) -> bytes:
    choice = {"message": {"content": text}, "finish_reason": reason}
    usage = {"prompt_tokens": tokens, "completion_tokens": 2}
    body = {"choices": [choice], "usage": usage}
    return msgspec.json.encode({"custom_id": name, "response": {"status_code": 200, "body": body}})


def failure(name: str, status: int) -> bytes:
    return msgspec.json.encode({"custom_id": name, "response": {"status_code": status, "body": {}}})


def names(token: str) -> st.SearchStrategy[str]:
    ours = st.integers(0, ROWS - 1).map(lambda row: custom_id(token, row))
    almost = st.sampled_from(["-1", "01", " 1", "1 ", "1_0", "+1", "\u0661", str(ROWS), "9" * 30, "", "1\n"])
    return st.one_of(ours, ours, ours, almost.map(lambda number: f"o{token}-{number}"), st.text(max_size=3))


def lines(token: str) -> st.SearchStrategy[bytes]:
    whole = st.one_of(
        st.builds(answer, names(token)),
        st.builds(
            answer,
            names(token),
            st.sampled_from(["", "no", "größer", "\x85 "]),
            st.sampled_from(["stop", "length", "content_filter"]),
            st.sampled_from([1, None, "many", -1, 2**60]),
        ),
        st.builds(failure, names(token), st.sampled_from([400, 429, 500])),
    )
    damaged = st.builds(lambda line, cut: line[:cut], whole, st.integers(0, 80))
    bare_or_not = st.builds(lambda line, around: around + line + around, whole, st.sampled_from([b" ", b"\t", b"\x0c"]))
    return st.one_of(whole, whole, damaged, bare_or_not, st.sampled_from([b"", b"\r", b"<html>", b"null", b"[]"]))


def landed(rows: Sequence[int], results: Sequence[Result], places: Places) -> Landed:
    """Some failures go back to the queue."""
    tries = [1 if one.cause == "rate_limited" else None for one in results]
    return Landed.of(rows, results, places, [one.usage.input for one in results], tries)


@contextmanager
def sent() -> Iterator[tuple[Run, Attempt]]:
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder,
        open_new("sqlite", Path(folder) / "run") as (ledger, files),
    ):
        run = Run(ledger, files)
        run.ask(*(str(row) for row in range(ROWS)))
        attempt = run.send()
        assert attempt is not None
        yield run, attempt


with sent() as (_, _attempt):
    TOKEN = _attempt.token


def one_by_one(content: bytes) -> list[Kept]:
    """The first answer of each row, or its first failure where it has no answer."""
    kept: dict[int, Kept] = {}
    offset = 0
    for line in io.BytesIO(content).readlines():
        told = decode(line.strip())
        row = line_of(TOKEN, told.custom_id or "")
        if row is not None and row < ROWS and (result := told.result) is not None:
            place = (offset, len(line), digest_of(line), result.cause != "rate_limited")
            found = (row, result.outcome, result.cause, result.usage.input, *place)
            if row not in kept or (kept[row][1] == "failed" and result.outcome != "failed"):
                kept[row] = found
        offset += len(line)
    return [kept[row] for row in sorted(kept)]


@settings(max_examples=60, deadline=None)
@given(
    content=st.lists(lines(TOKEN), max_size=25).map(b"\n".join),
    ends=st.booleans(),
    block=st.sampled_from([1, 300, 1 << 20]),
    at_once=st.integers(1, 9),
    killed=st.integers(0, 6),
)
@example(
    content=b"\n".join([failure(f"o{TOKEN}-1", 500), answer(f"o{TOKEN}-1")]), ends=True, block=1, at_once=1, killed=1
)
def test_any_lines_come_to_what_they_come_to_one_by_one(
    content: bytes, ends: bool, block: int, at_once: int, killed: int
) -> None:
    """However many are read and committed at once, and wherever the process dies in between."""
    content += b"\n" if ends else b""
    with sent() as (run, attempt):
        rows = run.verbs.shards.rows(attempt.shard)
        for most in (killed, len(content) + 1):
            start = run.verbs.answers.read_offset(attempt.id, 1)
            handle = io.BytesIO(content)
            handle.seek(start)
            coming = AnswerLines(decode, lines_of(TOKEN, ROWS), landed).chunks(handle, 1, start, block, at_once)
            for _, (end, came) in zip(range(most), coming, strict=False):
                run.verbs.answers.take_in(attempt.id, rows, came, 1.0)
                run.verbs.answers.set_read_offset(attempt.id, 1, end)
        found = [
            (raw.line, raw.outcome, raw.cause, raw.cost, raw.offset, raw.length, raw.digest, raw.used)
            for raw in run.verbs.rows.raw_results()
        ]
        assert found == one_by_one(content)
        assert run.verbs.counts.kept() == run.verbs.counts.counted()
        assert run.verbs.answers.read_offset(attempt.id, 1) == len(content)


def test_what_is_joined_to_nothing_is_counted_by_what_it_is() -> None:
    content = [answer(f"o{TOKEN}-0"), answer("somebody's"), b"<html>", b" ", answer(f"o{TOKEN}-{ROWS}"), b'{"id":1}']
    reader = AnswerLines(decode, lines_of(TOKEN, ROWS), landed)
    ((_, came),) = reader.chunks(io.BytesIO(b"\n".join(content)), 1, 0)
    assert came.line == [0]
    assert reader.strange == {"lines with a foreign custom id": 2, "unreadable lines": 2}
