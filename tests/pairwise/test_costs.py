from __future__ import annotations

from collections.abc import Callable

import pytest

from overnight.core.errors import StudyError
from overnight.pairwise import build_prompt, example_writing_samples, make_pairs
from overnight.pairwise.costs import _chosen, estimate_llm_pairs_cost
from pairwise.conftest import ASKED, Notebook

PAIRS = make_pairs(example_writing_samples())


# As users of pairwiseLLM know them, in their order.
COLUMNS = [
    *("backend", "mode", "model", "endpoint", "n_total", "n_test", "n_remaining", "cost_per_million_input"),
    *("cost_per_million_output", "batch_discount", "budget_quantile", "pilot_prompt_tokens", "pilot_completion_tokens"),
    *("est_remaining_prompt_tokens", "est_remaining_completion_tokens_expected"),
    *("est_remaining_completion_tokens_budget", "expected_total_prompt_tokens", "expected_total_completion_tokens"),
    *("budget_total_completion_tokens", "expected_cost_input", "expected_cost_output", "expected_cost_total"),
    *("budget_cost_input", "budget_cost_output", "budget_cost_total"),
]


def test_the_rest_is_reckoned_from_a_pilot(notebook: Callable[..., Notebook]) -> None:
    one = notebook()
    found = estimate_llm_pairs_cost(PAIRS, "gpt-4.1-mini", *ASKED, n_test=12, seed=1, output_dir=one.folder)
    assert found.summary.columns == COLUMNS
    (row,) = found.summary.iter_rows(named=True)
    assert (row["n_total"], row["n_test"], row["n_remaining"]) == (190, 12, 178)
    assert found.remaining_pairs.height == 178
    # The emulator counts a quarter of a token for each character: the line through the pilot finds that.
    characters = sum(len(build_prompt(ASKED[2], *ASKED[:2], *texts)) for texts in PAIRS.select("text1", "text2").rows())
    assert row["expected_total_prompt_tokens"] == pytest.approx(characters / 4, rel=0.01)
    assert row["batch_discount"] == 0.5
    assert row["expected_cost_total"] == pytest.approx(row["expected_cost_input"] + row["expected_cost_output"])
    assert row["budget_cost_total"] >= row["expected_cost_total"] > 0
    assert one.rows_run() == 12


def test_without_a_pilot_only_the_input_is_known() -> None:
    found = estimate_llm_pairs_cost(PAIRS, "gpt-4.1-mini", *ASKED, n_test=0, mode="live", cost_per_million_input=8.0)
    (row,) = found.summary.iter_rows(named=True)
    assert found.pilot is None
    assert row["expected_cost_input"] == pytest.approx(row["expected_total_prompt_tokens"] * 8 / 1e6)
    assert row["expected_cost_total"] is None


@pytest.mark.parametrize("strategy", ["stratified_prompt_bytes", "random", "first"])
def test_the_pilot_s_pairs(strategy: str) -> None:
    sizes = list(range(100, 0, -1))
    chosen = _chosen(sizes, 10, strategy, 3)
    assert len(set(chosen)) == 10
    if strategy == "stratified_prompt_bytes":
        assert [sum(low <= row < low + 20 for row in chosen) for low in range(0, 100, 20)] == [2] * 5
    if strategy == "first":
        assert chosen == list(range(10))


def test_what_is_refused() -> None:
    with pytest.raises(StudyError, match=r"test_strategy: wanted .*, found 'frist'; did you mean 'first'"):
        _chosen([1], 1, "frist", 0)
    with pytest.raises(StudyError, match="no price is known for 'openai/unheard-of'"):
        estimate_llm_pairs_cost(PAIRS[:1], "unheard-of", *ASKED)
