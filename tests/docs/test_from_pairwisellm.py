"""docs/from-pairwisellm.md: every name in it exists, every name there is is in it, and its program runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import overnight.pairwise
from overnight.pairwise._judge import OPTIONS
from overnight.pairwise.registry import COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "from-pairwisellm.md").read_text()
NAMED = set(re.findall(r"\bpw\.(\w+)", PAGE))


def test_every_name_on_the_page_exists() -> None:
    assert [name for name in NAMED if not hasattr(overnight.pairwise, name)] == []
    for name in re.findall(r"overnight\.analysis\.(\w+)", PAGE):
        assert hasattr(overnight.analysis, name)


@pytest.mark.parametrize("name", overnight.pairwise.__all__)
def test_every_function_is_on_the_page(name: str) -> None:
    assert name in NAMED
    assert re.search(rf"^\| `.*\b{name}\b", PAGE, re.MULTILINE)


def test_options_and_columns_are_on_the_page() -> None:
    assert all(f"`{option}`" in PAGE for option in OPTIONS)
    assert f"`{', '.join(COLUMNS)}`" in PAGE


def test_the_program_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    environ = {**os.environ, "OVERNIGHT_TIME_SCALE": "6000"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "my-run" / "batch_02_results.csv").exists()
