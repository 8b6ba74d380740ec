"""The official SDK by hand, as its guide shows it."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import sys
import tempfile
import time

from openai import OpenAI

items, base, out, prompt, model = sys.argv[1:]
client = OpenAI(base_url=base, api_key="sk-bench-0123456789abcdefghij")
rows = [json.loads(line) for line in open(items)]
with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as requests:
    for number, row in enumerate(rows):
        message = {"role": "user", "content": prompt.replace("{text}", row["text"])}
        body = {"model": model, "messages": [message]}
        line = {"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
        requests.write(json.dumps(line) + "\n")
    requests.flush()
    file = client.files.create(file=open(requests.name, "rb"), purpose="batch")
batch = client.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.2)
    batch = client.batches.retrieve(batch.id)
answers = {}
for line in client.files.content(batch.output_file_id).text.splitlines():
    answer = json.loads(line)
    answers[int(answer["custom_id"])] = answer["response"]["body"]["choices"][0]["message"]["content"]
with open(out, "w", newline="") as table:
    writer = csv.writer(table)
    for number, row in enumerate(rows):
        writer.writerow([row["id"], answers[number]])
