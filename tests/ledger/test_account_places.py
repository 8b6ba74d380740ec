"""What runs have learned of accounts, in a file and in the database that keeps the runs: the same book."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import own_database
from overnight.ledger.account_book import (
    AccountBook,
    AnswerSize,
    Doubt,
    Lessons,
    Turnaround,
    known_accounts,
    lessons_in,
)
from overnight.ledger.account_places import AccountFile, AccountPlace, SharedAccounts
from overnight.ledger.postgres.address import connect, read_address


@pytest.fixture(params=["file", "database"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> AccountPlace:
    if request.param == "file":
        return AccountFile(tmp_path / "accounts.db")
    return SharedAccounts(read_address(own_database.address_of(tmp_path)), rehearsal=False)


def test_nothing_is_known_before_anything_was_learned(place: AccountPlace) -> None:
    assert known_accounts(place) == []
    assert lessons_in(place) == Lessons()
    with closing(AccountBook(place)) as book:
        assert book.limits("openai|here||") == {}
    assert not place.is_there()


def test_two_books_learn_from_one_another(place: AccountPlace) -> None:
    with closing(AccountBook(place)) as one, closing(AccountBook(place)) as other:
        one.keep_limit("openai|here||", "gpt", 500)
        other.keep_limit("openai|here||", "gpt", 700)
        for book in (one, other):
            book.add_measure("openai|here||", "gpt", 90, 30)
        assert one.limits("openai|here||") == {"gpt": 700}
        assert one.measured("openai|here||", "gpt") == (180, 60)
        one.learn(Lessons(answers=[AnswerSize("openai", "gpt", "", "compare", 3, 2, 10, 40)]))
        other.learn(
            Lessons(
                answers=[AnswerSize("openai", "gpt", "", "compare", 3, 1, 2**52, 5)],
                batches=[Turnaround("openai", 1, 1, 0.5, 0.25)],
            )
        )
        other.learn(Lessons(answers=[AnswerSize("openai", "gpt", "", "compare", 3, 1, 2**52, 5)]))
        assert (one.trouble, other.trouble) == (None, None)
    assert known_accounts(place) == [("openai|here||", "gpt", 700, 180, 60)]
    told = lessons_in(place)
    assert told.answers == [AnswerSize("openai", "gpt", "", "compare", 3, 4, 2**53, 50)]
    assert told.batches == [Turnaround("openai", 1, 1, 0.5, 0.25)]


def test_rehearsals_learn_for_themselves(tmp_path: Path) -> None:
    address = read_address(own_database.address_of(tmp_path))
    with closing(AccountBook(SharedAccounts(address, rehearsal=True))) as book:
        book.keep_limit("openai|here||", "gpt", 500)
    assert known_accounts(SharedAccounts(address, rehearsal=False)) == []
    assert len(known_accounts(SharedAccounts(address, rehearsal=True))) == 1


def test_one_run_at_a_time_has_a_create_in_doubt_at_an_account(tmp_path: Path) -> None:
    place = SharedAccounts(read_address(own_database.address_of(tmp_path)), rehearsal=False)
    here, hour = "anthropic|here||", 3600.0

    def claim(book: AccountBook, run: str, at: float, *, possible: bool = False) -> Doubt | None:
        return book.claim_doubt(here, run, f"run {run}", possible=possible, at=at, since=at - hour)

    with closing(AccountBook(place)) as one, closing(AccountBook(place)) as other:
        assert claim(one, "a", 1_000.0) is None
        assert claim(other, "b", 1_001.0) == Doubt("run a", possible=False)
        assert claim(one, "a", 1_002.0, possible=True) is None
        assert claim(other, "b", 1_003.0) == Doubt("run a", possible=True)
        other.end_doubt(here, "b")  # not its own
        assert claim(other, "b", 1_004.0) == Doubt("run a", possible=True)
        assert other.claim_doubt("anthropic|there||", "b", "run b", possible=False, at=1_004.0, since=0.0) is None
        # Nobody has heard of it for an hour.
        assert claim(other, "b", 1_003.0 + hour) is None
        assert claim(one, "a", 1_004.0 + hour) == Doubt("run b", possible=False)
        other.end_doubt(here, "b")
        assert claim(one, "a", 1_005.0 + hour) is None
        one.forget_use("a")
        assert claim(other, "b", 1_006.0 + hour) is None
        assert (one.trouble, other.trouble) == (None, None)


def test_what_an_older_version_has_learned_is_kept_and_tables_that_came_later_are_made(tmp_path: Path) -> None:
    address = read_address(own_database.address_of(tmp_path))
    place = SharedAccounts(address, rehearsal=False)
    with closing(AccountBook(place)) as book:
        book.keep_limit("openai|here||", "gpt", 500)
    with closing(connect(address)) as db:
        db.execute("DROP TABLE overnight.account_doubt")
    assert len(known_accounts(place)) == 1
    with closing(AccountBook(place)) as book:
        assert book.claim_doubt("anthropic|here||", "a", "run a", possible=False, at=1.0, since=0.0) is None
        assert book.limits("openai|here||") == {"gpt": 500}
        assert book.trouble is None
