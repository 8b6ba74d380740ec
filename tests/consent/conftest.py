"""A user who has allowed nothing yet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from overnight import consent


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the user's word is kept."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    consent.forget()
    yield tmp_path / "config" / "overnight" / "allowed.json"
    consent.forget()
