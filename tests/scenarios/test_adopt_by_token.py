"""`adopt PROVIDER --token`: a batch of ours whose run was lost, found by the name under which it was sent."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from overnight.core.shard import TOKEN_LENGTH
from overnight.ledger.traces import sent_attempts
from scenarios.bill import priced
from scenarios.conftest import SHAPES, Scenario

UNTAGGED = "anthropic"
TAGGED = [name for name in SHAPES if name != UNTAGGED]
NOBODYS = "a" * TOKEN_LENGTH


def lost_run(one: Scenario, rows: int = 5) -> list[str]:
    """Sent, and then all but the list of what was sent is gone; returns the tokens in it."""
    assert one.call("submit", priced(one, rows)).state == "submitted"
    tokens = list(sent_attempts(one.kept().marks))
    one.lose()
    one.emulator.finish()
    return tokens


@pytest.mark.parametrize("provider", TAGGED)
def test_a_lost_runs_batches_are_brought_in(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    tokens = lost_run(one, 8)
    assert len(tokens) == 2
    one.emulator.add_foreign(provider, 120)
    counts = []
    for token in tokens:
        ending = one.call("adopt", provider, token=token)
        assert (ending.state, ending.error) == ("done", None), ending
        table = one.table(f"adopted-{token}")
        assert sorted(table["item_id"]) == sorted(f"o{token}-{n}" for n in range(table.height))
        counts.append(table.height)
        assert one.statuses(f"adopted-{token}") == {"answered": table.height}
    # Shards are sent at once: either may be the first.
    assert sorted(counts) == [3, 5]
    one.assert_paid_once()


@pytest.mark.parametrize("provider", TAGGED)
def test_a_token_that_no_batch_bears_leaves_nothing_behind(scenario: Callable[..., Scenario], provider: str) -> None:
    one = scenario(provider=provider)
    lost_run(one)
    ending = one.call("adopt", provider, token=NOBODYS)
    assert ending.error == "UnknownName"
    assert f"--token {NOBODYS}: {provider} lists no batch with that token in this account" in ending.message
    assert f"adopted-{NOBODYS}" not in one.left()


def test_two_batches_with_one_token_are_for_the_user_to_choose(scenario: Callable[..., Scenario]) -> None:
    one = scenario(faults=[{"on": "create", "do": "twice", "times": 1}])
    assert one.run(one.study(5)).state == "undecided"
    (token,) = {batch["metadata"]["overnight"] for batch in one.batches()}
    ending = one.call("adopt", "openai", token=token)
    assert ending.error == "StudyError"
    names = ", ".join(sorted(batch["id"] for batch in one.batches()))
    assert f"--token {token}: openai lists several: adopt one of {names} by its id" in ending.message


def test_where_batches_bear_no_token_the_id_is_asked_for(scenario: Callable[..., Scenario]) -> None:
    one = scenario(provider=UNTAGGED)
    (token,) = lost_run(one)
    ending = one.call("adopt", UNTAGGED, token=token)
    assert ending.error == "StudyError"
    assert f"--token: {UNTAGGED} keeps no token with a batch; adopt it by its id instead" in ending.message
    # The way that it names works.
    batch = one.batches()[0]["id"]
    assert one.call("adopt", UNTAGGED, batch).state == "done"
    assert one.statuses(f"adopted-{batch}") == {"answered": 5}
