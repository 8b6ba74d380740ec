"""distilabel: its LLM classes live and with a schema, and OpenAI's batches by its offline generation.

It has no streams and no tools.
"""

from __future__ import annotations

import json
import os

from distilabel.models.llms import AnthropicLLM, OpenAILLM
from telling import tell


def asked(rows: int):
    return [[{"role": "user", "content": f"Row {number}?"}] for number in range(rows)]


def right(outputs, rows: int) -> str:
    texts = [output["generations"][0] for output in outputs]
    found = sum(f"Row {number}" in (text or "") for number, text in enumerate(texts))
    assert found == rows, f"{found} of {rows} right: {texts[:2]}"
    return f"{rows} of {rows} rows right"


def loaded(llm):
    llm.load()
    return llm


def openai(**options):
    return loaded(OpenAILLM(model="gpt-4.1", base_url=os.environ["OPENAI_BASE_URL"], api_key="any", **options))


def openai_live() -> str:
    return right(openai().generate_outputs(inputs=asked(8)), 8)


def openai_json() -> str:
    prompt = [{"role": "user", "content": 'Return a JSON object like {"city": "a city", "people": 3}.'}]
    (said,) = openai().generate_outputs(inputs=[prompt], response_format={"type": "json_object"})
    document = json.loads(said["generations"][0])
    return f"fields {sorted(document)}"


def anthropic_live() -> str:
    where = os.environ["ANTHROPIC_BASE_URL"]
    llm = loaded(AnthropicLLM(model="claude-haiku-4-5", base_url=where, api_key="any"))
    return right(llm.generate_outputs(inputs=asked(8), max_tokens=2000), 8)


def openai_batch() -> str:
    llm = openai(use_offline_batch_generation=True, offline_batch_generation_block_until_done=1)
    return right(llm.generate_outputs(inputs=asked(30), max_new_tokens=500), 30)


tell(
    "distilabel",
    openai_live=openai_live,
    openai_json=openai_json,
    anthropic_live=anthropic_live,
    openai_batch=openai_batch,
)
