"""instructor's BatchProcessor: requests, upload, polling and parsing through its own class."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import os
import sys
import tempfile
import time

items, base, out, prompt, model = sys.argv[1:]
os.environ["OPENAI_BASE_URL"] = base
os.environ["OPENAI_API_KEY"] = "sk-bench-0123456789abcdefghij"

from instructor.batch import BatchProcessor  # noqa: E402 - the client reads the environment
from pydantic import BaseModel  # noqa: E402


class Answer(BaseModel):
    answer: str


rows = [json.loads(line) for line in open(items)]
processor = BatchProcessor(f"openai/{model}", Answer)
talks = [[{"role": "user", "content": prompt.replace("{text}", row["text"])}] for row in rows]
with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as requests:
    processor.create_batch_from_messages(messages_list=talks, file_path=requests.name)
    batch = processor.submit_batch(requests.name)
while processor.get_batch_status(batch)["status"] not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.2)
answers = {}
for result in processor.retrieve_results(batch):
    answers[int(result.custom_id.removeprefix("request-"))] = result.result.answer
with open(out, "w", newline="") as table:
    writer = csv.writer(table)
    for number, row in enumerate(rows):
        writer.writerow([row["id"], answers[number]])
