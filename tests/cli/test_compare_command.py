"""`compare`: judges, verdicts and a ranking, from flags."""

import json
from pathlib import Path

import polars as pl
import pytest

from overnight.cli import main

TEXTS = {"a_1": "An awful text.", "b:2": "A bearable text.", "c#3": "A charming text.", "d": "A delightful text."}


@pytest.fixture
def essays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "essays.csv").write_text("ID,text\n" + "".join(f"{name},{text}\n" for name, text in TEXTS.items()))
    qualities = {text: 3 * place for place, text in enumerate(TEXTS.values())}
    (tmp_path / "truth.yaml").write_text(json.dumps({"qualities": qualities, "judge": {"noise": 0.4}}))
    return tmp_path


COMPARE = ["compare", "essays.csv", "--model", "openai/gpt-4.1-mini", "--emulate", "--truth", "truth.yaml"]


@pytest.mark.usefixtures("essays")
def test_verdicts_and_a_ranking_are_shown(capsys: pytest.CaptureFixture[str]):
    assert main([*COMPARE, "--both-orders", "--replicates", "3"]) == 0
    shown = capsys.readouterr().out
    assert "compare-essays: all rows are settled" in shown
    assert "openai/gpt-4.1-mini" in shown
    assert "% of 6" in shown
    ranked = [line.split()[2] for line in shown.splitlines() if line.split()[:1] in (["1"], ["2"], ["3"], ["4"])]
    assert ranked == ["d", "c#3", "b:2", "a_1"]

    # The same command asks nothing more, and the tables are there.
    assert main([*COMPARE, "--both-orders", "--replicates", "3", "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["answered"] == 6 * 2 * 3
    assert main(["results", "compare-essays", "--emulate"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["item", "replicate", "model", "winner", "status", "answer"]
    for item, _, _, winner, _, answer in lines[1:21]:
        assert winner in ranked, item
        assert "SAMPLE_" in answer
    assert main(["results", "compare-essays", "--emulate", "--table", "rankings", "-o", "ranking.csv"]) == 0
    assert pl.read_csv("ranking.csv")["ID"].to_list() == ranked
    assert main(["results", "compare-essays", "--emulate", "--table", "verdicts", "--json"]) == 0
    verdicts = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert len(verdicts) == 6 * 2 * 3
    assert {row["judge"] for row in verdicts} == {"openai/gpt-4.1-mini"}
    assert main(["results", "compare-essays", "--emulate", "--table", "rankings"]) == 0
    assert "theta" in capsys.readouterr().out


def test_options_reach_the_study(essays: Path):
    flags = ["--trait", "Warmth", "--description", "How warm.", "--template", "short", "steps", "--pairs", "4"]
    assert main([*COMPARE, *flags, "--ties", "--explanation", "--confidence", "--seed", "7", "-q"]) == 0
    frame = pl.read_parquet("runs/.rehearsal/compare-essays/tables/results.parquet")
    assert frame["template"].unique().sort().to_list() == ["short", "steps"]
    assert frame["item_id"].n_unique() == 4
    assert frame["explanation"].is_not_null().all()
    assert essays.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--trait", "warmth"], "compare: trait: unknown trait 'warmth'"),
        (["--text", "essay"], "compare: text: essays.csv has no column 'essay'"),
        (["--pairs", "0"], "compare: pairs.n: 0 is less than 1"),
    ],
)
@pytest.mark.usefixtures("essays")
def test_what_is_refused(flags: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main([*COMPARE, *flags]) == 2
    assert message in capsys.readouterr().err


ADAPTIVE = [*COMPARE, "--pairs", "5", "--adaptive"]


@pytest.mark.usefixtures("essays")
def test_adaptive_pairs_are_counted_before_and_after(capsys: pytest.CaptureFixture[str]):
    study = {
        "name": "compare-essays",
        "task": "compare",
        "items": "essays.csv",
        "pairs": {"select": "adaptive", "n": 5},
        "models": ["openai/gpt-4.1-mini"],
    }
    Path("study.yaml").write_text(json.dumps(study))
    assert main(["plan", "study.yaml", "--emulate", "--show", "1"]) == 0
    assert "chosen in about 6 rounds" in capsys.readouterr().out
    assert main([*ADAPTIVE, "-q", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["answered"] == 5
    assert main(["plan", "study.yaml", "--emulate", "--json"]) == 0
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert (arm["rows"], arm["on_record"], arm["requests"]) == (5, 5, 0)


@pytest.mark.usefixtures("essays")
@pytest.mark.parametrize(
    ("command", "message"),
    [
        ([*COMPARE, "--adaptive"], "--adaptive: say how many pairs there may be, for instance --pairs 2000"),
        (
            [*ADAPTIVE, "--limit", "2"],
            "--limit: adaptive pairs are chosen by the verdicts on others; use `select: sample` for this",
        ),
    ],
)
def test_what_adaptive_pairs_cannot_have(command: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    assert main(command) == 2
    assert message in capsys.readouterr().err
    assert not Path("runs").exists()


@pytest.mark.usefixtures("looking")
def test_a_run_without_pairs_has_no_verdicts(capsys: pytest.CaptureFixture[str]):
    assert main(["results", "fruit", "--emulate", "--table", "verdicts"]) == 2
    assert "run 'fruit' has no verdicts: none of its stages compares anything" in capsys.readouterr().err
    assert main(["results", "fruit", "--emulate", "--table", "verdicts", "--failed"]) == 2
    assert "--failed goes with the table of results" in capsys.readouterr().err
