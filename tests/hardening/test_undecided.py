"""A shard that waits for the user's word keeps no room that the others need."""

from __future__ import annotations

import pytest

from emulator_process import EmulatorProcess
from hardening.conftest import Shell


def test_an_undecided_shard_does_not_fill_a_small_queue(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.items("id,text\n" + "".join(f"{number},{'plum ' * 40}{number}\n" for number in range(6)))
    truth = {
        "time_scale": 20000,
        "latency": {"batch": [60, 600], "live": [0, 0]},
        "limits": {"enqueued_tokens": {"gpt-4.1": 130}},
        "faults": [{"on": "create", "do": "twice", "skip": 3, "times": 1}],
    }
    with EmulatorProcess(truth) as emulator:
        monkeypatch.setenv("OPENAI_BASE_URL", emulator.openai_url)
        ending = shell.type("run", "study.yaml", "--timeout", "5d", "--json")
    assert ending.code == 4
    assert '"undecided"' in ending.out
    assert '"answered": 5' in ending.out or '"answered":5' in ending.out
