from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from overnight.core.shard import LONGEST_CUSTOM_ID, custom_id, line_of, token_of

texts = st.text(max_size=30)


@given(run=texts, stage=texts, arm=texts, shard=st.integers(0, 10**9), attempt=st.integers(1, 99))
def test_custom_ids_are_legal_at_every_provider(run: str, stage: str, arm: str, shard: int, attempt: int) -> None:
    token = token_of(run, stage, arm, shard, attempt)
    name = custom_id(token, 999_999_999)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name)
    assert len(name) <= LONGEST_CUSTOM_ID


@given(line=st.integers(0, 999_999_999))
def test_a_custom_id_leads_back_to_its_line(line: int) -> None:
    token = token_of("run", "stage", "arm", 1, 1)
    assert line_of(token, custom_id(token, line)) == line


@given(text=st.text())
def test_no_foreign_text_names_a_line(text: str) -> None:
    assert line_of(token_of("run", "stage", "arm", 1, 1), text) is None


def test_another_attempts_id_is_foreign() -> None:
    first, second = (token_of("run", "stage", "arm", 1, n) for n in (1, 2))
    assert line_of(first, custom_id(second, 3)) is None
    assert line_of(first, custom_id(first, 3) + "\n") is None
    assert line_of(first, f"o{first}-03") is None


def test_tokens_are_derived_so_that_a_restored_ledger_finds_its_batches() -> None:
    assert token_of("run", "s", "a", 1, 1) == token_of("run", "s", "a", 1, 1)
    names = {token_of(run, s, a, n, m) for run in "xy" for s in "xy" for a in "xy" for n in (1, 2) for m in (1, 2)}
    assert len(names) == 32
    assert token_of("r", "ab", "c", 1, 1) != token_of("r", "a", "bc", 1, 1)
