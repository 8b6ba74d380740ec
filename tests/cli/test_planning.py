"""`plan`: a table of what would be sent, the requests themselves, and files."""

import json
import re
from pathlib import Path

import pytest

from cli.shell import STUDY
from overnight.cli import main
from overnight.core.ask import Model
from overnight.prices.catalogue import newest
from overnight.providers import batch_format, takes_batches, vendors


def test_the_table(study: Path, capsys: pytest.CaptureFixture[str]):
    (study / "fruit.yaml").write_text(STUDY.replace("mini]", "mini, {model: openai/gpt-4.1, max_tokens: 50}]"))
    assert main(["plan", "fruit.yaml"]) == 0
    seen = capsys.readouterr()
    lines = seen.out.splitlines()
    assert lines[0].split() == [
        *("arm", "rows", "requests", "batches", "MB", "est.", "tokens", "seen", "about", "90%", "at", "most")
    ]
    assert [line.split()[:4] for line in lines[1:4]] == [
        ["gpt-4.1-mini", "3", "3", "1"],
        ["gpt-4.1", "3", "3", "1"],
        ["all", "6", "6", "2"],
    ]
    assert lines[-2] == f"prices: {newest().origin}"
    assert [line.split()[-1] for line in lines[1:4]] == ["unknown", lines[2].split()[-1], "unknown"]
    assert all(line.split()[place].startswith("$0.0") for line in lines[1:4] for place in (-2, -3))
    assert [line.split()[-4] for line in lines[1:4]] == ["0", "0", "0"]
    text = " ".join(seen.out.split())
    assert "note: about: counted with 300 tokens an answer, an assumption (gpt-4.1-mini)" in text
    assert "note: about: counted with 50 tokens an answer, its limit (gpt-4.1)" in text
    assert "note: tokens: 3.6 bytes a token, an assumption" in text
    assert "nothing limits answers (gpt-4.1-mini); set `max_tokens`, or `budget: {output_tokens: 800}`" in text
    assert re.fullmatch(
        r"fruit: 6 requests in 2 batches, about \$0\.00\d+ \(90%: \$0\.00\d+ to \$0\.0\d+\); nothing was sent",
        lines[-1],
    )
    assert seen.err == ""
    assert not (study / "runs").exists()


def test_requests_as_the_provider_sees_them(study: Path, capsys: pytest.CaptureFixture[str]):
    long = "long " * 60
    (study / "fruit.yaml").write_text(STUDY.replace("Tell", f"{long}Tell"))
    assert main(["plan", "fruit.yaml", "--show", "1"]) == 0
    text = capsys.readouterr().out
    request = json.loads(text[text.index("\n{") : text.rindex("}") + 1])
    assert request["body"]["messages"][0]["content"] == f"{long}Tell me about apples."


