"""How a pass ended, in words: only what is at the provider is said to go on there."""

from __future__ import annotations

import pytest

from overnight.api.run_state import whereabouts
from overnight.engine.progress import BatchLine


def lines(*states: str) -> list[BatchLine]:
    return [
        BatchLine(
            shard=number, attempt=1, arm="a", state=state, status=None, batch_id=None, rows=3, completed=0, failed=0,
            message=None, submitted_at=None,
        )
        for number, state in enumerate(states)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("states", "words"),
    [
        ((), "nothing is left at the provider"),
        (("intended",), "1 batch is still to be sent"),
        (("uploaded", "intended"), "2 batches are still to be sent"),
        (("creating",), "1 batch may have been made, which is still to be found out"),
        (("unsure",), "1 batch may have been made, which is still to be found out"),
        (("ended",), "1 batch has ended and is still to be fetched"),
        (("running",), "1 batch goes on at the provider"),
        (("running", "uploaded", "running"), "2 batches go on at the provider, 1 batch is still to be sent"),
    ],
)
def test_each_batch_is_where_it_is(states: tuple[str, ...], words: str) -> None:
    assert whereabouts(lines(*states)) == words


def test_rows_that_nobody_has_begun_to_send_are_told() -> None:
    assert whereabouts([], 1) == "1 row is still to be sent"
    assert whereabouts(lines("running"), 1_200) == "1 batch goes on at the provider, 1,200 rows are still to be sent"
