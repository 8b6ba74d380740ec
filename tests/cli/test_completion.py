"""Scripts for shells: what they offer, in the shells themselves."""

import functools
import shutil
import subprocess
from pathlib import Path

import pytest

from overnight.cli.app import build
from overnight.cli.completion import Command, commands, script


@functools.cache
def found() -> list[Command]:
    return list(commands(build()))


def folder_with_runs(folder: Path) -> Path:
    for name in ("runs/fruit", "runs/fig", "runs/no-run", "runs/.rehearsal/pears"):
        (folder / name).mkdir(parents=True)
        if name != "runs/no-run":
            (folder / name / "ledger.db").touch()
    return folder


def test_every_command_and_option_is_known():
    by_name = {one.name: one for one in found()}
    assert {"run", "status", "generate", "rank-pairs", "completion", "emulator"} <= set(by_name)
    assert {"--check", "--log", "--emulate", "--no-emulate"} <= set(by_name["status"].flags)
    assert {"--output", "--runs"} <= set(by_name["results"].valued)
    assert not [option for one in found() for option in one.flags if option.startswith("--no-json")]


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        (("ver",), "verify"),
        (("results", "f"), "fig fruit"),
        (("results", "--emulate", ""), "pears"),
        (("results", "--runs", "runs", "fr"), "fruit"),
        (("status", "fruit", "--che"), "--check"),
        (("results", "fruit", "-o", "ru"), "runs"),
        (("run", "ru"), "runs"),
    ],
)
def test_in_bash(tmp_path: Path, typed: tuple[str, ...], offered: str):
    source = script("bash", found())
    words = " ".join(f"'{word}'" for word in ("overnight", *typed))
    asked = f'{source}\nCOMP_WORDS=({words}); COMP_CWORD={len(typed)}; _overnight; echo "${{COMPREPLY[*]}}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", asked], cwd=folder_with_runs(tmp_path), capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (f"{offered}\n", "")


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not here")
def test_in_fish(tmp_path: Path):
    asked = f"{script('fish', found())}\ncomplete -C 'overnight results f'; complete -C 'overnight status --che'"
    done = subprocess.run(
        ["fish", "--no-config", "-c", asked], cwd=folder_with_runs(tmp_path), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["fig", "fruit", "--check"]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not here")
def test_in_zsh(tmp_path: Path):
    asked = f'{script("zsh", found())}\necho "${{_comps[overnight]}}"; emulate sh; COMP_CWORD=2\n_overnight_runs'
    done = subprocess.run(
        ["zsh", "-f", "-c", asked], cwd=folder_with_runs(tmp_path), env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["_bash_complete", "-o", "filenames", "-F", "_overnight", "fig", "fruit"]
