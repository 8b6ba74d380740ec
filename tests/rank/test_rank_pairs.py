"""The command: any file of verdicts in, a table, a picture and every problem out."""

import json

import numpy as np
import polars as pl
import pytest

from overnight.cli import main
from overnight.cli.rank_pairs import rank_pairs
from overnight.terminal.rank_pictures import whisker

from .simulated import CITATIONS, Truth, centred, counted, spelled

TRUTH = Truth(centred([1.0, 0.3, -0.2, -1.1]), position=0.5, tie=-0.5)


@pytest.fixture
def table():
    drawn = TRUTH.draw(np.random.default_rng(3), 400)
    rng = np.random.default_rng(4)
    return drawn.with_columns(
        pl.Series("judge", rng.choice(["j", "k"], 400)), pl.Series("longer", rng.normal(size=400))
    )


def written(path, frame):
    writer = {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet}
    if path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    else:
        writer[path.suffix[1:]](path)
    return path


def document(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_every_kind_of_file_gives_the_same_ranking(ending, tmp_path, table, capsys):
    assert rank_pairs(written(tmp_path / f"verdicts.{ending}", table), position=True, json=True) == 0
    found = document(capsys)
    assert [item["ID"] for item in found["items"]] in ([0, 1, 2, 3], ["0", "1", "2", "3"])
    terms = {term["term"]: term["estimate"] for term in found["terms"]}
    assert abs(terms["position"] - 0.5) < 0.4
    assert found["n_comparisons"] == 400
    assert found["problems"] == []


def test_the_table_the_picture_and_the_last_line(tmp_path, capsys):
    assert main(["rank-pairs", str(written(tmp_path / "citations.csv", counted(CITATIONS)))]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "95%", "ID", "theta", "se"]
    assert lines[1].split()[:5] == ["1", "1-1", "JRSSB", "1.059", "0.053"]
    assert "o" in lines[1]
    assert [line.split()[2] for line in lines[1:5]] == ["JRSSB", "Biometrika", "JASA", "CommStat"]
    assert lines[-1].startswith("citations.csv: 4 items from 3,727 comparisons, reliability 1.00")


def test_problems_are_printed_in_words(tmp_path, capsys):
    assert rank_pairs(written(tmp_path / "few.csv", spelled("A>B A>C B>C C>B"))) == 0
    shown = capsys.readouterr().out
    assert "! There is no finite maximum-likelihood estimate: A is unbeaten" in shown
    assert "+inf" in shown
    assert rank_pairs(tmp_path / "few.csv", penalty="firth") == 0
    assert "+inf" not in capsys.readouterr().out


def test_quiet_and_verbose(tmp_path, table, capsys):
    file = written(tmp_path / "verdicts.csv", table)
    assert rank_pairs(file, quiet=True) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert rank_pairs(file, verbose=True, cluster="prompt") == 0
    shown = capsys.readouterr().out
    assert "log-likelihood" in shown
    assert "errors allow for 400 clusters" in shown


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "jsonl"])
def test_the_table_is_written(ending, tmp_path, table, capsys):
    output = tmp_path / f"ranking.{ending}"
    assert rank_pairs(written(tmp_path / "verdicts.csv", table), output=output) == 0
    readers = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "tsv": lambda path: pl.read_csv(path, separator="\t"),
        "jsonl": pl.read_ndjson,
    }
    assert readers[ending](output).columns == [
        "ID",
        "theta",
        "se",
        "rank",
        "rank_lwr",
        "rank_upr",
        "engine",
        "reliability",
    ]
    assert f"wrote {output}" in capsys.readouterr().out


def test_columns_of_other_names(tmp_path, table, capsys):
    file = tmp_path / "odd.csv"
    written(file, table.rename({"object1": "left", "object2": "right", "result": "score"}))
    assert rank_pairs(file, first="left", second="right", result="score", json=True) == 0
    by_score = document(capsys)
    winners = table.filter(pl.col("result") != 0.5).with_columns(
        pl.when(pl.col("result") == 1).then("object1").otherwise("object2").alias("best")
    )
    written(file, winners.select(left="object1", right="object2", best="best"))
    assert rank_pairs(file, first="left", second="right", winner="best", json=True) == 0
    assert document(capsys)["n_comparisons"] == winners.height
    assert by_score["n_comparisons"] == 400


def test_pairs_with_the_better_id_and_missing_ones(tmp_path, capsys):
    file = tmp_path / "pairs.csv"
    file.write_text("ID1,ID2,better_id\nS1,S2,S1\nS2,S1,S2\nS1,S2,NA\nS2,S1,nonsense\n")
    assert rank_pairs(file, json=True) == 0
    found = document(capsys)
    assert found["n_comparisons"] == 2
    assert "2 of 4 rows had no readable verdict (missing 1, nonsense 1) and were left out." in found["problems"]


