"""The benchmark times functions by their names: each must still be where it looks."""

from __future__ import annotations

import sys
from importlib import import_module
from operator import attrgetter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from hand_over import STEPS as HAND_OVER_STEPS
from pipeline import STEPS


@pytest.mark.parametrize("place", sorted({*STEPS.values(), *HAND_OVER_STEPS.values()}))
def test_every_step_is_there(place: str) -> None:
    module, _, path = place.partition(":")
    assert callable(attrgetter(path)(import_module(module)))
