"""docs/commands.md is what the commands say today, and leaves nothing out."""

from pathlib import Path

import pytest

from overnight.cli.app import build
from overnight.cli.reference import page
from overnight.settings import VARIABLES

DOCS = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_page_is_up_to_date():
    assert DOCS.read_text() == page(), "write it anew: python -m overnight.cli.reference > docs/commands.md"


@pytest.mark.parametrize("name", [name for name in build() if not name.startswith("-") and name != "emulator"])
def test_every_command_and_flag_is_on_the_page(name: str):
    section = DOCS.read_text().partition(f"\n## overnight {name}\n")[2].partition("\n## ")[0]
    assert section
    app = build()
    with app.app_stack([name]):
        flags = {flag for argument in app[name].assemble_argument_collection() for flag in argument.names}
    assert "--verbose" in flags or name == "rank-pairs"
    missing = {flag for flag in flags if flag.startswith("-") and flag not in section}
    assert missing == set()


def test_variables_and_exit_codes_are_on_the_page():
    text = DOCS.read_text()
    assert all(f"| `{name}` |" in text for name in VARIABLES)
    assert all(f"\n| {code} |" in text for code in (0, 1, 2, 3, 4, 5, 130))
