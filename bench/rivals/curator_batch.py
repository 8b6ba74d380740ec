"""curator's LLM in batch mode."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import json
import os
import sys
import tempfile

items, base, out, prompt, model = sys.argv[1:]
os.environ.update(
    OPENAI_BASE_URL=base,
    OPENAI_API_KEY="sk-bench-0123456789abcdefghij",
    CURATOR_CACHE_DIR=tempfile.mkdtemp(prefix="curator-"),
    CURATOR_DISABLE_RICH_DISPLAY="1",
    TELEMETRY_ENABLED="false",
    CURATOR_VIEWER="0",
)

from bespokelabs import curator  # noqa: E402 - reads the environment when it is imported


class Ask(curator.LLM):
    def prompt(self, input: dict) -> str:  # noqa: A002 - curator's name
        return prompt.replace("{text}", input["text"])

    def parse(self, input: dict, response: str) -> dict:  # noqa: A002 - curator's name
        return {"id": input["id"], "answer": response}


if __name__ == "__main__":
    rows = [json.loads(line) for line in open(items)]
    ask = Ask(
        model_name=model,
        backend="openai",
        batch=True,
        backend_params={"base_url": base, "batch_size": 50_000, "batch_check_interval": 1},
    )
    answered = ask(rows)
    found = getattr(answered, "dataset", answered)
    with open(out, "w", newline="") as table:
        writer = csv.writer(table)
        for row in found:
            writer.writerow([row["id"], row["answer"]])
