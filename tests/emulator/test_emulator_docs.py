"""The manual mentions everything there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import yaml

from overnight_emulator.command import _parser
from overnight_emulator.control import PREFIX
from overnight_emulator.dialects.all import DIALECTS
from overnight_emulator.faults.kinds import KINDS
from overnight_emulator.truth import Truth
from overnight_emulator.truth_file import _Loader, read_truth

MANUAL = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", MANUAL, re.DOTALL)
BLOCKS = [yaml.load(block, _Loader) for block in re.findall(r"```yaml\n(.*?)```", MANUAL, re.DOTALL)]


def test_every_flag_is_there():
    for action in _parser()._actions:
        if "--help" not in action.option_strings:
            assert f"| `{action.option_strings[0]}" in MANUAL


def test_every_key_of_the_truth_is_there():
    (whole,) = [block for block in BLOCKS if "seed" in block]
    for field in msgspec.structs.fields(Truth):
        assert field.name in whole
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            assert {inner.name for inner in msgspec.structs.fields(field.type)} == set(whole[field.name])


def test_every_misdeed_and_every_key_of_it_is_there():
    for on, deeds in KINDS.items():
        assert f"`{on}`" in MANUAL
        for do, keys in deeds.items():
            assert f"`{do}`" in MANUAL
            for key in keys:
                assert re.search(rf"`{key}[:`]", MANUAL), key


def test_every_request_and_dialect_is_there():
    for what in ("log", "time", "advance", "finish", "faults", "foreign", "health", "reset"):
        assert f"{PREFIX}{what}`" in MANUAL
    for dialect in DIALECTS:
        assert f"`{dialect.prefix}`" in MANUAL


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_is_a_truth(block):
    assert read_truth({**block, "qualities": {}}) is not None


def test_every_example_of_a_test_passes(tmp_path):
    tests = [block for block in PYTHON if "def test_" in block]
    assert tests
    for number, block in enumerate(tests):
        (tmp_path / f"test_example_{number}.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "overnight_emulator.pytest_plugin", "-p", "no:cacheprovider"]
    run = subprocess.run([*command, str(tmp_path)], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 0, run.stdout + run.stderr
