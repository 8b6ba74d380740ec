"""Nothing but a run's folder knows where its files are: in a store of objects, a study gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scenarios.conftest import Scenario

ON_OBJECTS = "scenarios.objects:run_on_objects"
FAULTS = (
    {"on": "create", "do": "drop_answer", "times": 1},
    {"on": "batch", "do": "expire", "share": 0.5, "times": 1},
    {"on": "content", "do": "cut", "at": 0.6, "times": 1},
)
TWO_TURNS = {"turns": ["Are you sure?"]}


@pytest.mark.parametrize(
    ("provider", "fields"),
    [("openai", {}), ("anthropic", {}), ("openai", {"mode": "live"}), ("openai", TWO_TURNS)],
    ids=["openai", "anthropic", "live", "two turns"],
)
def test_a_run_on_objects_gives_the_same_bytes(
    scenario: Callable[..., Scenario], provider: str, fields: dict[str, Any]
) -> None:
    digests = []
    for verb in ("run", ON_OBJECTS):
        one = scenario(faults=() if fields else FAULTS, provider=provider)
        ending = one.call(verb, one.study(**fields))
        assert ending.state == "done", ending
        one.assert_paid_once()
        digests.append(one.table_digest())
    assert digests[0] == digests[1]
    assert sorted(path.name for path in (one.folder / "runs" / "night").iterdir()) == ["ledger.db", "lock", "tables"]
