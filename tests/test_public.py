"""The public names are a promise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import overnight


def test_the_list_of_names() -> None:
    assert overnight.__all__ == [
        "OvernightError", "Plan", "Report", "Run", "RunStatus", "Study", "adopt", "allow", "audit_log", "cancel", "costs", "emulate", "forget_batch", "keys", "models", "plan",
        "rebuild", "report", "resolve_shard", "results", "resume", "run", "scan_results", "status", "submit", "verify", "watch",
    ]  # fmt: skip
    for name in overnight.__all__:
        assert getattr(overnight, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        overnight.runn  # noqa: B018


def test_importing_is_cheap() -> None:
    code = "import sys, overnight; print([m for m in ('polars', 'aiohttp', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_emulate_switches_rehearsals_on_and_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
    overnight.emulate()
    assert os.environ["OVERNIGHT_EMULATE"] == "1"
    overnight.emulate(on=False)
    assert os.environ["OVERNIGHT_EMULATE"] == "0"
