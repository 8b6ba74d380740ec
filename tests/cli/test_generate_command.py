"""`generate`: a study from flags."""

import json
from pathlib import Path

import pytest

from overnight.cli import main
from overnight.cli.asking import run_name


def test_a_study_from_flags(study: Path, capsys: pytest.CaptureFixture[str]):
    (study / "ask.txt").write_text("What is {text}?")
    flags = ["--system", "Be brief.", "--max-tokens", "5000", "--temperature", "0", "--replicates", "2"]
    models = ["--model", "openai/gpt-4.1-mini", "openai/gpt-4.1"]
    command = ["generate", "--items", "items.csv", "--template", "ask.txt", *flags, *models, "--emulate", "--json"]
    assert main(command) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"] == "generate-items"
    assert document["rows"]["answered"] == 3 * 2 * 2

    # The same again asks nothing; another question is refused.
    assert main([*command, "-q"]) == 0
    assert json.loads(capsys.readouterr().out)["output_tokens"] == document["output_tokens"]
    (study / "ask.txt").write_text("Who is {text}?")
    assert main([*command, "-q"]) == 2
    assert "was started with other questions" in capsys.readouterr().err


def test_items_with_nothing_to_ask_about_are_refused_or_left_out(study: Path, capsys: pytest.CaptureFixture[str]):
    (study / "semicolons.csv").write_text("id;text\n1;apples\n2;\n3; \n")
    command = ["generate", "--items", "semicolons.csv", "--prompt", "What is {text}?", "--model", "openai/gpt-4.1-mini"]
    assert main([*command, "--emulate"]) == 2
    told = capsys.readouterr().err
    assert "2 of 3 items have nothing in a column that the questions name: '2' (semicolons.csv:3: text)" in told
    assert "--empty skip" in told
    assert not (study / "runs").exists()
    assert main([*command, "--emulate", "--empty", "skip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["answered"] == 1


def test_options_reach_the_model(study: Path, capsys: pytest.CaptureFixture[str]):
    question = ["generate", "--items", "items.csv", "--prompt", "What is {text}?", "--emulate", "-q"]
    assert main([*question, "--name", "mine", "--model", "openai/gpt-5-nano", "--thinking", "low"]) == 0
    assert main(["status", "mine", "--emulate", "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert status["arms"][0]["arm"] == "prompt__openai__gpt-5-nano__low__forward"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--thinking", "lots"], "generate: models[0].thinking: wanted off, on,"),
        (["--thinking", "0"], "a token budget of 0 is less than 1"),
        (["--temperature", "9"], "generate: models[0].temperature: 9 is not between 0 and 2"),
        (["--max-tokens", "0"], "generate: models[0].max_tokens: 0 is less than 1"),
        (["--replicates", "0"], "generate: replicates: 0 is not between"),
        (["--name", "no/way"], "generate: name: the text 'no/way' cannot name a run"),
        (["--id", "nope"], "nope"),
    ],
)
@pytest.mark.usefixtures("study")
def test_what_is_refused(flags: list[str], expected: str, capsys: pytest.CaptureFixture[str]):
    question = ["generate", "--items", "items.csv", "--prompt", "What is {text}?", "--model", "openai/gpt-4.1-mini"]
    assert main([*question, "--emulate", *flags]) == 2
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize(
    ("items", "name"),
    [("fruit.csv", "generate-fruit"), ("my texts/", "generate-my-texts"), ("ß.csv", "generate-items")],
)
def test_the_run_is_named_after_its_items(items: str, name: str):
    assert run_name("generate", Path(items)) == name
