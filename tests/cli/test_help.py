"""Help: every command explains itself within 80 columns, and asking costs little."""

import functools
import subprocess
import sys

import pytest

from cli.shell import clean_environment
from overnight import __version__
from overnight.cli import main
from overnight.cli.app import build
from overnight.cli.reference import help_text

PAGES = [name for name in build() if not name.startswith("-") and name != "emulator"]
PINNED = {
    *("run", "plan", "submit", "resume", "generate", "status", "watch", "results"),
    *("cancel", "adopt", "resolve", "rebuild", "verify", "keys", "emulator"),
}


@functools.cache
def page_of(name: str) -> str:
    return help_text(build(), name.split())


def test_every_pinned_command_is_there():
    assert set(build()) >= PINNED


def test_the_first_page_groups_the_commands():
    page = page_of("")
    places = [page.index(f"\n{heading}\n") for heading in ("Run", "Look", "Mend", "Tools", "Options")]
    assert places == sorted(places)
    assert page.index("\nRun\n") < page.index("\n  submit ") < page.index("\nLook\n") < page.index("\n  status ")


def test_summaries_are_one_line():
    commands = page_of("").partition("\nRun\n")[2].partition("\nOptions\n")[0]
    wrapped = [line for line in commands.splitlines() if line.startswith("   ")]
    assert wrapped == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_summary_usage_and_examples(name: str):
    page = page_of(name)
    lines = page.splitlines()
    assert lines[0].startswith(f"Usage: overnight {name}")
    assert lines[2].endswith(".")
    if name != "rank-pairs":
        assert f"\nExamples:\n  overnight {name}" in page
    assert "--json" in page


@pytest.mark.parametrize("name", ["", *PAGES])
def test_pages_fit_80_columns(name: str):
    page = page_of(name)
    assert max(len(line) for line in page.splitlines()) <= 80
    # An example that was wrapped would begin a line.
    examples = page.partition("\nExamples:\n")[2]
    assert all(line.startswith("  ") for line in examples.splitlines())


def test_no_arguments_show_the_first_page(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    assert "Usage: overnight COMMAND" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"overnight {__version__}\n"


def test_the_emulator_answers_for_itself(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as left:
        main(["emulator", "--help"])
    assert left.value.code == 0
    assert "--time-scale" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["--version"], ["rnu"]])
def test_asking_for_help_loads_neither_tables_nor_network(arguments: list[str]):
    code = (
        "import sys; from overnight.cli import main; main(sys.argv[1:]); "
        "heavy = {'polars', 'aiohttp', 'asyncio', 'numpy', 'overnight.api', 'overnight.engine', 'overnight_emulator'}; "
        "sys.exit(repr(sorted(heavy & set(sys.modules))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=clean_environment(), capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "[]"