def test_verdict_words_that_say_nothing_are_listed(tmp_path, capsys):
    file = tmp_path / "verdicts.jsonl"
    rows = [("first", 3), ("second", 2), ("tie", 1), ("unparsed", 2), ("none", 1)]
    file.write_text(
        "\n".join(
            json.dumps({"first_id": "a", "second_id": "b", "verdict": word})
            for word, times in rows
            for _ in range(times)
        )
    )
    assert rank_pairs(file, json=True) == 0
    found = document(capsys)
    assert "3 of 9 rows had no readable verdict (unparsed 2, none 1) and were left out." in found["problems"]
    assert {term["term"] for term in found["terms"]} == {"tie"}


def test_judges_and_covariates(tmp_path, table, capsys):
    file = written(tmp_path / "verdicts.csv", table)
    assert rank_pairs(file, judge="judge", position=True) == 0
    shown = capsys.readouterr().out
    assert "discrimination" in shown
    assert rank_pairs(file, judge="judge", json=True) == 0
    assert [judge["judge"] for judge in document(capsys)["judges"]] == ["j", "k"]
    assert rank_pairs(file, covariate=("longer",), json=True) == 0
    assert "longer" in {term["term"] for term in document(capsys)["terms"]}
    assert rank_pairs(file, judge="judge", penalty="eb") == 2


def test_hundreds_of_items_are_cut_on_the_screen_only(tmp_path, capsys):
    n = 230
    rows = [{"object1": a, "object2": (a + by) % n, "result": a % 2} for a in range(n) for by in (1, 2, 7)]
    output = tmp_path / "all.csv"
    assert rank_pairs(written(tmp_path / "many.csv", pl.DataFrame(rows)), penalty="0.5", output=output) == 0
    assert "... and 30 more; -o FILE writes all" in capsys.readouterr().out
    assert pl.read_csv(output).height == n


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "object1,object2,results\na,b,1\n",
            {},
            "column 'result' is missing; found: object1, object2, results; did you mean 'results'?",
        ),
        (
            "ID1,ID2,better\na,b,a\n",
            {},
            "column 'better_id' is missing; found: ID1, ID2, better; did you mean 'better'?",
        ),
        ("object1,object2,result\na,b,2\n", {}, "column 'result' must hold 1, 0, 0.5 or nothing; found 2"),
        ("object1,object2,result\na,b,won\n", {}, "column 'result' must hold numbers; found 'won'"),
        ("object1,object2,result\na,b,1\n", {"cluster": "promt"}, "column 'promt' is missing"),
        ("object1,object2,result\na,b,1\n", {"ties": "davison"}, "found 'davison'; did you mean 'davidson'?"),
        (
            "object1,object2,result\na,b,1\n",
            {"penalty": "fifth"},
            "--penalty must be a number, firth or eb; found 'fifth'",
        ),
        ("object1,object2,result\na,b,1\n", {"result": "x", "winner": "y"}, "give one of them"),
        ("object1,object2,result\n", {}, "no comparison to rank"),
        ("object1,object2,result\na,,1\n", {}, "column 'object2' has 1 rows without an id"),
        (
            "first_id,second_id,verdict\na,b,First\nb,a,First\na,b,Tie\n",
            {},
            "no row has a readable verdict; column 'verdict' holds First 2, Tie 1",
        ),
        ("left,right,best\na,b,a\n", {}, "no two columns name the pair; wanted: ID1 and ID2"),
        ("a,b\n", {"first": "a", "second": "a"}, "--first and --second are both 'a'"),
    ],
)
def test_bad_input_is_one_clear_line(content, options, message, tmp_path, capsys):
    file = tmp_path / "bad.csv"
    file.write_text(content)
    assert rank_pairs(file, **options) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"overnight: {file}: ")
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_files_that_are_not_there_or_not_tables(tmp_path, capsys):
    assert rank_pairs(tmp_path / "nothing.csv") == 2
    assert "there is no such file" in capsys.readouterr().err
    (tmp_path / "notes.txt").write_text("hello")
    assert rank_pairs(tmp_path / "notes.txt") == 2
    assert "the name must end in .csv, .tsv, .jsonl, .parquet; found '.txt'" in capsys.readouterr().err
    (tmp_path / "broken.parquet").write_text("hello")
    assert rank_pairs(tmp_path / "broken.parquet") == 2
    assert "cannot be read as parquet" in capsys.readouterr().err
    file = written(tmp_path / "few.csv", spelled("A>B B>A"))
    assert rank_pairs(file, output=tmp_path / "ranking.xlsx") == 2
    assert "found '.xlsx'" in capsys.readouterr().err


def test_whiskers():
    assert whisker({"theta": 0.0, "se": 0.0}, -1, 1) == " " * 20 + "o"
    line = whisker({"theta": 0.5, "se": 0.25}, -1, 1)
    assert line.index("o") == 30
    assert line.strip(" ").count("-") > 10
    assert whisker({"theta": float("inf"), "se": float("nan")}, -1, 1).endswith(">")
    assert whisker({"theta": float("-inf"), "se": float("nan")}, -1, 1) == "<"
    assert whisker({"theta": float("nan"), "se": float("nan")}, -1, 1) == ""
