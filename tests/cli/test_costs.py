"""`costs`: the bill, on the emulator."""

import json
from pathlib import Path

import pytest

from cli.shell import STUDY
from overnight.cli import main
from overnight.prices.catalogue import newest


def test_the_bill(study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "20000")
    (study / "fruit.yaml").write_text(STUDY.replace("mini]", "mini, openai/gpt-99]"))
    assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
    capsys.readouterr()
    assert main(["costs", "fruit", "--emulate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["arm", "tries"]
    assert lines[1].startswith("gpt-4.1-mini")
    assert "unknown: no price" in lines[2]
    assert lines[-2] == f"prices: {newest().origin}"
    assert lines[-1].startswith("fruit: $0.")
    assert lines[-1].endswith(", without 1 arms that have no price")
    assert main(["costs", "fruit", "--emulate", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["settled"] is None for row in rows] == [False, True]
    assert [row["price_source"] for row in rows] == [newest().origin, ""]
