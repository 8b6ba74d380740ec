"""`plan --compare-models`: one study over many models, the cheapest first."""

import json
from pathlib import Path

import pytest

import overnight as on
from cli.shell import STUDY
from overnight.cli import main

MODELS = "openai/gpt-4.1,openai/gpt-4.1-nano,openai/gpt-41,ollama/llama3,anthropic/claude-haiku-4-5"


def test_the_table(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--compare-models", MODELS]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == [
        "openai/gpt-4.1-nano", "anthropic/claude-haiku-4-5", "openai/gpt-4.1", "ollama/llama3",
    ]  # fmt: skip
    assert lines[4].split()[-5:] == ["unknown"] * 5
    assert lines[5].startswith("openai/gpt-41: no model 'openai/gpt-41' is known; did you mean 'openai/gpt-4.1'?")
    assert "note: ollama/llama3: no price is known" in lines
    assert lines[-1].startswith("fruit: the cheapest of 5 models is openai/gpt-4.1-nano, about $0.0")
    assert lines[-1].endswith(" by batch; nothing was sent")
    assert not (study / "runs").exists()


def test_for_programs_and_notebooks(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--compare-models", MODELS, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    first = told["models"][0]
    assert first["model"] == "openai/gpt-4.1-nano"
    assert first["live"] == pytest.approx(2 * first["batch"], abs=2)
    assert first["batch"] < first["batch_p90"] < first["live_p90"]
    assert told["models"][-1]["problem"].startswith("no model")
    (arm,) = on.plan(on.Study.load("fruit.yaml").replace(models=["openai/gpt-4.1-nano"])).arms
    assert (first["batch"], first["live"]) == (arm.expected, arm.live)
    page = on.compare_models("fruit.yaml", ["openai/gpt-4.1-nano"])._repr_html_()
    assert "openai/gpt-4.1-nano" in page


def test_options_of_the_study_go_with_every_model(study: Path):
    entry = "{model: openai/gpt-4.1-mini, max_tokens: 40, temperature: 0.5, key: LAB_KEY}"
    (study / "fruit.yaml").write_text(STUDY.replace("openai/gpt-4.1-mini", entry))
    told = on.compare_models("fruit.yaml", ["openai/gpt-4.1", "openai/gpt-5-mini"])
    good, bad = told.models
    assert good.ceiling is not None
    # What a family refuses is told of that model, by the field it is about.
    assert bad.problem.startswith("temperature: ")


def test_later_stages_stay_as_they_are(study: Path, capsys: pytest.CaptureFixture[str]):
    stages = [
        {"name": "say", "task": "generate", "items": "items.csv", "prompt": "{text}?", "models": ["openai/gpt-4.1"]},
        {"name": "rate", "task": "generate", "of": "say", "prompt": "{answer}?", "models": ["openai/gpt-4o"]},
    ]
    (study / "two.yaml").write_text(json.dumps({"name": "two", "stages": stages}))
    told = on.compare_models("two.yaml", ["openai/gpt-4.1-nano"])
    assert (told.stages, told.models[0].requests) == (("say",), 6)
    judges = on.compare_models("two.yaml", ["openai/gpt-4.1-nano"], stage="rate")
    assert judges.models[0].batch != told.models[0].batch
    assert main(["plan", "two.yaml", "--compare-models", "openai/gpt-4.1", "--stage", "rat"]) == 2
    assert "no such stage; did you mean 'rate'?" in capsys.readouterr().err


@pytest.mark.parametrize("flags", [["--limit", "3"], ["--pilot", "3"], ["--show", "1"], ["--write", "out"]])
def test_what_does_not_go_together(study: Path, capsys: pytest.CaptureFixture[str], flags: list[str]):
    assert main(["plan", "fruit.yaml", "--compare-models", "openai/gpt-4.1", *flags]) == 2
    assert "--compare-models only prices" in capsys.readouterr().err
    assert main(["plan", "fruit.yaml", "--compare-models", " , "]) == 2
    assert "no model is named" in capsys.readouterr().err


def test_a_request_that_does_not_fit_is_told(study: Path):
    (study / "items.csv").write_text("id,text\n1," + "word " * 110_000 + "\n")
    told = on.compare_models("fruit.yaml", ["openai/gpt-4o", "openai/gpt-4.1"])
    notes = {one.model: " ".join(one.notes) for one in told.models}
    assert "and 128,000 fit with its answer" in notes["openai/gpt-4o"]
    assert "fit with" not in notes["openai/gpt-4.1"]


@pytest.mark.usefixtures("study")
def test_where_no_model_can_be_asked_there_is_one_line(capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--compare-models", "nobody/x,gpt-41"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("overnight: --compare-models: ")
    assert said.err.endswith("(and 1 more)\n")
