"""docs/spec.md cannot fall behind: every column is in it, and every example in it is a study."""

import re
import shutil
from pathlib import Path

import pytest

from overnight.study import Study, resolve
from overnight.study.document import parse_document
from overnight.tasks._judging.answer_pairs import Rank
from overnight.tasks._judging.judging import Judging
from overnight.tasks._specs.reading import AUTHORITIES, TYPES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("name", sorted({*Rank.columns, *Judging.columns} - {"template", "thinking"}))
def test_every_column_is_explained(name):
    assert f"`{name}`" in PAGE


def test_every_word_of_a_spec_is_explained():
    assert all(f"`{word}`" in PAGE for word in (*TYPES, *AUTHORITIES))


@pytest.mark.parametrize("text", YAML)
def test_every_example_is_a_study(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "speceval", tmp_path, dirs_exist_ok=True)
    for model in ("gpt-4.1/20250506_115500", "claude-3-7-sonnet/20250506_115521"):
        folder = tmp_path / "generations" / "library" / model / "results"
        folder.mkdir(parents=True)
        (folder / "loan.json").write_text('[{"input_text": "One?", "output_text": "Two."}]')
    value, _ = parse_document(text, "example.yaml", tmp_path)
    assert resolve(Study.from_mapping(value)).stages
