"""Pairwise work in notebooks, by the names that users of pairwiseLLM know; all of it stands on the same engine."""

from overnight.analysis import (
    build_bt_data,
    build_elo_data,
    check_positional_bias,
    compute_reverse_consistency,
    fit_elo_model,
    summarize_bt_fit,
)
from overnight.pairwise.costs import estimate_llm_pairs_cost
from overnight.pairwise.keys import check_llm_api_keys
from overnight.pairwise.live import llm_compare_pair, submit_llm_pairs
from overnight.pairwise.models import fit_bt_model
from overnight.pairwise.multi_batch import llm_resume_multi_batches, llm_submit_pairs_multi_batch
from overnight.pairwise.outputs import (
    parse_anthropic_batch_output,
    parse_gemini_batch_output,
    parse_openai_batch_output,
)
from overnight.pairwise.pairs import (
    alternate_pair_order,
    make_pairs,
    randomize_pair_order,
    sample_pairs,
    sample_reverse_pairs,
)
from overnight.pairwise.pipelines import (
    llm_download_batch_results,
    llm_submit_pairs_batch,
    run_anthropic_batch_pipeline,
    run_gemini_batch_pipeline,
    run_openai_batch_pipeline,
)
from overnight.pairwise.samples import example_writing_samples, read_samples_df, read_samples_dir
from overnight.pairwise.templates import (
    build_prompt,
    get_prompt_template,
    list_prompt_templates,
    register_prompt_template,
    remove_prompt_template,
    set_prompt_template,
    trait_description,
)

__all__ = [
    "alternate_pair_order",
    "build_bt_data",
    "build_elo_data",
    "build_prompt",
    "check_llm_api_keys",
    "check_positional_bias",
    "compute_reverse_consistency",
    "estimate_llm_pairs_cost",
    "example_writing_samples",
    "fit_bt_model",
    "fit_elo_model",
    "get_prompt_template",
    "list_prompt_templates",
    "llm_compare_pair",
    "llm_download_batch_results",
    "llm_resume_multi_batches",
    "llm_submit_pairs_batch",
    "llm_submit_pairs_multi_batch",
    "make_pairs",
    "parse_anthropic_batch_output",
    "parse_gemini_batch_output",
    "parse_openai_batch_output",
    "randomize_pair_order",
    "read_samples_df",
    "read_samples_dir",
    "register_prompt_template",
    "remove_prompt_template",
    "run_anthropic_batch_pipeline",
    "run_gemini_batch_pipeline",
    "run_openai_batch_pipeline",
    "sample_pairs",
    "sample_reverse_pairs",
    "set_prompt_template",
    "submit_llm_pairs",
    "summarize_bt_fit",
    "trait_description",
]
