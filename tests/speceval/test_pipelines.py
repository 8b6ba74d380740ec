"""SpecEval's pipelines in programs: its files are written, the run is the command line's, and nothing is paid twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from overnight.cli import main
from overnight.core.errors import StudyError, WrongArgument
from overnight.speceval import (
    AnthropicBatchedModel,
    BatchedCompliancePipeline,
    BatchedGenerationPipeline,
    BatchedRankingPipeline,
    OpenAIBatchedModel,
    TogetherBatchedModel,
)
from speceval.conftest import MODELS, OWN_TIME, Workplace
from tasks.speceval_folders import RULES, batched, write_spec

Begin = Callable[..., Workplace]
INPUTS = {rule["id"]: [f"Repeat: {rule['id']} {n}" for n in range(4)] for rule in RULES}
JUDGES = ("anthropic", "openai", "together")
PROGRAM = """
from overnight.speceval import BatchedGenerationPipeline, OpenAIBatchedModel
BatchedGenerationPipeline("rules.jsonl", OpenAIBatchedModel("gpt-4.1-mini"), "inputs", 3, "made").run()
"""


def filled(folder: Path) -> None:
    """A specification, inputs for it, and answers of two candidates, one of which failed once."""
    write_spec(folder)
    (folder / "inputs").mkdir()
    for statement, texts in INPUTS.items():
        (folder / "inputs" / f"{statement}.json").write_text(json.dumps({"inputs": texts}))
    for name in ("able", "baker"):
        said = {statement: [(text, f"{name} on {text}") for text in texts[:2]] for statement, texts in INPUTS.items()}
        said["no_spam"].append(("Third?", "ERROR: expired" if name == "able" else "Fine."))
        batched(folder / "answers", name, said)


@pytest.mark.parametrize("vendor", MODELS)
def test_answers_of_every_vendor(workplace: Begin, vendor: str) -> None:
    one = workplace()
    filled(one.folder)
    model = MODELS[vendor]()
    done = BatchedGenerationPipeline("rules.jsonl", model, "inputs", 3, "made", spec_name="mine").run()
    assert done.state == "done", done.message
    (folder,) = (one.folder / "made" / "mine" / model.model_name.replace("/", "_")).iterdir()
    if vendor == "together":
        whole = json.loads((folder / "results.json").read_text())["results"]
        found = {
            statement: [row["output_text"] for row in whole if row["statement_id"] == statement] for statement in INPUTS
        }
    else:
        files = {name: json.loads((folder / "results" / f"{name}.json").read_text()) for name in INPUTS}
        found = {name: [row["output_text"] for row in rows] for name, rows in files.items()}
    assert found == {name: [f"<{text.removeprefix('Repeat: ')}>" for text in texts] for name, texts in INPUTS.items()}
    assert one.counts() == (0 if vendor == "together" else 3, 8)


def test_submitted_here_and_collected_there(workplace: Begin) -> None:
    one = workplace()
    filled(one.folder)
    sent = BatchedGenerationPipeline("rules.jsonl", OpenAIBatchedModel("gpt-4.1-mini"), "inputs", 3, "made").submit()
    assert sent.state == "submitted"
    assert not (one.folder / "made").exists()
    done = _run(one)
    assert done.returncode == 0, done.stderr
    assert len(list((one.folder / "made").glob("rules/gpt-4.1-mini/*/results/*.json"))) == 2
    assert one.counts() == (3, 8)


def test_a_killed_program_goes_on(workplace: Begin) -> None:
    one = workplace()
    filled(one.folder)
    assert _run(one, OVERNIGHT_KILL_AT="60").returncode == -signal.SIGKILL
    done = _run(one)
    assert done.returncode == 0, done.stderr
    assert len(list((one.folder / "made").glob("rules/gpt-4.1-mini/*/results/*.json"))) == 2
    assert one.counts() == (3, 8)


STOPPED = {
    "BatchedGenerationPipeline('rules.jsonl', model, 'inputs', 3, 'made')": (3, 8),
    "BatchedRankingPipeline('rules.jsonl', ['answers/able', 'answers/baker'], model, 3, 'made')": (4, 8),
    "BatchedCompliancePipeline('rules.jsonl', ['answers/able', 'answers/baker'], model, 3, 'made')": (3, 9),
}


@pytest.mark.parametrize("pipeline", STOPPED, ids=lambda pipeline: pipeline.partition("(")[0])
def test_stopped_by_the_user_and_begun_again(workplace: Begin, pipeline: str) -> None:
    """Ctrl-C while the batches are at the provider; the same program again collects these, and makes no others."""
    # Four seconds at the provider.
    one = workplace(latency={"batch": [80_000, 80_000], "live": [0, 0]})
    filled(one.folder)
    script = one.folder / "stopped.py"
    script.write_text(
        f"from overnight.speceval import *\nmodel = OpenAIBatchedModel('gpt-4.1-mini')\n{pipeline}.run()\n"
    )
    batches, _ = STOPPED[pipeline]
    child = subprocess.Popen([sys.executable, str(OWN_TIME), str(script)], stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while one.counts()[0] < batches:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < deadline, one.emulator.log()
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=60)
    assert "Interrupted: stopped; " in said
    one.emulator.finish()
    again = subprocess.run([sys.executable, str(OWN_TIME), str(script)], capture_output=True, timeout=120, check=False)
    assert again.returncode == 0, again.stderr
    assert list((one.folder / "made").rglob("results/*.json"))
    assert one.counts() == STOPPED[pipeline]


def _run(one: Workplace, **environ: str) -> subprocess.CompletedProcess[str]:
    """The program, in a process of its own."""
    script = one.folder / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(OWN_TIME), str(script)]
    known = {**os.environ, **environ}
    return subprocess.run(command, env=known, capture_output=True, text=True, check=False, timeout=120)


def test_it_is_the_run_of_the_command(workplace: Begin) -> None:
    """What a program has begun the command line goes on with, and the other way round."""
    one = workplace()
    filled(one.folder)
    model = OpenAIBatchedModel("gpt-4.1-mini")
    folders = [str(one.folder / "answers" / name) for name in ("able", "baker")]
    made = [
        BatchedGenerationPipeline("rules.jsonl", model, "inputs").run(),
        BatchedRankingPipeline("rules.jsonl", folders, model).run(),
        BatchedCompliancePipeline("rules.jsonl", folders, model).run(),
    ]
    assert [one.state for one in made] == ["done"] * 3
    paid = one.counts()
    judging = ("--spec-path", "rules.jsonl", "--candidate-generation-dirs", *folders)
    typed = [
        ("generate", "--spec-path", "rules.jsonl", "--inputs", "inputs", "--model-name", "gpt-4.1-mini"),
        ("rank", *judging, "--ranking-judge-model-name", "gpt-4.1-mini"),
        ("comply", *judging, "--compliance-judge-model-name", "gpt-4.1-mini"),
    ]
    assert [main([*words, *(["--org", "openai"] if words[0] == "generate" else [])]) for words in typed] == [0, 0, 0]
    assert one.counts() == paid
    assert sorted(path.name for path in (one.folder / "runs").iterdir() if path.is_dir()) == sorted(
        one.name for one in made
    )


@pytest.mark.parametrize("vendor", JUDGES)
def test_rankings_and_compliance(workplace: Begin, vendor: str) -> None:
    one = workplace()
    filled(one.folder)
    judge = MODELS[vendor]()
    folders = [one.folder / "answers" / name for name in ("baker", "able")]
    ranked = BatchedRankingPipeline("rules.jsonl", folders, judge, 5, "ranks", spec_name="mine").run()
    assert ranked.state == "done", ranked.message
    place = one.folder / "ranks" / "spec_mine" / f"judge_{judge.model_name.replace('/', '_')}"
    assert sorted(path.name for path in place.iterdir()) == ["ablexbaker", "bakerxable"]
    rankings = [json.loads(file.read_text()) for file in place.rglob("results/*.json")]
    # Four inputs that both have answered, in both orders; what failed is never judged.
    assert sum(len(found["rankings"]) for found in rankings) == 8
    for found in rankings:
        for row in found["rankings"]:
            assert row["output_a"].startswith(found["metadata"]["model_a"])
            assert row["output_b"].startswith(found["metadata"]["model_b"])
    judged = BatchedCompliancePipeline("rules.jsonl", folders, judge, 5, "verdicts", spec_name="mine").run()
    assert judged.state == "done", judged.message
    verdicts = [json.loads(file.read_text()) for file in (one.folder / "verdicts").rglob("results/*.json")]
    assert sum(len(found["results"]) for found in verdicts) == 9
    assert all("compliant" in row for found in verdicts for row in found["results"])


def test_names_of_any_kind_keep_their_verdicts_apart(workplace: Begin) -> None:
    """`AxB` against `C`, and `A` against `BxC`: nothing is told by splitting a folder's name at an x."""
    one = workplace(answer_with={r"(?s)(.*)": "I would rather not say."})
    odd = {**RULES[0], "id": "no spam/é"}
    write_spec(one.folder, [odd])
    names = ["AxB", "C", "A", "BxC", "mixtral 8x7b é"]
    for name in names:
        batched(one.folder / "answers", name, {"no spam_é": [("First?", f"{name}."), ("Second?", f"{name}!")]})
    folders = [one.folder / "answers" / name for name in names]
    judge = OpenAIBatchedModel("gpt-4.1-mini")
    BatchedRankingPipeline("rules.jsonl", folders, judge, 3, "ranks", spec_name="mine").run()
    place = one.folder / "ranks" / "spec_mine" / "judge_gpt-4.1-mini"
    found = [json.loads(file.read_text()) for file in place.glob("*/results/no spam_é.json")]
    ordered = {(one["metadata"]["model_a"], one["metadata"]["model_b"]) for one in found}
    assert ordered == {(a, b) for a in names for b in names if a != b}
    for written in found:
        assert [row["output_a"].rstrip(".!") for row in written["rankings"]] == [written["metadata"]["model_a"]] * 2
        # What cannot be read is no tie.
        assert {(row["rank"], row["flag"]) for row in written["rankings"]} == {(None, "unparsed")}
    BatchedCompliancePipeline("rules.jsonl", folders, judge, 3, "verdicts", spec_name="mine").run()
    judged = [json.loads(file.read_text()) for file in (one.folder / "verdicts").rglob("results/*.json")]
    assert sorted(one["metadata"]["model"] for one in judged) == sorted(names)
    assert {(row["compliant"], row["flag"]) for one in judged for row in one["results"]} == {(None, "unparsed")}


