"""The page's examples run, from top to bottom, in one session."""

import re
from pathlib import Path

from overnight import analysis

PAGE = Path(__file__).parents[2] / "docs" / "rankings.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_the_examples_run():
    assert len(BLOCKS) >= 12
    session: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), session)


def test_every_public_function_is_on_the_page():
    text = PAGE.read_text()
    functions = [name for name in analysis.__all__ if name[0].islower()]
    small = {"holm", "mcnemar_counts", "paired_difference", "rate", "ratings_table", "wilson_interval"}
    assert [name for name in functions if name not in text and name not in small] == []


def test_links_within_the_page_lead_somewhere():
    text = PAGE.read_text()
    headings = {
        re.sub(r"[^a-z0-9 -]", "", line[3:].lower()).replace(" ", "-")
        for line in text.splitlines()
        if line.startswith("## ")
    }
    assert set(re.findall(r"\(#([^)]+)\)", text)) == headings
