from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from overnight.core.ask import Arm, Ask, Message, Model
from overnight.engine.flow.sampling import address, stratified

MODEL = Model(provider="openai", name="gpt-4.1-mini")


def asks(items: int, arms: int, replicates: int = 1) -> list[Ask]:
    made = [Arm(stage="s", name=f"arm{n}", template="t", model=MODEL) for n in range(arms)]
    return [
        Ask(arm=arm, item=f"i{item}", replicate=r, messages=(Message("user", "x"),))
        for item in range(items)
        for arm in made
        for r in range(replicates)
    ]


@given(items=st.integers(1, 30), arms=st.integers(1, 5), limit=st.integers(1, 60), seed=st.integers(0, 9))
def test_even_over_the_arms_and_never_more_than_asked(items: int, arms: int, limit: int, seed: int) -> None:
    everything = asks(items, arms)
    chosen = stratified(everything, limit, seed)
    assert len(chosen) <= limit
    assert chosen <= {address(ask) for ask in everything}
    counts = Counter(arm for arm, *_ in chosen)
    if limit >= arms:
        assert max(counts.values()) - min(counts.values()) <= 1
    if limit >= items * arms:
        assert len(chosen) == items * arms


@given(seed=st.integers(0, 9), small=st.integers(1, 20), more=st.integers(1, 20))
def test_a_larger_look_keeps_the_smaller_one(seed: int, small: int, more: int) -> None:
    everything = asks(50, 1)
    assert stratified(everything, small, seed) <= stratified(everything, small + more, seed)


def test_the_same_items_in_every_arm_in_any_order() -> None:
    everything = asks(100, 2)
    chosen = stratified(everything, 20, 3)
    assert chosen == stratified(reversed(everything), 20, 3)
    by_arm = [{item for arm, item, *_ in chosen if arm == name} for name in ("arm0", "arm1")]
    assert by_arm[0] == by_arm[1]
    assert stratified(everything, 20, 4) != chosen