def test_statements_that_would_share_a_file_are_told_and_none_is_written_over(workplace: Begin) -> None:
    one = workplace()
    names = ("a/b", "a_b")
    write_spec(one.folder, [{**RULES[0], "id": name} for name in names])
    rows = [{"statement_id": name, "input": f"Repeat: {name}"} for name in names]
    (one.folder / "inputs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pipeline = BatchedGenerationPipeline("rules.jsonl", OpenAIBatchedModel("gpt-4.1-mini"), "inputs.jsonl", 3, "made")
    with pytest.raises(StudyError, match="'a/b' and 'a_b' would have one file name; no files were written"):
        pipeline.run()
    assert not (one.folder / "made").exists()


def test_a_judge_that_did_not_answer_is_told_from_one_that_cannot_tell(workplace: Begin) -> None:
    one = workplace(faults=[{"on": "row", "do": "error", "status": 400, "code": "invalid", "model": "gpt-4.1-mini"}])
    filled(one.folder)
    folders = [one.folder / "answers" / name for name in ("baker", "able")]
    judge = OpenAIBatchedModel("gpt-4.1-mini")
    BatchedRankingPipeline("rules.jsonl", folders, judge, 5, "ranks", spec_name="mine").run()
    BatchedCompliancePipeline("rules.jsonl", folders, judge, 5, "verdicts", spec_name="mine").run()
    found = {
        key: [row for file in (one.folder / base).rglob("results/*.json") for row in json.loads(file.read_text())[key]]
        for base, key in (("ranks", "rankings"), ("verdicts", "results"))
    }
    assert {(row["rank"], row["flag"]) for row in found["rankings"]} == {(None, "failed")}
    assert {(row["compliant"], row["flag"]) for row in found["results"]} == {(None, "failed")}


def test_a_model_that_thinks_aloud_at_together(workplace: Begin) -> None:
    """SpecEval's path for DeepSeek-R1 failed on every prompt."""
    one = workplace()
    filled(one.folder)
    model = TogetherBatchedModel("deepseek-ai/DeepSeek-R1", qps=50)
    done = BatchedGenerationPipeline("rules.jsonl", model, "inputs", 4, "made", spec_name="mine").run()
    assert done.state == "done", done.message
    (file,) = (one.folder / "made" / "mine" / "deepseek-ai_DeepSeek-R1").glob("*/results.json")
    found = json.loads(file.read_text())["results"]
    assert [row["output_text"] for row in found] == [
        f"<{text.removeprefix('Repeat: ')}>" for texts in INPUTS.values() for text in texts
    ]


def test_other_questions_need_another_name(workplace: Begin) -> None:
    one = workplace()
    filled(one.folder)
    BatchedGenerationPipeline("rules.jsonl", OpenAIBatchedModel("gpt-4.1-mini"), "inputs").run()
    warmer = OpenAIBatchedModel("gpt-4.1-mini", temperature=0.5)
    with pytest.raises(StudyError, match="other questions"):
        BatchedGenerationPipeline("rules.jsonl", warmer, "inputs").run()
    done = BatchedGenerationPipeline("rules.jsonl", warmer, "inputs", name="warmer").run()
    assert (done.name, done.state) == ("warmer", "done")
    assert one.counts()[1] == 16


def test_what_is_refused(workplace: Begin) -> None:
    one = workplace()
    model = AnthropicBatchedModel("claude-haiku-4-5")
    with pytest.raises(WrongArgument, match="candidate_generation_dirs: the list is empty"):
        BatchedRankingPipeline("rules.jsonl", [], model)
    with pytest.raises(WrongArgument, match="batch_size: 0 is less than 1"):
        BatchedCompliancePipeline("rules.jsonl", ["a"], model, 0)
    with pytest.raises(WrongArgument, match="batched_model: wanted a BatchedModel"):
        BatchedGenerationPipeline("rules.jsonl", "gpt-4.1", "inputs")
    with pytest.raises(StudyError, match="asked call by call"):
        BatchedGenerationPipeline("rules.jsonl", TogetherBatchedModel("a/b"), "inputs").submit()
    with pytest.raises(StudyError, match=r"rules\.jsonl"):
        BatchedGenerationPipeline("rules.jsonl", model, "inputs").run()
    assert list(one.folder.iterdir()) == []