def test_for_programs(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--json", "--limit", "2", "--show", "1"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["arms"][0]["requests"] == 2
    assert plan["arms"][0]["price_source"] == newest().origin
    assert plan["shown"][0]["item"] == "1"


def test_files_are_written_and_named(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["plan", "fruit.yaml", "--write", "out"]) == 0
    (written,) = [line.removeprefix("wrote ") for line in capsys.readouterr().out.splitlines() if line[:5] == "wrote"]
    assert len(Path(written).read_text().splitlines()) == 3
    assert main(["plan", "fruit.yaml", "--write", "out"]) == 2
    assert "wanted an empty or new folder" in capsys.readouterr().err


def test_what_is_on_record_is_not_planned_again(study: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["run", "fruit.yaml", "--emulate", "--limit", "1", "-q"]) == 0
    capsys.readouterr()
    assert main(["plan", "fruit.yaml", "--emulate"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["arm", "rows", "on", "record"]
    assert lines[1].split()[:4] == ["gpt-4.1-mini", "3", "1", "2"]
    assert lines[-1].startswith("fruit: 2 requests in 1 batch, about $0.00")
    assert "tokens an answer, the mean of 1 answer in this run" in " ".join(lines)
    capsys.readouterr()
    (study / "other.yaml").write_text(STUDY.replace("name: fruit", "name: other"))
    assert main(["plan", "other.yaml", "--emulate"]) == 0
    assert "the mean of 1 answer of this model in this task" in " ".join(capsys.readouterr().out.split())


BATCHED = {name: batch_format(one) for name, one in vendors().items() if takes_batches(one)}


@pytest.mark.parametrize("vendor", sorted(BATCHED))
def test_batches_over_the_providers_limit_are_cut_with_a_word(
    study: Path, capsys: pytest.CaptureFixture[str], vendor: str
):
    model = Model(provider=vendor, name="some-model")
    most = BATCHED[vendor].limits(model).requests
    text = STUDY.replace("openai/gpt-4.1-mini", f"{vendor}/some-model")
    (study / "fruit.yaml").write_text(f"{text}batch: {{max_requests: {most + 1}}}\n")
    assert main(["plan", "fruit.yaml"]) == 0
    wanted = f"batch.max_requests: {most + 1:,} is more than {vendor} takes; {most:,} are sent in one batch"
    seen = capsys.readouterr()
    assert wanted in " ".join((seen.out + seen.err).split())


def many_arms(folder: Path) -> None:
    """Two models with seven templates each."""
    for number in range(7):
        (folder / f"t{number}.txt").write_text(f"{number}: {{text}}")
    templates = ", ".join(f"t{number}.txt" for number in range(7))
    text = STUDY.replace("mini]", "mini, openai/gpt-4.1]")
    (folder / "fruit.yaml").write_text(text.replace('prompt: "Tell me about {text}."', f"templates: [{templates}]"))


def test_many_arms_are_summed_by_model_first(study: Path, capsys: pytest.CaptureFixture[str]):
    many_arms(study)
    assert main(["plan", "fruit.yaml"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:5] == ["model", "arms", "rows", "requests", "batches"]
    assert [line.split()[:5] for line in lines[1:4]] == [
        ["gpt-4.1-mini", "7", "21", "21", "7"],
        ["gpt-4.1", "7", "21", "21", "7"],
        ["all", "14", "42", "42", "14"],
    ]
    assert lines[4] == "14 arms, summed by model; each of them: the same command with -v"
    assert main(["plan", "fruit.yaml", "-v"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if line.startswith("t")]) == 14
    assert main(["run", "fruit.yaml", "--emulate", "-q"]) == 0
    capsys.readouterr()
    assert main(["status", "fruit", "--emulate"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["gpt-4.1", "7", "21", "21", "0", "0", "0", "0"] in lines
    assert ["all", "14", "42", "42", "0", "0", "0", "0"] in lines
    assert main(["status", "fruit", "--emulate", "-v"]) == 0
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("  t") and "3" in line]) >= 14


PHASES = """
name: phases
stages:
  - {name: talk, task: pressure, items: safety_questions, priority: {first: 4}, models: [&m {model: openai/gpt-4.1-mini, max_tokens: 50}]}
  - {name: judged, task: flips, of: talk, models: [*m]}
  - {name: deeper, task: pressure, items: safety_questions, models: [*m],
     after: {stage: judged, move_on: models, when: flip_rate > 0.02, expect: 0.5}}
  - {name: last, task: flips, of: deeper, models: [*m]}
"""


def test_each_phase_has_its_cost_with_and_without_its_rule(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (study / "phases.yaml").write_text(PHASES)
    assert main(["plan", "phases.yaml", "--json"]) == 0
    first, second = json.loads(capsys.readouterr().out)["phases"]
    assert (first["stages"], second["stages"]) == (["talk", "judged"], ["deeper", "last"])
    assert (first["rules"], second["rules"]) == ([], ["models: flip_rate > 0.02"])
    assert first["expected"] < second["expected"] < second["ceiling"]
    assert second["by_rule"] == pytest.approx(second["expected"] / 2, abs=2)
    assert main(["plan", "phases.yaml"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "phase 1 (talk, judged): about $" in text
    assert "if all move on (models: flip_rate > 0.02); about $" in text
    assert "if as many do as you expect; nothing if none does" in text
    # A sample decides nothing, so that no later phase is part of it.
    assert main(["plan", "phases.yaml", "--limit", "2", "--json"]) == 0
    arms = json.loads(capsys.readouterr().out)["arms"]
    assert {arm["stage"]: arm["requests"] > 0 for arm in arms} == {
        "talk": True, "judged": True, "deeper": False, "last": False,
    }  # fmt: skip


def test_a_question_on_record_is_not_counted_again_for_another_address(
    study: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OVERNIGHT_TIME_SCALE", "20000")
    (study / "fruit.yaml").write_text(STUDY.replace("{text}", "it"))
    assert main(["run", "fruit.yaml", "--emulate", "--limit", "1", "-q"]) == 0
    capsys.readouterr()
    assert main(["plan", "fruit.yaml", "--emulate", "--json"]) == 0
    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert (arm["rows"], arm["on_record"], arm["shared"], arm["requests"]) == (3, 1, 2, 0)
