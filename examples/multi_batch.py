"""Many batches in one go: a grid of judges with rules, everything submitted, the session ended, the rest resumed.

    python examples/multi_batch.py submit OUT      make the grid, submit all of it, write the manifest
    python examples/multi_batch.py resume OUT      poll what is not finished, merge everything into one table

Each combination of template, provider, model, thinking and direction is a run in a folder of its own: 110 of them, or
22 if you name one template (`submit OUT short`). Set OVERNIGHT_EMULATE=1 to rehearse on the built-in emulator, which
needs no key and costs nothing.
"""

import re
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import polars as pl

import overnight.pairwise as pw

SAMPLES = pl.read_csv(Path(__file__).parent / "writing_samples.csv")
TRAIT = pw.trait_description("overall_quality")
TEMPLATES = ("default", "impartial", "steps", "short", "gaps")

# Which judges: every model with every thinking setting, less what the rule below leaves out.
JUDGES = [
    ("anthropic", "claude-sonnet-4-5"),
    ("anthropic", "claude-haiku-4-5"),
    ("anthropic", "claude-opus-4-5"),
    ("gemini", "gemini-3-pro-preview"),
    ("openai", "gpt-4.1"),
    ("openai", "gpt-4o"),
    ("openai", "gpt-5.1"),
]
THINKING = ("no_thinking", "with_thinking")


def pairs_by_direction() -> dict[str, pl.DataFrame]:
    """The same pairs in one order and in the other."""
    some = pw.sample_pairs(pw.make_pairs(SAMPLES), n_pairs=40, seed=123)
    forward = pw.randomize_pair_order(some, seed=456)
    return {"forward": forward, "reverse": pw.sample_reverse_pairs(forward, reverse_pct=1.0, seed=789)}


def is_wanted(provider: str, model: str, thinking: str) -> bool:
    """The rules: of OpenAI's models only gpt-5.1 is asked to think, and Gemini always is."""
    if provider == "gemini":
        return thinking == "with_thinking"
    return thinking == "no_thinking" or provider != "openai" or model == "gpt-5.1"


def run_plan(out: Path, templates: Sequence[str]) -> pl.DataFrame:
    """One row for each run, with the folder it gets."""
    rows = []
    for template, (provider, model), thinking, direction in product(templates, JUDGES, THINKING, pairs_by_direction()):
        if is_wanted(provider, model, thinking):
            run_id = re.sub(r"[^A-Za-z0-9_.-]+", "-", f"{template}__{provider}__{model}__{thinking}__{direction}")
            rows.append((run_id, template, provider, model, thinking, direction, str(out / run_id)))
    columns = ["run_id", "template_id", "provider", "model", "thinking", "direction", "run_dir"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def options_of(provider: str, thinking: str) -> dict[str, object]:
    """Each provider's own words for thinking; the raw lines are kept for a closer look."""
    thinks = thinking == "with_thinking"
    if provider == "anthropic":
        judge = (
            {"reasoning": "enabled", "include_thoughts": True} if thinks else {"reasoning": "none", "temperature": 0}
        )
    elif provider == "gemini":
        judge = {"thinking_level": "low", "include_thoughts": True}
    else:
        judge = {"include_thoughts": thinks}
    return {**judge, "include_raw": True}


def submit(out: Path, templates: Sequence[str]) -> None:
    """Submit every run and wait for none; the manifest is all that a later session needs."""
    plan, pairs = run_plan(out, templates), pairs_by_direction()
    out.mkdir(parents=True, exist_ok=True)
    plan.write_csv(out / "run_manifest.csv")
    for run in plan.iter_rows(named=True):
        print("submitting", run["run_id"])
        pw.llm_submit_pairs_multi_batch(
            pairs[run["direction"]],
            run["model"],
            TRAIT.name,
            TRAIT.description,
            pw.get_prompt_template(run["template_id"]),
            run["provider"],
            n_segments=1,
            output_dir=run["run_dir"],
            write_registry=True,
            verbose=True,
            **options_of(run["provider"], run["thinking"]),
        )


def needs_poll(run_dir: str) -> bool:
    """Whether a run's registry has a batch that is not done."""
    return not pl.read_csv(Path(run_dir) / "jobs_registry.csv")["done"].all()


def resume(out: Path) -> pl.DataFrame:
    """Poll the runs that are not finished, then merge all of them into one table."""
    manifest = pl.read_csv(out / "run_manifest.csv")
    for run_dir in filter(needs_poll, manifest["run_dir"]):
        print("polling", Path(run_dir).name)
        pw.llm_resume_multi_batches(
            output_dir=run_dir,
            interval_seconds=60,
            per_job_delay=2,
            write_results_csv=True,
            write_registry=True,
            keep_jsonl=True,
            verbose=True,
            write_combined_csv=True,
            combined_csv_path="combined_results.csv",
        )
    parts = []
    for run in manifest.iter_rows(named=True):
        combined = Path(run["run_dir"]) / "combined_results.csv"
        if combined.exists():
            meta = [pl.lit(run[name]).alias(name) for name in manifest.columns if name not in {"run_dir", "model"}]
            parts.append(
                pl.read_csv(combined, infer_schema_length=None).with_columns(*meta, model=pl.lit(run["model"]))
            )
    merged = pl.concat(parts, how="vertical_relaxed")
    merged.write_csv(out / "combined_all_runs.csv")
    return merged


def report(merged: pl.DataFrame) -> None:
    """Does each judge hold to its choice, and does the place decide?"""
    for (template, model, thinking), rows in merged.group_by("template_id", "model", "thinking", maintain_order=True):
        directions = (rows.filter(pl.col("direction") == direction) for direction in ("forward", "reverse"))
        bias = pw.check_positional_bias(pw.compute_reverse_consistency(*directions), seed=1).summary.row(0, named=True)
        share, chance = bias["prop_consistent"], bias["p_inconsistent"]
        print(f"{template:9} {model:20} {thinking:13} consistent {share:.0%}, sign test p = {chance}")


if __name__ == "__main__":
    verb, folder, *named = sys.argv[1:]
    if verb == "submit":
        submit(Path(folder), named or TEMPLATES)
    else:
        report(resume(Path(folder)))
