"""docs/from-speceval.md: every command of it runs on the emulator, and leaves the files it tells of.

All of them with OVERNIGHT_EVERY_COMMAND=1 (`make speceval`); otherwise one of each kind.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.shell import clean_environment, overnight
from overnight import speceval
from overnight.api import RunStatus
from overnight.speceval._metadata import Kept, told
from tasks.speceval_folders import RULES, batched, write_spec

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "from-speceval.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^### (.*?)\n\n```bash\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
COMMANDS = [
    (title, line)
    for title, block in BLOCKS
    for line in block.replace("\\\n", "").splitlines()
    if line.startswith("overnight ")
]
KINDS = list(dict(COMMANDS).items())
CHOSEN = COMMANDS if os.environ.get("OVERNIGHT_EVERY_COMMAND") else KINDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The paths of SpecEval's page, with a small specification behind each."""
    base = tmp_path_factory.mktemp("speceval")
    shutil.copytree(ROOT / "examples" / "speceval", base, dirs_exist_ok=True)
    for name in ("configs", "binary_configs", "binary_configs_google"):
        shutil.copytree(base / name, base / "batched_examples" / name)
    for spec in ("openai", "anthropic", "google"):
        place = base / "data" / "specs" / spec / "jsonl"
        place.mkdir(parents=True)
        write_spec(place).rename(place / f"{spec}.jsonl")
        shutil.copy(place / f"{spec}.jsonl", place / f"{spec}_spec.jsonl")
    for path in {path for _, line in COMMANDS for path in re.findall(r"--pregenerated-inputs-dir (\S+)", line)}:
        (base / path).mkdir(parents=True)
        for rule in RULES:
            (base / path / f"{rule['id']}.json").write_text(json.dumps({"inputs": ["One?", "Two?"]}))
    for model in ("modelA", "modelB"):
        batched(
            base / "data" / "batched_generations", model, {"no_spam": [("One?", f"{model} says.")]}, "202505XX_XXXXXX"
        )
    return base


def test_the_page_has_every_command() -> None:
    assert len(COMMANDS) == 47
    assert len(KINDS) == 7


@pytest.mark.parametrize(("title", "line"), CHOSEN, ids=[f"{n}" for n in range(len(CHOSEN))])
def test_every_command_runs(folder: Path, title: str, line: str) -> None:
    typed = shlex.split(line)[1:]
    environ = clean_environment(GOOGLE_CLOUD_PROJECT="lab", HOME=str(folder))
    done = overnight(*typed, "--emulate", "--json", cwd=folder, env=environ)
    assert done.returncode == 0, (title, done.stderr)
    told = json.loads(done.stdout)
    assert told["state"] == "done"
    written = re.findall(r"(data/\S+): [\d,]+ (?:answers|verdicts)", done.stderr)
    assert written, done.stderr
    assert all(one.read_bytes() for path in written for one in (folder / path).rglob("*.json"))


