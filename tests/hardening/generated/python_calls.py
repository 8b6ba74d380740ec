"""Calls from Python: every public function with every wrong kind of value, beside a run that is done; nobody can be asked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from hardening import pairwise_calls
from hardening.calls import complaint_about, spoiled_calls, waits
from hardening.generated.cases import Case
from hardening.generated.folders import kept_run, whole_run
from hardening.good_studies import write_files
from overnight.providers import vendors

# Those that look at no run and no study.
_OF_TABLES = ("overnight.analysis.", "overnight.rank.", "overnight.prices.", "overnight.pairwise.")


def calls() -> Iterator[Case]:
    for name in _calls():
        yield Case(name, _beside_nothing if name.startswith(_OF_TABLES) else _beside_a_run, ("call", name))


def called(name: str) -> tuple[int, str]:
    """As an exit code and what was said."""
    with _nobody_to_ask():
        told = complaint_about(_calls()[name])
    return (0, "") if told is None else (1, f"{name}: {told[:500]}")


@cache
def _calls() -> dict[str, Callable[[], Any]]:
    found = {name: call for name, call in spoiled_calls() if not waits(name)}
    of_pairs = pairwise_calls.cases(Path("in"))
    return {**found, **{f"overnight.pairwise.{name}": call for name, call in of_pairs}}


def _beside_a_run(folder: Path) -> None:
    write_files(folder)
    shutil.copytree(kept_run(whole_run), folder, dirs_exist_ok=True)


def _beside_nothing(folder: Path) -> None:
    pairwise_calls.write_odd_files(folder / "in")


@contextmanager
def _nobody_to_ask() -> Iterator[None]:
    """Without keys, what would be sent ends in one line that says so."""
    before = dict(os.environ)
    for one in vendors().values():
        os.environ.pop(one.key_variable, None)
        os.environ[one.base_url_variable] = "http://127.0.0.1:9"
    os.environ["OVERNIGHT_EMULATE"] = "0"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
