"""What rows teach: sums by step of size, and nothing from counts that cannot be."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Model, Options
from overnight.core.attempt import Attempt, Ended
from overnight.core.result import Result, Usage, failed
from overnight.engine.account_history import AccountHistory
from overnight.engine.lessons import LessonBook
from overnight.ledger.account_book import Lessons, Turnaround, lessons_in
from overnight.ledger.landed import Landed

MODEL = Model(provider="openai", name="gpt-4.1", options=Options(max_tokens=1_000))
ATTEMPT = Attempt(
    id=1, shard=1, n=1, arm=1, token="t", account=1, rows=100, bytes=1, estimate=1, sha256="", intended_at=0.0,
    submitted_at=1_000.0, ended_at=4_600.0, ended=Ended("completed", "completed"),
)  # fmt: skip


def answered(tokens_in: int | None, tokens_out: int | None, text: str = "yes") -> Result:
    return Result(outcome="answered", answer=text, usage=Usage(input=tokens_in, output=tokens_out))


def taught(*rows: tuple[int, Result], attempt: Attempt = ATTEMPT) -> Lessons:
    book = LessonBook(MODEL, "say")
    book.add([size for size, _ in rows], Landed.of(range(len(rows)), [result for _, result in rows]))
    return book.taken(attempt)


def test_rows_are_summed_by_their_size() -> None:
    told = taught((400, answered(100, 50)), (410, answered(104, 52, "größer")), (8_000, answered(2_000, 50)))
    assert [(one.requests, one.bytes, one.tokens) for one in told.requests] == [(2, 810, 204), (1, 8_000, 2_000)]
    assert [(one.answers, one.tokens, one.bytes) for one in told.answers] == [(3, 152, 14)]
    assert [(one.batches, round(2.718281828**one.sum)) for one in told.batches] == [(1, 3_600)]


@given(st.integers(0, 5_000), st.integers(-5, 2**62), st.integers(-5, 2**62))
def test_absurd_counts_teach_nothing(size: int, tokens_in: int, tokens_out: int) -> None:
    told = taught((size, answered(tokens_in, tokens_out)))
    assert all(0 < one.tokens <= 2 * size + 2_000 for one in told.requests)
    assert all(0 <= one.tokens <= 1_000 for one in told.answers)


def test_what_failed_or_says_nothing_teaches_nothing() -> None:
    told = taught((400, failed("server_error", usage=Usage(input=9, output=9))), (400, answered(None, None)))
    assert (told.answers, told.requests) == ([], [])


def test_only_a_batch_that_came_back_whole_tells_how_long_one_takes() -> None:
    from msgspec.structs import replace

    expired = Ended("expired", "expired")
    for other in ({"ended": expired}, {"adopted": True}, {"live": True}, {"submitted_at": None}, {"ended_at": None}):
        assert taught(attempt=replace(ATTEMPT, **other)).batches == []


def test_what_is_learned_adds_up_over_processes(tmp_path: Path) -> None:
    path = tmp_path / "accounts.db"
    assert lessons_in(path) == Lessons()
    for _ in range(2):
        history = AccountHistory(path)
        history.learn(taught((400, answered(100, 50))))
        history.learn(Lessons())
        history.close()
    told = lessons_in(path)
    assert [tuple(one)[-3:] for one in (*told.answers, *told.requests)] == [(2, 100, 6), (2, 800, 200)]
    assert isinstance(told.batches[0], Turnaround)
    assert told.batches[0].batches == 2
