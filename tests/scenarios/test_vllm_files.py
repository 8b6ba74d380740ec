"""Files for one's own GPUs: the run waits for them, and takes what `vllm run-batch` has written."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.conftest import Scenario
from scenarios.matrix import kills, parts

PARTS = parts(2, sampled=1)
MODELS = ["vllm/meta-llama/Llama-3.1-8B-Instruct"]


def run_batch(folder: Path) -> int:
    """What `vllm run-batch` does with each file, with a model that repeats its question."""
    count = 0
    for path in sorted(folder.glob("*.jsonl")):
        output = path.with_name(path.name.replace(".jsonl", ".out.jsonl"))
        if path.name.endswith(".out.jsonl") or output.exists():
            continue
        lines = []
        for number, line in enumerate(path.read_text().splitlines()):
            asked = json.loads(line)
            assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
            said = {"role": "assistant", "content": f"You asked: {asked['body']['messages'][-1]['content']}"}
            body = {
                "id": f"chatcmpl-{number}",
                "object": "chat.completion",
                "model": asked["body"]["model"],
                "choices": [{"index": 0, "message": said, "finish_reason": "stop", "stop_reason": None}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 7, "total_tokens": 16},
            }
            response = {"status_code": 200, "request_id": f"vllm-batch-{number}", "body": body}
            lines.append(
                json.dumps(
                    {"id": f"vllm-{number}", "custom_id": asked["custom_id"], "response": response, "error": None}
                )
            )
        output.write_text("".join(line + "\n" for line in lines))
        count += 1
    return count


def begun(scenario: Callable[..., Scenario]) -> tuple[Scenario, str, Path, dict[str, str]]:
    one = scenario()
    folder = one.folder / "gpu"
    study = one.study(12, models=MODELS)
    return one, study, folder, {"VLLM_FOLDER": str(folder)}


def test_files_go_out_and_answers_come_in(scenario: Callable[..., Scenario]) -> None:
    one, study, folder, environ = begun(scenario)
    sent = one.call("submit", study, environ=environ)
    assert sent.error is None, sent
    assert len(list(folder.glob("*.jsonl"))) == 3
    assert one.call("resume", "night", environ=environ, once=True).state == "running"
    told = [str(batch.status) for batch in one.status().batches]
    assert [text.startswith("waits for: vllm run-batch -i ") for text in told] == [True] * 3
    assert run_batch(folder) == 3
    assert one.call("resume", "night", environ=environ).state == "done"
    assert one.statuses() == {"answered": 12}
    assert one.table()["answer"][0] == "You asked: Describe thing number 0 in a sentence."
    assert one.log()["calls"] == [], "nobody is asked over the network"
    assert one.findings() == []


def counted(scenario: Callable[..., Scenario], log: Path) -> tuple[int, int, str]:
    """How many checkpoints the writing and the reading pass, and what comes out."""
    one, study, folder, environ = begun(scenario)
    assert one.call("submit", study, environ={**environ, "OVERNIGHT_CHECKPOINTS": str(log)}).error is None
    writing = len(log.read_text().splitlines())
    log.unlink()
    run_batch(folder)
    assert one.call("resume", "night", environ={**environ, "OVERNIGHT_CHECKPOINTS": str(log)}).state == "done"
    return writing, len(log.read_text().splitlines()), one.table_digest()


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("reading", [False, True], ids=["writing", "reading"])
def test_any_kill_leaves_one_file_for_each_batch_and_the_same_bytes(
    scenario: Callable[..., Scenario], reading: bool, part: int, tmp_path: Path
) -> None:
    counts = counted(scenario, tmp_path / "checkpoints")
    expected = counts[2]
    for number in kills(counts[reading], part, len(PARTS), 4):
        one, study, folder, environ = begun(scenario)
        killed = {**environ, "OVERNIGHT_KILL_AT": str(number)}
        if not reading:
            one.call("submit", study, environ=killed)
        assert one.call("submit", study, environ=environ).error is None
        assert run_batch(folder) == 3
        if reading:
            assert one.call("resume", "night", environ=killed).signal in (signal.SIGKILL, None)
        where = f"killed at checkpoint {number}"
        assert one.call("resume", "night", environ=environ).state == "done", where
        assert one.table_digest() == expected, where
        asked = [json.loads(line)["custom_id"] for path in folder.iterdir() for line in path.read_text().splitlines()]
        assert len(asked) == 24, f"{where}: each row once, its answer once, and nothing else is left"
        one.close()


def test_a_run_that_is_cancelled_takes_what_is_there(scenario: Callable[..., Scenario]) -> None:
    one, study, folder, environ = begun(scenario)
    assert one.call("submit", study, environ=environ).error is None
    run_batch(folder)
    first = min(folder.glob("*.out.jsonl"))
    answers = first.read_text().splitlines()
    first.write_text(answers[0] + "\n")
    assert one.call("cancel", "night", environ=environ).error is None
    one.call("resume", "night", environ=environ)
    assert one.statuses()["answered"] == 12 - len(answers) + 1
