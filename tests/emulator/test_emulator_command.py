"""The command line."""

from __future__ import annotations

import subprocess
import sys

import pytest
from driving import cpu_seconds

import overnight_emulator
from overnight_emulator.simulate import expected_answer


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "overnight_emulator", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_env_prints_what_points_the_sdk_here(capsys):
    assert overnight_emulator.main(["--env", "--port", "9001"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "export OPENAI_BASE_URL=http://127.0.0.1:9001/openai/v1" in lines
    assert any(line.startswith("export OPENAI_API_KEY=") for line in lines)


def test_a_bad_truth_file_is_one_line_on_stderr(tmp_path):
    path = tmp_path / "truth.yaml"
    path.write_text("time_scael: 3", encoding="utf-8")
    ended = run(f"--truth={path}", "--port=0")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == f"overnight emulator: {path}: time_scael: unknown key; did you mean time_scale?\n"


@pytest.mark.parametrize("arguments", [["--time-scale=0"], ["--time-scale=fast"], ["--sead=1"], ["--port=x"]])
def test_wrong_use_ends_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        overnight_emulator.main(arguments)
    assert ended.value.code == 2
    assert capsys.readouterr().err


def test_a_port_in_use_is_said_to_be_so(shared):
    ended = run(f"--port={shared.url.rpartition(':')[2]}")
    assert ended.returncode == 2
    assert "address already in use" in ended.stderr


def test_flags_win_over_the_truth(emulate, connect):
    emulator = emulate({"seed": 1, "time_scale": 1}, "--seed=5", "--time-scale=7")
    assert emulator.ask("time")["time_scale"] == 7
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "x"}]}
    said = connect(emulator).chat.completions.create(**body).choices[0].message.content
    assert said == expected_answer(5, body)


def test_it_is_ready_soon(emulate):
    """In processor time, which a busy machine does not stretch."""
    spent = min(cpu_seconds(emulate().pid) for _ in range(2))
    assert spent < 1.0, "about 0.4 on an idle machine"
