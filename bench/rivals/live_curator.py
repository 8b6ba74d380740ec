"""curator's LLM in its online mode."""
# ruff: noqa: PTH123, SIM115 - written as such scripts are

import csv
import importlib.util
import json
import os
import sys
import tempfile
from pathlib import Path

items, base, out, prompt, model, at_once = sys.argv[1:]
# It counts tokens with a table that it would download; litellm, which it comes with, brings the same one along.
found = importlib.util.find_spec("litellm")
tables = Path(found.origin).parent / "litellm_core_utils" / "tokenizers" if found and found.origin else Path()
os.environ.update(
    TIKTOKEN_CACHE_DIR=str(tables),
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
    limits = {
        "max_concurrent_requests": int(at_once),
        "max_requests_per_minute": 10_000_000,
        "max_tokens_per_minute": 10_000_000_000,
    }
    ask = Ask(model_name=model, backend="openai", backend_params={"base_url": base, **limits})
    answered = ask(rows)
    with open(out, "w", newline="") as table:
        csv.writer(table).writerows((row["id"], row["answer"]) for row in getattr(answered, "dataset", answered))
