"""`plan --pilot N`: some rows are asked first and kept, and the rest is planned by them."""

import json
from pathlib import Path

import pytest

import overnight as on
from cli.shell import STUDY
from overnight.cli import main


@pytest.fixture(autouse=True)
def many_items(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "20000")
    texts = "".join(f"{number},fruit number {number}\n" for number in range(60))
    (study / "items.csv").write_text(f"id,text\n{texts}")


def test_rows_are_asked_kept_and_learned_from(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--pilot", "12", "--emulate"]) == 0
    seen = capsys.readouterr()
    assert "pilot: fruit: 12 requests, about $0.00" in seen.err
    text = " ".join(seen.out.split())
    assert "note: pilot: 12 rows of run 'fruit' for $0.00" in text
    assert "the mean of 12 answers in this run" in text
    assert "bytes a token, from 12 answers in this run" in text
    assert text.endswith("; nothing else was sent")
    # Its rows are the run's: what `run` asks is the rest.
    (arm,) = on.plan("fruit.yaml", emulate=True).arms
    assert (arm.on_record, arm.requests, arm.seen) == (12, 48, 12)
    paid = on.costs("fruit", emulate=True)["settled"].sum()
    done = on.run("fruit.yaml", emulate=True)
    assert (done.snapshot.answered, on.costs("fruit", emulate=True)["rows"].sum()) == (60, 60)
    cost = on.costs("fruit", emulate=True)["settled"].sum() - paid
    assert arm.expected is not None
    assert arm.expected / 1e9 == pytest.approx(cost, rel=0.2)


def test_it_is_within_the_budget(study: Path, capsys: pytest.CaptureFixture[str]):
    bounded = STUDY.replace("openai/gpt-4.1-mini", "{model: openai/gpt-4.1-mini, max_tokens: 500}")
    (study / "fruit.yaml").write_text(bounded + "budget: 0.000001\n")
    assert main(["plan", "fruit.yaml", "--pilot", "12", "--emulate", "--json"]) == 5
    told = json.loads(capsys.readouterr().out)
    assert told["pilot"]["spent"] == 0
    assert told["arms"][0]["seen"] == 0


def test_a_run_that_is_under_way_is_not_gone_on_with(study: Path, capsys: pytest.CaptureFixture[str]):
    on.submit("fruit.yaml", emulate=True)
    assert main(["plan", "fruit.yaml", "--pilot", "12", "--emulate"]) == 2
    assert "`overnight resume --emulate fruit` goes on" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--limit", "3"], ["--write", "out"]])
def test_what_does_not_go_together(study: Path, capsys: pytest.CaptureFixture[str], flags: list[str]):
    assert main(["plan", "fruit.yaml", "--pilot", "2", *flags]) == 2
    assert "--pilot asks a sample and then plans everything" in capsys.readouterr().err
    assert not (study / "runs").exists()
