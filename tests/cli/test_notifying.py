"""`notify`: who is told that a run has ended, once, and at no cost to the run."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.shell import STUDY
from emulator_process import EmulatorProcess
from hooks import Hook
from overnight import consent
from overnight.cli import main

SECRET = "T0SECRET0TOKEN"
FAST = {"time_scale": 1_000_000.0, "latency": {"batch": [60, 61]}}
PEARS_FAIL = {
    "faults": [{"on": "row", "do": "error", "status": 400, "code": "invalid_request_error", "where": "pears"}]
}


@pytest.fixture
def emulator(monkeypatch: pytest.MonkeyPatch) -> Iterator[EmulatorProcess]:
    with EmulatorProcess(FAST | PEARS_FAIL) as one:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", one.openai_url)
        consent.forget()
        yield one
        consent.forget()


def notify(folder: Path, *targets: str) -> None:
    (folder / "fruit.yaml").write_text(f"{STUDY}notify: [{', '.join(targets)}]\n")


def on_disk(folder: Path, secret: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]


def test_an_ending_is_told_once(study: Path, emulator: EmulatorProcess) -> None:
    with Hook() as hook:
        notify(study, hook.url)
        assert main(["run", "fruit.yaml", "-q"]) == 3
        (told,) = hook.told
        assert (told["run"], told["state"], told["exit_code"]) == ("fruit", "rows failed", 3)
        assert told["message"] == "1 row failed for good: overnight results fruit --failed"
        rows = {"total": 3, "answered": 2, "refused": 0, "truncated": 0, "failed": 1, "pending": 0}
        assert told["rows"] == rows
        assert told["cost"] > 0
        assert not {"apples", "pears", "plums"} & set(str(told).split())
        # Nothing was left to do: that is no news.
        assert main(["run", "fruit.yaml", "-q"]) == 3
        assert main(["resume", "fruit", "-q"]) == 3
        assert len(hook.told) == 1
        # What is asked again ends again.
        assert main(["run", "fruit.yaml", "-q", "--reask", "failed"]) == 3
        assert len(hook.told) == 2


def test_looking_once_tells_when_it_has_ended(study: Path, emulator: EmulatorProcess) -> None:
    with Hook() as hook:
        notify(study, "$LAB_HOOK")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LAB_HOOK", hook.url.replace("/done", f"/{SECRET}"))
            assert main(["submit", "fruit.yaml", "-q"]) == 0
            assert hook.told == []
            for _ in range(100):
                if main(["resume", "--once", "-q"]) != 4:
                    break
                assert hook.told == []
            assert [told["state"] for told in hook.told] == ["rows failed"]
            assert main(["resume", "--once", "-q"]) == 0
            assert main(["resume", "fruit", "--once", "-q"]) == 3
        assert len(hook.told) == 1
    assert on_disk(study, SECRET) == []


def test_who_is_held_up_is_told_too(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = {"status": 429, "code": "insufficient_quota", "message": "You exceeded your current quota"}
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with EmulatorProcess({"faults": [{"on": "create", "do": "status", **refusal}]}) as emulator, Hook() as hook:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        notify(study, hook.url)
        assert main(["run", "fruit.yaml", "-q"]) == 4
        assert main(["resume", "--once", "-q"]) == 4
    (told,) = hook.told
    assert told["state"] == "held up"
    assert "quota" in told["message"]
    assert told["rows"]["pending"] == 3


def test_a_budget_that_is_used_up_is_told(study: Path, emulator: EmulatorProcess) -> None:
    with Hook() as hook:
        notify(study, hook.url)
        with (study / "fruit.yaml").open("a") as file:
            file.write("budget: {total: 0.000001, output_tokens: 100}\n")
        assert main(["run", "fruit.yaml", "-q"]) == 5
        assert main(["resume", "--once", "-q"]) == 5
    (told,) = hook.told
    assert told["state"] == "over budget"
    assert told["message"].startswith("3 rows not sent: ")


def test_whoever_cannot_be_told_changes_nothing(
    study: Path, emulator: EmulatorProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one who never answers: tests/notifying has the limit that it is given."""
    monkeypatch.setenv("LAB_HOOK", f"http://127.0.0.1:9/{SECRET}")
    with Hook(500) as refusing:
        notify(study, refusing.url, "$LAB_HOOK")
        began = time.monotonic()
        assert main(["run", "fruit.yaml"]) == 3
        assert time.monotonic() - began < 60
        seen = capsys.readouterr().err
        assert f"{refusing.url.split('/')[2]} was not told: it answered with status 500" in seen
        assert "$LAB_HOOK was not told: it cannot be reached" in seen
    assert SECRET not in seen
    assert (study / "runs" / "fruit" / "tables" / "results.parquet").exists()


