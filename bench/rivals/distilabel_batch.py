"""distilabel's OpenAI model with offline batch generation, used by itself, without a pipeline around it."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import sys
import time

from distilabel.exceptions import DistilabelOfflineBatchGenerationNotFinishedException
from distilabel.models import OpenAILLM

items, base, out, prompt, model = sys.argv[1:]
rows = [json.loads(line) for line in open(items)]
talks = [[{"role": "user", "content": prompt.replace("{text}", row["text"])}] for row in rows]
llm = OpenAILLM(
    model=model,
    base_url=base,
    api_key="sk-bench-0123456789abcdefghij",
    use_offline_batch_generation=True,
)
llm.load()
while True:
    try:
        outputs = llm.generate_outputs(inputs=talks)
        break
    except DistilabelOfflineBatchGenerationNotFinishedException as waiting:
        llm.jobs_ids = waiting.jobs_ids
        time.sleep(0.2)
with open(out, "w", newline="") as table:
    writer = csv.writer(table)
    for row, output in zip(rows, outputs, strict=True):
        writer.writerow([row["id"], output["generations"][0]])