def test_what_we_write_a_reader_of_the_format_can_read(folder: Path) -> None:
    """Answers by one command, judged by the next from the files alone; nothing by splitting names."""
    environ = clean_environment(GOOGLE_CLOUD_PROJECT="lab", HOME=str(folder))
    flags = (
        "--spec-path",
        "library_spec.jsonl",
        "--inputs",
        "inputs",
        "--spec-name",
        "mine",
        "--output-base-dir",
        "made",
    )
    for model in ("gpt-4.1-2025-04-14", "claude-3-7-sonnet-20250219"):
        done = overnight(
            "generate", *flags, "--model-name", model, "--batch-size", "5", "--emulate", cwd=folder, env=environ
        )
        assert done.returncode == 0, done.stderr
    (results,) = (folder / "made" / "mine" / "gpt-4.1-2025-04-14").glob("*/results")
    # Five requests in a batch and four inputs of each statement: statements span batches, and keep all their inputs.
    for file in (folder / "inputs").glob("*.json"):
        records = json.loads((results / file.name).read_text())
        assert [one["original_index"] for one in records] == [0, 1, 2, 3]
        assert [one["input_text"] for one in records] == json.loads(file.read_text())["inputs"]
        assert all("[trace gpt-4.1-2025-04-14 " in one["output_text"] for one in records)
    metadata = [json.loads(file.read_text()) for file in (results.parent / "metadata").glob("*.json")]
    assert sum(len(one["original_prompts_data"]) for one in metadata) == 24
    assert {one["status"] for one in metadata} == {"completed"}
    sent = [Path(folder, one["_internal_input_filepath"]).read_text().splitlines() for one in metadata]
    assert sum(map(len, sent)) == 24
    judging = (
        "--spec",
        "library_spec.jsonl",
        "--candidates",
        "made/mine/gpt-4.1-2025-04-14",
        "made/mine/claude-3-7-sonnet-20250219",
    )
    done = overnight(
        "rank",
        *judging,
        "--model",
        "openai/gpt-4.1-mini",
        "--output-dir-base",
        "ranks",
        "--batch-size",
        "5",
        "--emulate",
        cwd=folder,
        env=environ,
    )
    assert done.returncode == 0, done.stderr
    pairs = sorted(path.name for path in (folder / "ranks" / "spec_library_spec" / "judge_gpt-4.1-mini").iterdir())
    assert len(pairs) == 2
    ranked = 0
    # Five verdicts in a batch: files of statements that span batches hold the verdicts of all of them.
    for file in (folder / "ranks").rglob("results/*.json"):
        found = json.loads(file.read_text())
        assert len(found["rankings"]) == 4
        a, b = found["metadata"]["model_a"], found["metadata"]["model_b"]
        for one in found["rankings"]:
            assert f"[trace {a} " in one["output_a"]
            assert f"[trace {b} " in one["output_b"]
            assert one["rank"] in (1, -1, 0)
            ranked += 1
    assert ranked == 24 * 2
    told = ("--output-dir-base", "held", "--batch-size", "5", "--emulate")
    done = overnight("comply", *judging, "--model", "openai/gpt-4.1-mini", *told, cwd=folder, env=environ)
    assert done.returncode == 0, done.stderr
    held = [json.loads(file.read_text()) for file in (folder / "held").rglob("results/*.json")]
    assert any(len(one["metadata"]["batch_ids"]) > 1 for one in held)
    for one in held:
        asked = json.loads((folder / "inputs" / f"{one['metadata']['statement_id']}.json").read_text())["inputs"]
        assert [row["input"] for row in one["results"]] == asked
        assert all(f"[trace {one['metadata']['model']} " in row["output"] for row in one["results"])
    assert sum(len(one["results"]) for one in held) == 24 * 2


def test_the_program_runs(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    shutil.copytree(ROOT / "examples" / "speceval", tmp_path, dirs_exist_ok=True)
    environ = clean_environment(HOME=str(tmp_path), OVERNIGHT_TIME_SCALE="6000")
    command = [sys.executable, "-c", program.replace("time.sleep(1)", "time.sleep(0.1)")]
    done = subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "[trace gpt-4.1-mini " in done.stdout
    assert len(list((tmp_path / "ranks").rglob("results/*.json"))) == 6 * 2
    assert len(list((tmp_path / "verdicts").rglob("results/*.json"))) == 6 * 2


@pytest.mark.parametrize("name", speceval.__all__)
def test_every_name_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_all_of_the_metadata_is_on_the_page() -> None:
    text = " ".join(PAGE.split())
    assert f"`{', '.join(Kept.__struct_fields__)}`" in text
    nothing = RunStatus(
        run="x", path="x", begun_at="", cancelled=False, arms=(), batches=(), waiting_shards=0, causes={}
    )
    assert f"`{', '.join(told(nothing))}`" in text
