"""The public names are a promise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import overnight
from overnight import speceval


def test_the_list_of_names() -> None:
    assert overnight.__all__ == [
        "OvernightError", "Plan", "Report", "Run", "RunStatus", "Study", "adopt", "allow", "audit_log", "cancel", "compare_models", "costs", "emulate", "forget_batch", "keys", "models", "plan", "pull", "push",
        "rebuild", "report", "resolve_shard", "results", "resume", "run", "scan_results", "serve", "status", "submit", "team", "verify", "watch",
    ]  # fmt: skip
    for name in overnight.__all__:
        assert getattr(overnight, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        overnight.runn  # noqa: B018


def test_the_names_for_specifications() -> None:
    assert speceval.__all__ == [
        "AnthropicBatchedModel", "BatchedCompliancePipeline", "BatchedGenerationPipeline", "BatchedModel",
        "BatchedRankingPipeline", "GoogleBatchedModel", "OpenAIBatchedModel", "TogetherBatchedModel",
    ]  # fmt: skip
    models = {
        one for one in vars(speceval).values() if isinstance(one, type) and issubclass(one, speceval.BatchedModel)
    }
    assert {one.__name__ for one in models} < {*speceval.__all__}


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
