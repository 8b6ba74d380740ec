"""inspect_ai with `batch` turned on: a task of one solver and no scorer."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import os
import sys
import tempfile

items, base, out, prompt, model = sys.argv[1:]
os.environ["OPENAI_API_KEY"] = "sk-bench-0123456789abcdefghij"

from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import BatchConfig, GenerateConfig, get_model  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

if __name__ == "__main__":
    rows = [json.loads(line) for line in open(items)]
    samples = [Sample(id=row["id"], input=prompt.replace("{text}", row["text"])) for row in rows]
    config = GenerateConfig(batch=BatchConfig(size=50_000, send_delay=5, tick=0.5), max_connections=len(rows))
    judged = evaluate(
        Task(dataset=MemoryDataset(samples), solver=generate()),
        model=get_model(f"openai/{model}", base_url=base, config=config),
        log_dir=tempfile.mkdtemp(prefix="inspect-"),
        display="none",
        max_samples=len(rows),
        max_connections=len(rows),
        batch=BatchConfig(size=50_000, send_delay=5, tick=0.5),
    )
    with open(out, "w", newline="") as table:
        writer = csv.writer(table)
        for sample in judged[0].samples or []:
            writer.writerow([sample.id, sample.output.completion])
