"""The least that does the work: the standard library, everything in memory, no care for anything that goes wrong."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import sys
import time
import urllib.request
import uuid

items, base, out, prompt, model = sys.argv[1:]
HEADERS = {"Authorization": "Bearer sk-bench-0123456789abcdefghij"}


def call(path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
    request = urllib.request.Request(base + path, body, {**HEADERS, "Content-Type": kind})
    with urllib.request.urlopen(request) as reply:
        return reply.read()


rows = [json.loads(line) for line in open(items)]
requests = "".join(
    json.dumps(
        {
            "custom_id": str(number),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"model": model, "messages": [{"role": "user", "content": prompt.replace("{text}", row["text"])}]},
        }
    )
    + "\n"
    for number, row in enumerate(rows)
)
edge = uuid.uuid4().hex
form = (
    f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
    f'--{edge}\r\nContent-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n{requests}\r\n--{edge}--\r\n'
)
file = json.loads(call("/files", form.encode(), f"multipart/form-data; boundary={edge}"))
order = {"input_file_id": file["id"], "endpoint": "/v1/chat/completions", "completion_window": "24h"}
batch = json.loads(call("/batches", json.dumps(order).encode()))
while batch["status"] not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.2)
    batch = json.loads(call(f"/batches/{batch['id']}"))
answers = {}
for line in call(f"/files/{batch['output_file_id']}/content").splitlines():
    answer = json.loads(line)
    answers[int(answer["custom_id"])] = answer["response"]["body"]["choices"][0]["message"]["content"]
with open(out, "w", newline="") as table:
    writer = csv.writer(table)
    for number, row in enumerate(rows):
        writer.writerow([row["id"], answers[number]])
