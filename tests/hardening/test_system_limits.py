"""What the system refuses is told in one line: the path, the cause and the way out. Never a bare errno, never `our own fault`."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hardening.conftest import Shell
from overnight.core.surroundings import disk_trouble, file_words, words_of

LIMITED = (
    "import resource, sys; import overnight.api, overnight.providers.openai, aiohttp, polars; "
    "from overnight.cli import main\n"
    "kind, most = getattr(resource, sys.argv[1]), int(sys.argv[2])\n"
    "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    "resource.setrlimit(kind, (most, most)); sys.exit(main(sys.argv[3:]))\n"
)


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        *(("RLIMIT_NOFILE", most) for most in (5, 8, 10, 12, 14)),
        *(("RLIMIT_FSIZE", most) for most in (0, 200, 4096, 30_000, 60_000)),
    ],
)
def test_limits_are_told_with_the_way_out(shell: Shell, kind: str, most: int) -> None:
    shell.items("id,text\n" + "".join(f"{n},{'word ' * 40}{n}\n" for n in range(300)))
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, kind, str(most), "run", "study.yaml", "-q"],
        capture_output=True, text=True, check=False, cwd=shell.folder, timeout=60,
    )  # fmt: skip
    assert done.returncode in (2, 4), done
    assert "fault of Overnight" not in done.stderr, done
    if done.returncode == 2:
        assert "[Errno" not in done.stderr, done
        assert "ulimit" in done.stderr or "room" in done.stderr, done


@pytest.mark.parametrize("name", ["lock", "ledger.db", "requests", "outbox", "raw", "sent", "holder"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_something_else_in_the_place_of_what_a_run_needs(shell: Shell, name: str, kind: str) -> None:
    run = shell.folder / "runs" / "fruit"
    run.mkdir(parents=True)
    if kind == "file":
        (run / name).write_text("in the way")
    else:
        (run / name).mkdir()
    ending = shell.type("run", "study.yaml")
    assert ending.code in (2, 4), ending
    assert "fault of Overnight" not in ending.err
    assert "[Errno" not in ending.err or ending.code == 4  # nobody listens at the address


def test_a_memory_that_cannot_be_used_stops_nobody(shell: Shell) -> None:
    (shell.folder / "runs").mkdir()
    (shell.folder / "runs" / "accounts.db").write_bytes(b"no database" * 1000)
    ending = shell.type("run", "study.yaml")
    assert ending.code == 4
    assert "not remembered" in ending.err


@pytest.mark.parametrize(
    "number", ["ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EACCES", "EROFS", "EIO", "ENAMETOOLONG", "ENOTDIR", "EISDIR"]
)
def test_every_cause_has_a_way_out(number: str) -> None:
    code = getattr(errno, number)
    error = OSError(code, os.strerror(code), "runs/fruit/raw/x")
    assert "; " in words_of(error)
    assert file_words(error).startswith("runs/fruit/raw/x: ")
    assert str(disk_trouble(Path("a"), error)).startswith("a: cannot write: ")
    assert "Errno" not in file_words(error)
