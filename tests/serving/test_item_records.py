"""One item read from the ledger is what the tables have of it."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from overnight.core.errors import LedgerError, UnknownName
from overnight.ledger.account_book import AccountBook, known_accounts
from overnight.ledger.ledger import look_at
from overnight.serving.item_records import item_record
from overnight.store.run_folder import RunFolder
from serving.runs_to_show import HOSTILE_ID


@pytest.mark.parametrize("run", ["answers", "pairs", "talk", "spec"])
def test_its_rows_are_those_of_the_table(runs: Path, run: str) -> None:
    folder = RunFolder(runs / ".rehearsal" / run)
    table = pl.read_parquet(folder.tables / "results.parquet")
    for name in table["item_id"].unique():
        found = item_record(folder, name)
        rows = [turn.row for thread in found.threads for turn in thread.turns]
        assert rows == table.filter(pl.col("item_id") == name).to_dicts()
        assert all(turn.request.data.startswith(b"{") for thread in found.threads for turn in thread.turns)


def test_items_have_neighbours_by_name(runs: Path) -> None:
    folder = RunFolder(runs / ".rehearsal" / "answers")
    names = sorted(pl.read_parquet(folder.tables / "results.parquet")["item_id"].unique().to_list())
    assert HOSTILE_ID in names
    for before, name, after in zip([None, *names], names, [*names[1:], None], strict=False):
        found = item_record(folder, name)
        assert (found.before, found.after) == (before, after)
    with pytest.raises(UnknownName, match="has asked nothing about an item 'none'"):
        item_record(folder, "none")


def test_what_was_learned_of_accounts_is_read_from_outside(tmp_path: Path) -> None:
    path = tmp_path / "accounts.db"
    assert known_accounts(path) == []
    assert not path.exists()
    book = AccountBook(path)
    book.keep_limit("openai|here||", "gpt", 500)
    book.add_measure("openai|here||", "gpt", 90, 30)
    book.add_measure("openai|here||", "other", 8, 2)
    book.close()
    assert known_accounts(path) == [("openai|here||", "gpt", 500, 90, 30), ("openai|here||", "other", None, 8, 2)]
    path.write_text("this is no database, and long enough to be taken for none")
    with pytest.raises(LedgerError, match=r"accounts\.db"):
        known_accounts(path)


def test_later_stages_are_found_from_the_answers_that_they_are_about(runs: Path) -> None:
    folder = RunFolder(runs / ".rehearsal" / "spec")
    table = pl.read_parquet(folder.tables / "results.parquet")
    answers = item_record(folder, "rule_0_0")
    assert answers.origin is None
    for thread in answers.threads:
        (later,) = thread.later
        assert (later.stage, later.id) == ("comply", f"rule_0_0@{thread.arm.name}")
        assert list(later.rows) == table.filter(pl.col("item_id") == later.id).to_dicts()
        back = item_record(folder, later.id)
        assert back.origin == ("rule_0_0", thread.arm.name)
        assert all(not one.later for one in back.threads)
    (pair,) = answers.together
    assert (pair.stage, len(pair.rows)) == ("rank", 2)
    assert pair.id.startswith("rule_0_0|")
    assert item_record(folder, pair.id).origin == ("rule_0_0", None)
    # Another item's, whose name begins the same.
    assert all("rule_1" in one.id for one in item_record(folder, "rule_1_0").together)


def test_names_that_begin_alike_are_found_by_whole_marks(runs: Path) -> None:
    with look_at(RunFolder(runs / ".rehearsal" / "answers")) as view:
        assert view.rows.names_from("essay", 3) == ["essay 0", "essay 1", "essay 2"]
        assert view.rows.names_from("essay 1", 9) == ["essay 1"]
        assert view.rows.names_from("none", 9) == []
