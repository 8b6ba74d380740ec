"""The emulator in somebody's test: the class, the fixtures of pytest, and the package that brings both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path

import openai
import pytest
from driving import chat_body, chat_lines, jsonl
from openai import OpenAI

from overnight_emulator.sharing import StateInUseError
from overnight_emulator.testing import Emulator


@pytest.fixture(scope="module")
def running():
    with Emulator({"time_scale": 1, "answer_with": {"capital of France": "Paris"}}) as one:
        yield one


@pytest.fixture
def one(running: Emulator):
    yield running
    running.reset()


@pytest.fixture
def client(one: Emulator):
    with OpenAI(base_url=one.env["OPENAI_BASE_URL"], api_key="sk-mine", max_retries=0) as made:
        yield made


def test_it_answers_and_tells_what_it_did(one: Emulator, client: OpenAI):
    said = client.chat.completions.create(**chat_body("The capital of France?"))
    assert said.choices[0].message.content == "Paris"
    assert one.log()["rows_run"] == 1


def test_time_passes_on_command(one: Emulator, client: OpenAI):
    file = client.files.create(file=("a.jsonl", jsonl(chat_lines(3))), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    assert client.batches.retrieve(batch.id).status in {"validating", "in_progress"}
    one.advance(3_600)
    assert client.batches.retrieve(batch.id).status == "completed"
    other = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    one.finish()
    assert client.batches.retrieve(other.id).status == "completed"


def test_reset_forgets(one: Emulator, client: OpenAI):
    one.faults({"on": "live", "do": "status", "status": 429})
    file = client.files.create(file=("a.jsonl", jsonl(chat_lines(1))), purpose="batch")
    one.reset()
    assert one.log()["calls"] == []
    with pytest.raises(openai.NotFoundError):
        client.files.retrieve(file.id)
    assert client.chat.completions.create(**chat_body("Hello?")).choices


@pytest.mark.parametrize(
    ("narrowing", "strikes"),
    [
        ({"key": "sk-mi*"}, True),
        ({"key": "sk-other"}, False),
        ({"path": "*/chat/completions"}, True),
        ({"path": "*/responses"}, False),
        ({"header": "user-agent: OpenAI*"}, True),
        ({"header": "X-Run"}, False),
    ],
)
def test_faults_by_key_path_and_header(one: Emulator, client: OpenAI, narrowing: dict[str, str], strikes: bool):
    one.faults({"on": "live", "do": "status", "status": 503, **narrowing})
    try:
        client.chat.completions.create(**chat_body("Hello?"))
        struck = False
    except openai.InternalServerError:
        struck = True
    assert struck == strikes


def test_faults_by_row(one: Emulator, client: OpenAI):
    one.faults({"on": "row", "do": "error", "row": "r[13]"})
    file = client.files.create(file=("a.jsonl", jsonl(chat_lines(5))), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    one.finish()
    failed = client.files.content(client.batches.retrieve(batch.id).error_file_id or "").text.splitlines()
    assert sorted(json.loads(line)["custom_id"] for line in failed) == ["r1", "r3"]


def test_faults_are_shown_and_disarmed(one: Emulator):
    one.faults({"on": "live", "do": "slow", "real_seconds": 1})
    address = f"{one.url}/_emulator/faults"
    with urllib.request.urlopen(address) as answer:
        assert json.load(answer) == {"faults": [{"on": "live", "do": "slow", "real_seconds": 1.0, "fired": 0}]}
    with urllib.request.urlopen(urllib.request.Request(address, method="DELETE")) as answer:
        assert json.load(answer) == {"armed": 0}
    with urllib.request.urlopen(f"{one.url}/_emulator/health") as answer:
        assert json.load(answer) == {"status": "ok"}
    with pytest.raises(ValueError, match="unknown key"):
        one.faults({"on": "batch", "do": "fail", "path": "/x"})


def test_the_fixtures(tmp_path: Path):
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent("""
        import os
        import urllib.request
        import pytest

        @pytest.mark.emulator({"seed": 3, "time_scale": 1})
        def test_a_truth(emulator):
            assert emulator.log()["rows_run"] == 0

        def test_variables(emulator_env):
            assert os.environ["OPENAI_BASE_URL"] == emulator_env.url + "/openai/v1"
            assert os.environ["OLLAMA_HOST"].startswith(emulator_env.url)

        def test_they_are_gone():
            assert "OLLAMA_HOST" not in os.environ
        """)
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "overnight_emulator.pytest_plugin", "-p", "no:cacheprovider"]
    environ = {name: value for name, value in os.environ.items() if name != "OLLAMA_HOST"}
    run = subprocess.run(
        [*command, str(tmp_path)], check=False, capture_output=True, text=True, cwd=tmp_path, env=environ
    )
    assert "3 passed" in run.stdout, run.stdout + run.stderr


def test_a_state_outlives_its_emulator(tmp_path: Path):
    def batch_of(one: Emulator, batch_id: str) -> openai.types.Batch:
        with OpenAI(base_url=one.env["OPENAI_BASE_URL"], api_key="sk-mine", max_retries=0) as client:
            return client.batches.retrieve(batch_id)

    one = Emulator({"time_scale": 1}, state=tmp_path / "state").start()
    with OpenAI(base_url=one.env["OPENAI_BASE_URL"], api_key="sk-mine") as client:
        file = client.files.create(file=("a.jsonl", jsonl(chat_lines(3))), purpose="batch")
        made = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
    with pytest.raises(StateInUseError, match="another emulator is using this state"):
        Emulator(state=tmp_path / "state").start()
    one.stop()
    one.start()
    assert batch_of(one, made.id).status in {"validating", "in_progress"}
    one.stop()
    with Emulator({"time_scale": 1}, state=tmp_path / "state") as other:
        other.finish()
        assert batch_of(other, made.id).status == "completed"
        assert other.log()["rows_run"] == 3


def test_one_that_does_not_run_says_so():
    one = Emulator()
    with pytest.raises(RuntimeError, match="not running"):
        one.log()
    with one, pytest.raises(RuntimeError, match="running already"):
        one.start()
    with pytest.raises(RuntimeError, match="not running"):
        one.faults()
