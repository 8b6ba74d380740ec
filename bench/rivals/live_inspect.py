"""inspect_ai: a task of one solver and no scorer, many connections."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import os
import sys
import tempfile

items, base, out, prompt, model, at_once = sys.argv[1:]
os.environ["OPENAI_API_KEY"] = "sk-bench-0123456789abcdefghij"

from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import GenerateConfig, get_model  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

if __name__ == "__main__":
    rows = [json.loads(line) for line in open(items)]
    samples = [Sample(id=row["id"], input=prompt.replace("{text}", row["text"])) for row in rows]
    config = GenerateConfig(max_connections=int(at_once))
    judged = evaluate(
        Task(dataset=MemoryDataset(samples), solver=generate()),
        model=get_model(f"openai/{model}", base_url=base, config=config),
        log_dir=tempfile.mkdtemp(prefix="inspect-"),
        display="none",
        max_samples=int(at_once),
        max_connections=int(at_once),
    )
    with open(out, "w", newline="") as table:
        csv.writer(table).writerows((sample.id, sample.output.completion) for sample in judged[0].samples or [])