def test_a_strangers_study_tells_nobody_without_a_word(
    study: Path, emulator: EmulatorProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notify(study, "https://evil.example/done")
    assert main(["run", "fruit.yaml", "-q"]) == 2
    wanted = "fruit.yaml:6:10: notify[0]: the run's end would be told to evil.example, as the study or run says"
    assert f"{wanted}; if that is meant, add --allow-host evil.example" in capsys.readouterr().err
    monkeypatch.setenv("LAB_MAIL", f"mailto://me:{SECRET}@evil.example")
    notify(study, "$LAB_MAIL")
    assert main(["run", "fruit.yaml", "-q"]) == 2
    wanted = "told to notify:mailto, as $LAB_MAIL and the study or run say; if that is meant, add --allow-host"
    assert f"{wanted} notify:mailto" in capsys.readouterr().err
    monkeypatch.setenv("LAB_MAIL", f"http://evil.example/{SECRET}")
    assert main(["run", "fruit.yaml", "-q", "--allow-host", "evil.example"]) == 2
    assert "what is in LAB_MAIL would travel unencrypted" in capsys.readouterr().err
    notify(study, "$OPENAI_API_KEY")
    assert main(["run", "fruit.yaml", "-q"]) == 2
    seen = capsys.readouterr().err
    assert "$OPENAI_API_KEY holds no address" in seen
    assert "sk-test" not in seen
    assert not (study / "runs").exists()


def test_a_word_is_kept_without_the_address(
    study: Path, emulator: EmulatorProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    notify(study, "$LAB_HOOK")
    with Hook() as hook:
        monkeypatch.setenv("LAB_HOOK", hook.url.replace("http://", f"json://me:{SECRET}@"))
        assert main(["submit", "fruit.yaml", "-q", "--allow-host", "notify:json"]) == 0
        consent.forget()
        assert main(["resume", "fruit", "-q"]) == 3
        assert [told["title"] for told in hook.told] == ["fruit: rows failed"]
    kept = json.loads((tmp_path / "config" / "overnight" / "allowed.json").read_text())
    assert kept["hosts"] == {"notify:json": ["notify:LAB_HOOK"]}
    assert on_disk(tmp_path, SECRET) == []


def test_a_strangers_run_tells_nobody_without_a_word(
    study: Path, emulator: EmulatorProcess, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    notify(study, "$LAB_HOOK")
    monkeypatch.setenv("LAB_HOOK", "http://127.0.0.1:9/")
    assert main(["submit", "fruit.yaml", "-q"]) == 0
    monkeypatch.setenv("LAB_HOOK", f"https://evil.example/{SECRET}")
    assert main(["resume", "fruit", "-q"]) == 2
    seen = capsys.readouterr().err
    assert "fruit: notify: the run's end would be told to evil.example, as $LAB_HOOK and the study or run say" in seen
    assert SECRET not in seen
    # Who has no such variable collects all the same.
    monkeypatch.delenv("LAB_HOOK")
    assert main(["resume", "fruit"]) == 3
    assert "$LAB_HOOK was not told: $LAB_HOOK is not set" in capsys.readouterr().err


def test_a_rehearsal_tells_nobody(study: Path) -> None:
    with Hook() as hook:
        notify(study, hook.url, "https://hooks.example/done", "$NOT_SET")
        assert main(["run", "fruit.yaml", "-q", "--emulate"]) == 0
    assert hook.told == []
