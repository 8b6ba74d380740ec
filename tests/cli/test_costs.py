"""`costs`: the bill of a run, of several and of all, on the emulator."""

import json
from pathlib import Path

import polars as pl
import pytest

import overnight as on
from cli.shell import STUDY
from overnight.cli import main
from overnight.prices.catalogue import newest


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "20000")


def rehearse(study: Path, name: str, prices: str = "") -> None:
    (study / f"{name}.yaml").write_text(STUDY.replace("name: fruit", f"name: {name}") + prices)
    assert main(["run", f"{name}.yaml", "--emulate", "-q"]) == 0


def test_the_bill(study: Path, capsys: pytest.CaptureFixture[str]):
    (study / "fruit.yaml").write_text(STUDY.replace("mini]", "mini, openai/gpt-99]"))
    assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
    capsys.readouterr()
    assert main(["costs", "fruit", "--emulate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["arm", "tries"]
    assert lines[1].startswith("gpt-4.1-mini")
    assert "unknown" in lines[2]
    assert lines[-2] == f"prices: {newest().origin}"
    assert lines[-1].startswith("fruit: $0.")
    assert lines[-1].endswith(" saved by batches, without 1 arms that have no price")
    assert main(["costs", "fruit", "--emulate", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["settled"] is None for row in rows] == [False, True]
    assert [row["price_source"] for row in rows] == [newest().origin, ""]
    # A batch costs half, so that as much was saved; an answer is a third of it.
    assert rows[0]["saved"] == pytest.approx(rows[0]["settled"])
    assert rows[0]["per_answer"] == pytest.approx(rows[0]["settled"] / 3)
    assert [rows[1][name] for name in ("saved", "per_answer", "answers")] == [None, None, 3]


def test_all_runs_and_one_that_cannot_be_read(study: Path, capsys: pytest.CaptureFixture[str]):
    for name in ("pears", "plums"):
        rehearse(study, name)
    ledger = study / "runs" / ".rehearsal" / "plums" / "ledger.db"
    whole = ledger.read_bytes()
    capsys.readouterr()
    assert main(["costs", "--emulate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["run", "pears", "plums", "all"]
    ledger.write_bytes(b"not a ledger any more" * 300)
    assert main(["costs", "--emulate", "--by", "provider", "--by", "day"]) == 2
    seen = capsys.readouterr()
    assert seen.out.splitlines()[0].split()[:2] == ["provider", "day"]
    assert seen.out.splitlines()[1].startswith("openai")
    assert seen.err.count("\n") == 1
    assert "plums" in seen.err
    frame = on.costs(emulate=True)
    assert frame.filter(pl.col("trouble").is_not_null())["run"].to_list() == ["plums"]
    assert frame["rows"].to_list() == [3, None]
    assert "<table" in frame._repr_html_()
    ledger.write_bytes(whole)
    assert main(["costs", "pears", "plums", "--emulate", "--by", "model", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["model"], row["rows"], row["unpriced"]) == ("gpt-4.1-mini", 6, 0)


@pytest.mark.parametrize("ending", ["csv", "json", "jsonl", "parquet"])
def test_files(study: Path, capsys: pytest.CaptureFixture[str], ending: str):
    rehearse(study, "fruit")
    capsys.readouterr()
    assert main(["costs", "fruit", "--emulate", "--by", "stage", "-o", f"bill.{ending}"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"; wrote bill.{ending}")
    read = {"csv": pl.read_csv, "json": pl.read_json, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[ending]
    assert read(study / f"bill.{ending}")["rows"].to_list() == [3]
    assert main(["costs", "fruit", "--emulate", "-o", "bill.xls"]) == 2
    assert "cannot write '.xls'" in capsys.readouterr().err


def test_an_old_run_at_newer_prices(study: Path, capsys: pytest.CaptureFixture[str]):
    prices = study / "prices.yaml"
    prices.write_text("openai/gpt-4.1-mini: {input: 1, output: 2, batch: 1}\n")
    rehearse(study, "fruit", "prices: prices.yaml\n")
    before = on.costs("fruit", emulate=True)
    prices.write_text("openai/gpt-4.1-mini: {input: 3, output: 6, batch: 1}\n")
    (row,) = on.costs("fruit", reprice=True, emulate=True).iter_rows(named=True)
    assert row["settled"] == before["settled"][0]
    assert row["repriced"] == pytest.approx(3 * row["settled"])
    capsys.readouterr()
    assert main(["costs", "fruit", "--emulate", "--reprice"]) == 0
    assert "; at the prices of today $0.0" in capsys.readouterr().out.splitlines()[-1]
    assert on.costs("fruit", emulate=True).equals(before)
    # A price that nobody knew then may be known today.
    rehearse_unknown = STUDY.replace("name: fruit", "name: other").replace("openai/gpt-4.1-mini", "openai/gpt-99")
    (study / "other.yaml").write_text(rehearse_unknown + "prices: prices.yaml\n")
    assert main(["run", "other.yaml", "--emulate", "-q"]) == 0
    prices.write_text("openai/gpt-99: {input: 3, output: 6}\n")
    (row,) = on.costs("other", reprice=True, emulate=True).iter_rows(named=True)
    assert row["settled"] is None
    assert row["repriced"] > 0
    assert row["unpriced"] == 3


def test_before_there_is_any_run(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["costs"]) == 2
    assert "no runs in" in capsys.readouterr().err
    assert main(["costs", "fruit", "--by", "modle"]) == 2
    assert "modle" in capsys.readouterr().err
