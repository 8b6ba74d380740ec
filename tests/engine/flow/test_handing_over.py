"""Which groups are as complete as they can get, and what of them comes too late."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from overnight.engine.flow.handing_over import sort_groups
from overnight.ledger.threads import GroupedSlot

THREADS = st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans(), st.integers(1, 3)), min_size=1, max_size=5)


def slots_of(name: str, threads: list[tuple[bool, bool, bool, int]], first: int, *, gone: bool) -> list[GroupedSlot]:
    """Turns before the last one are settled and not the end of anything."""
    found = []
    for replicate, (settled, ended, marked, turns) in enumerate(threads):
        for turn in range(turns):
            last = turn == turns - 1
            found.append(
                GroupedSlot(
                    item=name,
                    slot=first + len(found),
                    arm=1,
                    replicate=replicate,
                    settled=settled or not last,
                    ended=ended and settled and last,
                    marked=marked and last,
                    gone=gone,
                )
            )
    return found


@given(st.lists(st.tuples(THREADS, st.booleans()), max_size=4), st.booleans())
def test_a_group_is_complete_when_nothing_of_it_is_open(
    groups: list[tuple[list[tuple[bool, bool, bool, int]], bool]], in_turns: bool
) -> None:
    slots: list[GroupedSlot] = []
    complete, late = [], []
    for number, (threads, gone) in enumerate(groups):
        own = slots_of(f"item {number}", threads, len(slots), gone=gone)
        slots += own
        ends = [own[sum(turns for *_, turns in threads[: place + 1]) - 1] for place in range(len(threads))]
        over = [settled and (ended or not in_turns) for settled, ended, _, _ in threads]
        if gone:
            late += [end.slot for end, done in zip(ends, over, strict=True) if done and not end.marked]
        elif all(over):
            complete.append([end.slot for end in ends])
    assert sort_groups(slots, in_turns=in_turns) == (complete, late)
