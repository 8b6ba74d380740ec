"""Flags for the parser of either generation."""

from __future__ import annotations

import importlib
from typing import Any

import cyclopts
import pytest

from overnight.terminal import parameters


class Older:
    """cyclopts 4's, which knows no `metavar`."""

    def __init__(self, *, help: str | None = None) -> None:  # noqa: A002 - its name there
        self.help = help


def test_a_flag_keeps_the_word_for_its_value() -> None:
    assert parameters.Parameter(help="So many.", metavar="N") == cyclopts.Parameter(help="So many.", metavar="N")


def test_an_older_parser_goes_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(cyclopts, "Parameter", Older)
        again: Any = importlib.reload(parameters)
        assert again.Parameter(help="So many.", metavar="N").help == "So many."
    importlib.reload(parameters)
