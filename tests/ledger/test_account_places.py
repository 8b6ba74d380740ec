"""What runs have learned of accounts, in a file and in the database that keeps the runs: the same book."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

import own_database
from overnight.ledger.account_book import AccountBook, AnswerSize, Lessons, Turnaround, known_accounts, lessons_in
from overnight.ledger.account_places import AccountFile, AccountPlace, SharedAccounts
from overnight.ledger.postgres.address import read_address


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
