"""The page about the ledger says what every table and every column is."""

from __future__ import annotations

import re
from pathlib import Path

from ledger.damage import columns
from ledger.stores import open_new

PAGE = (Path(__file__).parents[2] / "docs" / "ledger.md").read_text()


def test_every_table_and_column_is_on_the_page(tmp_path: Path) -> None:
    with open_new("sqlite", tmp_path) as (_, folder):
        made = {table: set(names) for table, names in columns(folder.path).items()}
    told = {
        row[0]: set(re.findall(r"`(\w+)`", row[1]))
        for row in re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", PAGE, re.MULTILINE)
    }
    assert sorted(told) == sorted(made)
    assert {table: made[table] - told[table] for table in made if made[table] - told[table]} == {}


def test_every_group_of_verbs_is_on_the_page(tmp_path: Path) -> None:
    with open_new("sqlite", tmp_path) as (ledger, _):
        groups = ledger.write("look", lambda tx: [name for name in vars(tx) if not name.startswith("_")]).result()
    assert [name for name in groups if f"`{name}`" not in PAGE] == []
