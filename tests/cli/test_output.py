"""Standard output: any character set, any reader, and readers that leave."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.live import Live
from rich.table import Table

from cli.shell import clean_environment
from overnight.cli.output import Output, console_on


def test_a_pipe_is_neither_cut_nor_padded(capsys: pytest.CaptureFixture[str]):
    table = Table(box=None, pad_edge=False)
    table.add_column("name")
    table.add_column("text")
    table.add_row("a", "long " * 100)
    Output().print(table, "plain [bold]text[/bold] :smile:", "x" * 300)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"a     {'long ' * 100}".rstrip()
    assert lines[2:] == ["plain [bold]text[/bold] :smile:", "x" * 300]


def test_a_document_is_json_in_utf8(capfdbinary: pytest.CaptureFixture[bytes]):
    Output().document({"path": Path("obst/äpfel"), "n": 1})
    assert capfdbinary.readouterr().out.decode() == '{\n  "path": "obst/äpfel",\n  "n": 1\n}\n'


@pytest.mark.parametrize(("columns", "width"), [("77", 77), ("nonsense", 120), ("", 120)])
def test_the_width_of_a_pipe(columns: str, width: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "__stdout__", None)
    assert Output().width == width


def printing(code: str, **env: str) -> "subprocess.CompletedProcess[bytes]":
    program = f"from overnight.cli.output import Output\npaper = Output()\n{code}"
    return subprocess.run(
        [sys.executable, "-c", program], env=clean_environment(**env), capture_output=True, check=False
    )


def test_a_terminal_without_the_letters():
    done = printing("paper.print('äpfel …'); paper.document('äpfel')", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert done.stdout == b'\\xe4pfel \\u2026\n"\xc3\xa4pfel"\n'


def test_a_reader_that_left_is_noticed_once():
    program = (
        "import sys; from overnight.cli.output import Output; paper = Output()\n"
        "sys.stdin.readline()\n"
        "paper.write('x' * 100_000); first = paper.heard; paper.write('y'); paper.document([])\n"
        "sys.exit(7 if first is False else 8)"
    )
    ours, theirs = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-c", program], env=clean_environment(), stdin=subprocess.PIPE, stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        os.close(theirs)
        os.close(ours)
        _, complaint = process.communicate(b"\n", timeout=60)
    assert process.returncode == 7
    assert complaint == b""


STRANGE = "a\x1b[2J\x1b]0;owned\x07b\u202ec\x9bd\re[red]f"


def test_no_text_steers_the_terminal(capsys: pytest.CaptureFixture[str]):
    table = Table(STRANGE, box=None, title=STRANGE)
    table.add_row(STRANGE)
    Output().print(table, STRANGE)
    shown = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert shown.count("[red]") == 4  # markup is text as well


def test_no_text_steers_what_is_drawn():
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    console = console_on(stream)
    with Live(console=console, get_renderable=lambda: STRANGE, transient=True) as live:
        console.print(STRANGE)
        live.refresh()
    for part in ("\x1b[2J", "\x1b]0", "\x07", "\u202e", "\x9b"):
        assert part not in stream.getvalue()
    assert "\x1b[" in stream.getvalue()  # our own moves are still made
