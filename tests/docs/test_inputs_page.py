"""docs/inputs.md cannot fall behind: every key, column and reason is in it, and every example in it is a study."""

import re
import shutil
from pathlib import Path

import polars as pl
import pytest

from overnight.study import Study, resolve
from overnight.study.document import parse_document
from overnight.study.stage import WrittenStage
from overnight.tasks._inputs.history import REASONS
from overnight.tasks._inputs.questions import Inputs
from overnight.tasks._inputs.tables import INPUTS, LOSSES, ROUNDS
from overnight.tasks.inputs import InputsStage

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "inputs.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def test_every_key_reason_and_column_is_explained():
    own = set(InputsStage.__struct_fields__) - set(WrittenStage.__struct_fields__)
    assert all(f"`{word}`" in PAGE for word in (*own, *REASONS, *Inputs.columns))
    for name, columns in (("inputs", INPUTS), ("input_losses", LOSSES), ("input_rounds", ROUNDS)):
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        assert ", ".join(columns) in row


EXAMPLES = [
    (ROOT / "examples/speceval" / f"{name}.yaml").read_text() for name in ("write_inputs", "inputs_to_verdicts")
]


@pytest.mark.parametrize("text", [*YAML, *EXAMPLES])
def test_every_example_is_a_study(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "speceval", tmp_path, dirs_exist_ok=True)
    table = tmp_path / "runs/library-inputs/tables/inputs.parquet"
    table.parent.mkdir(parents=True)
    pl.DataFrame({"statement_id": ["loan"], "input": ["May I?"]}).write_parquet(table)
    value, _ = parse_document(text, "example.yaml", tmp_path)
    assert resolve(Study.from_mapping(value)).stages
