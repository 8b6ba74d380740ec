"""A gateway that repeats the key, in errors and in rows: it reaches neither the disk nor the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from scenarios.conftest import KEY, SHAPES, Scenario

REFUSED = {"do": "status", "status": 400, "code": "invalid", "message": "no luck with {key} today"}
VERTEX = "vertex"  # at an emulated store nobody proves who they are
# Whose rows come by a signed address, or out of a page of results.
KEYLESS = {"fireworks", "xai"}


def assert_nowhere(folder: Path, said: Sequence[str]) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    assert KEY not in "\n".join(said)


@pytest.mark.parametrize("mode", ["batch", "live"])
@pytest.mark.parametrize("provider", [name for name in SHAPES if name != VERTEX])
def test_rows_that_repeat_the_key(scenario: Callable[..., Scenario], provider: str, mode: str) -> None:
    one = scenario(faults=[{"on": "content", "do": "echo_key"}, {"on": "live", "do": "echo_key"}], provider=provider)
    ending = one.run(one.study(4, mode=mode))
    assert ending.state == "done", ending
    assert one.statuses() == {"answered": 4}
    raw = b"".join(path.read_bytes() for path in (one.folder / "runs" / "night" / "raw").iterdir())
    if provider in KEYLESS and mode == "batch":
        assert_nowhere(one.folder / "runs", ending.said)
        return
    if provider == "openai" or mode == "batch":
        assert b"*" * len(KEY) in raw
    assert_nowhere(one.folder / "runs", ending.said)
    assert any("repeated the key" in text for text in ending.said)
    assert one.findings() == []


@pytest.mark.parametrize("on", ["upload", "create", "live", "content", "list"])
@pytest.mark.parametrize("provider", [name for name in SHAPES if name != VERTEX])
def test_errors_that_repeat_the_key(scenario: Callable[..., Scenario], provider: str, on: str) -> None:
    fault: dict[str, Any] = {"on": on, **REFUSED, "times": 2}
    one = scenario(faults=[fault], provider=provider)
    ending = one.run(one.study(4, mode="live" if on == "live" else "batch"), timeout="48h")
    assert_nowhere(one.folder / "runs", [*ending.said, ending.message])
