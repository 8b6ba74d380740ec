"""What a folder shows beside its ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from overnight.core.errors import LedgerError, LedgerLost
from overnight.core.shard import TOKEN_LENGTH
from overnight.ledger.traces import Sent, mark_sent, no_ledger, sent_attempts, traces
from overnight.store.run_folder import RunFolder

A, B = "a" * TOKEN_LENGTH, "b" * TOKEN_LENGTH


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.make()
    return made


def test_what_was_sent_is_told_in_its_order(folder: RunFolder) -> None:
    assert sent_attempts(folder.marks) == {}
    marked: dict[str, Sent] = {B: "live", A: "batch"}
    for token, what in marked.items():
        mark_sent(folder.marks, token, what)
    assert list(sent_attempts(folder.marks).items()) == [*marked.items()]


@pytest.mark.parametrize("torn", [b"\n", A[:5].encode(), f"\n{A} bat".encode(), b"\xff\x00"])
def test_a_torn_line_was_sent_by_nobody(folder: RunFolder, torn: bytes) -> None:
    (folder.path / "sent").write_bytes(torn)
    assert traces(folder) == []
    mark_sent(folder.marks, B, "untagged")
    assert sent_attempts(folder.marks) == {B: "untagged"}


def test_a_folder_in_the_place_of_the_mark_is_one_clear_error(folder: RunFolder) -> None:
    (folder.path / "sent").mkdir()
    with pytest.raises(LedgerError, match="run/sent: cannot read: a folder is in the place of a file"):
        sent_attempts(folder.marks)
    with pytest.raises(LedgerError, match="run/sent: cannot write: a folder is in the place of a file"):
        mark_sent(folder.marks, A, "batch")


def test_files_without_a_ledger_are_traces_of_one(folder: RunFolder) -> None:
    assert no_ledger(folder)
    for half in ("raw/x.jsonl.part", "tables/results.parquet.part"):
        (folder.path / half).touch()
    assert no_ledger(folder)
    for whole in ("tables/results.parquet", "items/00001.jsonl"):
        (folder.path / whole).touch()
    mark_sent(folder.marks, A, "batch")
    assert traces(folder) == ["items/", "tables/", "sent"]
    with pytest.raises(LedgerLost, match=r"ledger\.db is gone, but the folder holds a run \(items/, tables/, sent\)"):
        no_ledger(folder)
