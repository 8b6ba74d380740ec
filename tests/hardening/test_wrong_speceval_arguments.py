"""Every parameter of what `overnight.speceval` sends with, with every wrong kind of value: one clear line of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from hardening.calls import complaint_about, sends, spoiled_calls
from overnight.core.errors import Unauthorized
from overnight.providers import vendors
from overnight.speceval import OpenAIBatchedModel


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody is asked anything: there is no key, so that what would be sent ends in one line that says so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
    for vendor in vendors().values():
        monkeypatch.delenv(vendor.key_variable, raising=False)
        monkeypatch.setenv(vendor.base_url_variable, "http://127.0.0.1:1")
    return tmp_path


@pytest.mark.usefixtures("nobody")
def test_no_wrong_kind_ends_in_a_bare_error() -> None:
    """All of them: there are few."""
    calls = [case for case in spoiled_calls() if case[0].startswith("overnight.speceval.")]
    assert any(sends(name) for name, _ in calls)
    assert {name: told for name, call in calls if (told := complaint_about(call)) is not None} == {}


def test_a_good_call_gets_as_far_as_the_key(nobody: Path) -> None:
    """Or the cases above would say nothing of what is behind the arguments."""
    with pytest.raises(Unauthorized, match="OPENAI_API_KEY is not set"):
        OpenAIBatchedModel("gpt-4.1-mini").generate_batch(["Say a."])
    assert list(nobody.iterdir()) == []
