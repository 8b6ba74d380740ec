"""A sample of the calls in `pairwise_calls`, and that they get as far as they should."""

from __future__ import annotations

import inspect
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hardening.calls import complaint_about
from hardening.pairwise_calls import cases, good_call, write_odd_files
from overnight import pairwise as pw
from overnight.core.errors import Unauthorized
from overnight.providers import vendor

SAMPLE = 600
SECONDS = 20
BACKENDS = ("anthropic", "gemini", "ollama", "openai", "together")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nobody is asked anything: there is no key, so that what would be sent ends in one line that says so."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERNIGHT_EMULATE", "0")
    for name in BACKENDS:
        monkeypatch.delenv(vendor(name).key_variable, raising=False)
        monkeypatch.setenv(vendor(name).base_url_variable, "http://127.0.0.1:1")
    write_odd_files(tmp_path / "in")
    return tmp_path / "in"


def _troubles(found: list[tuple[str, Callable[[], Any]]]) -> dict[str, str]:
    def too_long(*_: object) -> None:
        raise TimeoutError(f"not over after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, too_long)
    try:
        troubles = {}
        for name, call in found:
            signal.alarm(SECONDS)
            told = complaint_about(call)
            if told is not None:
                troubles[name] = told
        return troubles
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore")
def test_no_wrong_kind_ends_in_a_bare_error(folder: Path) -> None:
    """A sample; with OVERNIGHT_HARDENING set, every case there is."""
    every = list(cases(folder))
    drawn = every if os.environ.get("OVERNIGHT_HARDENING") else random.Random(0).sample(every, SAMPLE)
    assert _troubles(drawn) == {}


@pytest.mark.parametrize("name", ["llm_submit_pairs_multi_batch", "run_openai_batch_pipeline", "llm_compare_pair"])
def test_a_good_call_gets_as_far_as_the_key(folder: Path, name: str) -> None:
    """Or the cases above would say nothing of what is behind the arguments."""
    with pytest.raises(Unauthorized, match="OPENAI_API_KEY is not set"):
        getattr(pw, name)(**good_call(name, folder))


def test_every_function_checks_what_it_is_called_with() -> None:
    for name in pw.__all__:
        one = getattr(pw, name)
        assert hasattr(one.__init__ if inspect.isclass(one) else one, "__wrapped__"), name
