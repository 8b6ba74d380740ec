"""`emulator`: the emulator behind the same command."""

import signal
import subprocess
import sys
import urllib.request

import pytest

from cli.shell import clean_environment
from overnight.cli import main


def test_its_options_are_its_own(capsys: pytest.CaptureFixture[str]):
    assert main(["emulator", "--env", "--port", "1234"]) == 0
    assert "http://127.0.0.1:1234/openai/v1" in capsys.readouterr().out


def test_it_serves_until_it_is_stopped():
    command = [sys.executable, "-m", "overnight", "emulator", "--port", "0"]
    with subprocess.Popen(command, env=clean_environment(), stdout=subprocess.PIPE, text=True) as serving:
        address = serving.stdout.readline().removeprefix("listening on ").strip()
        with urllib.request.urlopen(f"{address}/_emulator/log", timeout=30) as answer:
            assert answer.status == 200
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(30) == 0
