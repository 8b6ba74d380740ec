"""What a killed process leaves behind stands in nobody's way, and does not stay."""

from __future__ import annotations

import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import Shell


def test_input_files_of_attempts_that_are_over_are_swept_away(begun: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = begun.folder / "runs" / "fruit"
    outbox = run / "outbox"
    (outbox / "aaaaaaaaaaaaaaaaaaaa.jsonl").write_text("{}\n")
    (outbox / "bbbbbbbbbbbbbbbbbbbb.jsonl.part").write_text("{")
    # A download that was begun once more, and that nobody needs now.
    (run / "raw" / "cccccccccccccccccccc-output.jsonl.part").write_text("")
    with EmulatorProcess({"time_scale": 20000, "latency": {"batch": [60, 600], "live": [0, 0]}}) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        assert begun.type("run", "study.yaml", "--accept-account").code == 0
    assert list(outbox.iterdir()) == []
    assert list(run.rglob("*.part")) == []
