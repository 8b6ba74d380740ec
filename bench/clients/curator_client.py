"""curator (bespokelabs-curator): its LLM live, with a schema, and by the batches of OpenAI and Anthropic.

It has no streams and no tools.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from pathlib import Path

# litellm brings along the tables of tiktoken, which would otherwise be looked for on the network.
LITELLM = Path(importlib.util.find_spec("litellm").origin).parent
os.environ["TIKTOKEN_CACHE_DIR"] = str(LITELLM / "litellm_core_utils" / "tokenizers")
CACHE = tempfile.TemporaryDirectory()
os.environ.update(CURATOR_CACHE_DIR=CACHE.name, TELEMETRY_ENABLED="0", CURATOR_DISABLE_RICH_DISPLAY="1")

from bespokelabs import curator  # noqa: E402 - it reads the variables when it is imported
from pydantic import BaseModel  # noqa: E402
from telling import tell  # noqa: E402


class City(BaseModel):
    name: str
    people: int


def asked(rows: int) -> list[str]:
    return [f"Row {number}?" for number in range(rows)]


def right(answered, rows: int) -> str:
    dataset = getattr(answered, "dataset", answered)
    texts = [str(row["response"]) for row in dataset]
    found = sum(f"Row {number}" in text for number, text in enumerate(texts))
    assert found == rows, f"{found} of {rows} right: {texts[:2]}"
    return f"{rows} of {rows} rows right"


def openai(**options):
    where = {"base_url": os.environ["OPENAI_BASE_URL"], "api_key": "any", **options.pop("more", {})}
    return curator.LLM(model_name="gpt-4.1", backend="openai", backend_params=where, **options)


def openai_live() -> str:
    return right(openai()(asked(10)), 10)


def openai_schema() -> str:
    answered = openai(response_format=City)(["Make up a city."])
    (row,) = list(getattr(answered, "dataset", answered))
    return f"fields {sorted(field for field in row if field in {'name', 'people'})}"


def openai_batch() -> str:
    return right(openai(batch=True, more={"batch_check_interval": 1, "batch_size": 20})(asked(50)), 50)


def anthropic_batch() -> str:
    where = {"base_url": os.environ["ANTHROPIC_BASE_URL"], "api_key": "any", "batch_check_interval": 1}
    llm = curator.LLM(
        model_name="claude-haiku-4-5",
        backend="anthropic",
        batch=True,
        backend_params=where,
        generation_params={"max_tokens": 500},
    )
    return right(llm(asked(20)), 20)


tell(
    "bespokelabs-curator",
    openai_live=openai_live,
    openai_schema=openai_schema,
    openai_batch=openai_batch,
    anthropic_batch=anthropic_batch,
)
