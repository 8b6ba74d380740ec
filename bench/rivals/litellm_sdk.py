"""litellm's batch calls: the same steps through its one-for-all functions."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import os
import sys
import tempfile
import time

items, base, out, prompt, model = sys.argv[1:]
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm  # noqa: E402 - reads the environment when it is imported

account = {"custom_llm_provider": "openai", "api_base": base, "api_key": "sk-bench-0123456789abcdefghij"}
rows = [json.loads(line) for line in open(items)]
with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as requests:
    for number, row in enumerate(rows):
        message = {"role": "user", "content": prompt.replace("{text}", row["text"])}
        body = {"model": model, "messages": [message]}
        line = {"custom_id": str(number), "method": "POST", "url": "/v1/chat/completions", "body": body}
        requests.write(json.dumps(line) + "\n")
    requests.flush()
    file = litellm.create_file(file=open(requests.name, "rb"), purpose="batch", **account)
batch = litellm.create_batch(completion_window="24h", endpoint="/v1/chat/completions", input_file_id=file.id, **account)
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.2)
    batch = litellm.retrieve_batch(batch_id=batch.id, **account)
content = litellm.file_content(file_id=batch.output_file_id, **account)
answers = {}
for line in content.content.splitlines():
    answer = json.loads(line)
    answers[int(answer["custom_id"])] = answer["response"]["body"]["choices"][0]["message"]["content"]
with open(out, "w", newline="") as table:
    writer = csv.writer(table)
    for number, row in enumerate(rows):
        writer.writerow([row["id"], answers[number]])
