"""Results as they go in and come out, many at once."""

from __future__ import annotations

import pytest

from ledger.stores import Run, places
from overnight.core.result import Result, Usage, failed
from overnight.ledger.counts import Count
from overnight.ledger.landed import Landed, Places

TURNS = {"a": 1, "b": 3, "c": 2}


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_threads_come_out_whole_however_many_are_read_at_once(run: Run, at_once: int) -> None:
    for turn in range(3):
        run.ask(*(item for item, turns in TURNS.items() if turn < turns), turn=turn)
    chunks = run.verbs.rows.addresses(at_once)
    assert all(chunk.turn[0] == 0 for chunk in chunks)
    found = [place for chunk in chunks for place in zip(chunk.item, chunk.turn, strict=True)]
    assert found == [(item, turn) for item, turns in TURNS.items() for turn in range(turns)]


def test_what_was_not_counted_is_empty_and_nothing_is_nothing(run: Run) -> None:
    """Enough rows that some go in together and some alone."""
    run.ask(*(f"{n:03d}" for n in range(250)))
    attempt = run.send()
    assert attempt is not None
    counted = Result(outcome="answered", answer="yes", usage=Usage(input=7, cached=0, output=1))
    told = [counted if line % 3 else failed("server_error") for line in range(250)]
    lines = [*reversed(range(250))]
    costs = [5 if line % 3 else None for line in lines]
    landed = Landed.of(lines, [told[line] for line in lines], places(lines), costs)
    rows = run.verbs.shards.rows(attempt.shard)
    for _ in range(2):  # what comes twice changes nothing
        run.verbs.answers.take_in(attempt.id, rows, landed, 1.0)
        (tries,) = run.verbs.rows.tries(1000)
        assert list(tries.cause) == [None if line % 3 else "server_error" for line in range(250)]
        assert [raw.cost for raw in run.verbs.rows.raw_results()] == [5 if line % 3 else None for line in range(250)]
        assert run.verbs.counts.kept() == {
            (1, "answered", ""): Count(166, 166, 166, 0, 7 * 166, 0, 166),
            (1, "failed", "server_error"): Count(84, 84, 84, 0),
        }
        assert run.verbs.counts.counted() == run.verbs.counts.kept()


def test_every_count_comes_out_as_it_went_in(run: Run) -> None:
    """Columns that say the same of all rows, of some, and of none; in two files, and with two outcomes."""
    run.ask(*(f"{n:03d}" for n in range(240)))
    wanted = list(run.verbs.copies.wanted())
    attempt = run.send()
    assert attempt is not None
    counts = [(line, None, None if line % 4 else 0, 9, None if line % 5 else line) for line in range(240)]
    results = [Result(outcome="answered" if line % 7 else "refused", usage=Usage(*counts[line])) for line in range(240)]
    where = Places.nowhere(0)
    for line in range(240):
        where.add(1 + line % 2, line * 3, 2, b"%d" % line)
    rows = run.verbs.shards.rows(attempt.shard)
    run.verbs.answers.take_in(attempt.id, rows, Landed.of(range(240), results, where), 1.0)
    found = {one.offset: one for one in run.verbs.copies.answered(wanted)}
    for line, result in enumerate(results):
        kept = found[line * 3]
        assert (kept.outcome, kept.file, kept.length, kept.digest) == (
            result.outcome, 1 + line % 2, 2, b"%d" % line,
        )  # fmt: skip
        assert kept.usage == counts[line]


def test_lines_without_an_answer_are_those_that_the_shard_has(run: Run) -> None:
    run.ask(*"abcdef")
    attempt = run.send()
    assert attempt is not None
    verbs = run.verbs.answers
    assert list(verbs.unanswered_lines(attempt.id, 6)) == [0, 1, 2, 3, 4, 5]
    # An attempt that somebody has altered says that it has more or fewer.
    assert list(verbs.unanswered_lines(attempt.id, 9)) == [0, 1, 2, 3, 4, 5]
    assert list(verbs.unanswered_lines(attempt.id, 2)) == [0, 1]
    rows = run.verbs.shards.rows(attempt.shard)
    answered = Result(outcome="answered", answer="yes")
    for lines, left in (([4, 1], [0, 2, 3, 5]), ([0, 2, 3, 5], [])):
        verbs.take_in(attempt.id, rows, Landed.of(lines, [answered] * len(lines), places(lines)), 1.0)
        assert list(verbs.unanswered_lines(attempt.id, 6)) == left
