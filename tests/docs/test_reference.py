"""Every cause, setting, column and error is documented once, and the page says what the code does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from overnight.analysis import verdict_agreement
from overnight.core.result import PASSING, UNASKED, Cause
from overnight.engine.decisions import TRIES
from overnight.settings import VARIABLES
from overnight.tables import attempts, costs, results
from overnight.tasks._pairs import judge_tables as judges
from overnight.tasks._pairs import rankings, verdicts
from overnight.tasks.generate import Generate

DOCS = Path(__file__).parents[2] / "docs"


def test_every_cause_is_explained_and_its_fate_is_right() -> None:
    page = (DOCS / "results.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*) \|$", page.split("## Causes")[1], re.MULTILINE))
    assert set(rows) == set(get_args(Cause))
    for cause, again in rows.items():
        if cause == "unreadable":  # paid for in a batch; a live call's answer may only have been cut on its way
            assert again == f"batches: only with `--reask failed`; live: yes, up to {TRIES} tries"
        elif cause in PASSING:
            assert again == f"yes, up to {TRIES} tries"
        elif cause in UNASKED:
            assert "stays pending" in again
        else:
            assert again == "no" or "--reask" in again


def test_every_setting_is_documented() -> None:
    page = (DOCS / "settings.md").read_text()
    assert all(f"| `{name}` |" in page for name in VARIABLES)


def test_every_column_is_documented() -> None:
    page = (DOCS / "results.md").read_text()
    for name in (*results.COLUMNS, *attempts.COLUMNS, *costs.COLUMNS, *Generate.columns):
        assert f"`{name}`" in page, name


def test_every_column_of_judged_pairs_is_documented() -> None:
    page = (DOCS / "pairwise.md").read_text()
    for table in (verdicts.COLUMNS, rankings.COLUMNS, judges.CONSISTENCY):
        assert f"`{', '.join(table)}`" in page
    bias = list(judges.BIAS)
    assert f"`{', '.join(bias[:5])}`, its verdicts (`{', '.join(bias[5:10])}`)" in page
    assert f"`{', '.join(bias[10:])}`" in page
    agreement = list(verdict_agreement({"first_id": [], "second_id": [], "verdict": [], "judge": []}).columns)
    assert f"stage, arm_a, arm_b, {', '.join(agreement[2:])}`" in page


def test_the_glossary_has_the_nouns() -> None:
    page = (DOCS / "glossary.md").read_text()
    for noun in ("study", "task", "ask", "plan", "shard", "result", "ledger", "arm", "run"):
        assert f"| **{noun}** |" in page
