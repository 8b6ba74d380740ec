"""The ids of an input: one that comes again is found, however many there are and however they hash."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest

from overnight_emulator.batches.seen_ids import SeenIds


@pytest.mark.parametrize("mark", [hash, len, lambda _: 0, lambda one: -len(one)])
def test_an_id_that_comes_again_is_found_and_no_other(mark: Callable[[str], int]) -> None:
    ids = [f"r{n}" for n in range(3_000 if mark is hash else 150)]
    seen = SeenIds(lambda: iter([*ids, "r7", "never reached"]), mark)
    assert all(seen.add(one) for one in ids)
    assert not seen.add("r7")
    assert not seen.add(ids[-1])
    assert seen.count == len(ids)
    assert seen.add("never reached"), "what stands behind has not been seen yet"


def test_many_long_ids_take_a_few_bytes_each() -> None:
    tracemalloc.start()
    seen = SeenIds(lambda: ())
    for n in range(100_000):
        assert seen.add(f"{n:0>400}")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000 * 40
