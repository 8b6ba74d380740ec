"""The public API as its users type it; checked by mypy, never run."""

from pathlib import Path
from typing import Any

import polars as pl

import overnight as on
import overnight.pairwise as pw
import overnight.speceval as se

study: on.Study = on.Study.load(Path("study.yaml"))
made: on.Study = on.Study(
    name="x", task="generate", items=[{"id": "1", "text": "a"}], prompt="{text}", models=["openai/gpt-4.1"]
)
planned: on.Plan = on.plan(study, show=3, write="out")
requests: int = planned.total("requests")
run: on.Run = on.run(made, limit=10, timeout="2h", as_name="copy", reask=["failed", "refused"])
frame: pl.DataFrame = run.results()
code: int = run.exit_code
sent: on.Run = on.submit("batch.jsonl", provider="openai", description="mine")
runs: list[on.Run] = on.resume("x", once=True, timeout=3600)
states: list[on.RunStatus] = on.status()
log: pl.DataFrame = on.audit_log("x")
failures: pl.DataFrame = on.results("x", failed=True, output="failed.csv")
rebuilt: int = on.rebuild("x")
called_off: on.Run | None = on.cancel("x")
adopted: list[on.Run] = on.adopt("openai", "batch_1")

judged: on.Run = on.run(
    on.Study(
        name="y", task="compare", items=frame, pairs={"reverse": 1.0}, trait="organization", models=["openai/gpt-4.1"]
    )
)
verdicts: pl.DataFrame = judged.verdicts()
ranking: pl.DataFrame = on.results("y", table="rankings")
pairs: pl.DataFrame = pw.sample_pairs(pw.make_pairs(pw.example_writing_samples()), n_pairs=40, seed=1)
trait = pw.trait_description("overall_quality")
batches = pw.llm_submit_pairs_multi_batch(
    pairs, "gpt-4.1", trait.name, trait.description, pw.set_prompt_template(), output_dir="out", temperature=0
)
batch_ids: list[str | None] = [job.batch_id for job in batches.jobs]
combined: pl.DataFrame | None = pw.llm_resume_multi_batches(batches.jobs).combined
asker: se.BatchedModel = se.GoogleBatchedModel("gemini-2.5-flash", input_bucket="gs://a", output_bucket="gs://b")
metadata: dict[str, Any] = asker.generate_batch(["a", {"input_text": "b"}], "out", 10, temperature=0, max_tokens=5)
answers: list[str | None] = asker.get_batch_results(asker.check_batch_progress(metadata))
generated: on.Run = se.BatchedGenerationPipeline("rules.jsonl", asker, "inputs", output_base_dir="made").run("2h")
compared: on.Run = se.BatchedRankingPipeline("rules.jsonl", ["made/a", "made/b"], asker).submit()
