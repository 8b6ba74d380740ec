"""Keys that were seen: each is new once, whatever bytes it has."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from overnight.api.plans.key_set import KeySet


# Few different bytes, so that one key is found where another ends and the next begins.
@given(st.lists(st.lists(st.sampled_from(b"\0\1"), min_size=10, max_size=10).map(bytes), max_size=200))
def test_a_key_is_new_once(keys: list[bytes]) -> None:
    held, seen = KeySet(), set[bytes]()
    for key in keys:
        assert held.add(key) == (key not in seen)
        seen.add(key)


def test_what_is_held_of_a_key_tells_it_apart() -> None:
    held = KeySet()
    assert held.add(b"0123456789abcdef")
    assert not held.add(b"0123456789")
