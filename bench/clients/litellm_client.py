"""litellm: three vendors live, streamed and with tools, and a batch of OpenAI's."""

from __future__ import annotations

import json
import os
import tempfile
import time

import litellm
from telling import manual, tell

litellm.telemetry = False
TOOL = {
    "type": "function",
    "function": {
        "name": "find_city",
        "parameters": {"type": "object", "properties": {"country": {"type": "string"}}, "required": ["country"]},
    },
}
MODELS = {
    "openai": {"model": "openai/gpt-4.1", "api_base": os.environ["OPENAI_BASE_URL"]},
    "anthropic": {"model": "anthropic/claude-haiku-4-5", "api_base": os.environ["ANTHROPIC_BASE_URL"]},
    "together": {"model": "together_ai/Qwen/Qwen3-235B-A22B", "api_base": os.environ["TOGETHER_BASE_URL"] + "/v1"},
    "ollama": {"model": "ollama_chat/llama3.2", "api_base": os.environ["OLLAMA_HOST"]},
}


def deeds(name: str):
    where = {**MODELS[name], "api_key": "any"}

    def whole() -> str:
        said = litellm.completion(messages=[{"role": "user", "content": "Tell me of a lake."}], **where)
        text = said.choices[0].message.content
        assert "lake" in text, text
        return f"{said.usage.total_tokens} tokens"

    def streamed() -> str:
        asked = [{"role": "user", "content": "Tell me of a lake."}]
        parts = [one.choices[0].delta.content or "" for one in litellm.completion(messages=asked, stream=True, **where)]
        assert "lake" in "".join(parts)
        return f"{len(parts)} pieces"

    def tools() -> str:
        asked = [{"role": "user", "content": "Use find_city."}]
        said = litellm.completion(messages=asked, tools=[TOOL], **where)
        (call,) = said.choices[0].message.tool_calls
        assert "country" in json.loads(call.function.arguments)
        return call.function.name

    return {f"{name}_{deed.__name__}": deed for deed in (whole, streamed, tools)}


def batch() -> str:
    where = {"custom_llm_provider": "openai", "api_base": os.environ["OPENAI_BASE_URL"], "api_key": "any"}
    with tempfile.NamedTemporaryFile("w+", suffix=".jsonl") as lines:
        for number in range(30):
            body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": f"Row {number}?"}]}
            url = "/v1/chat/completions"
            lines.write(json.dumps({"custom_id": f"r{number}", "method": "POST", "url": url, "body": body}) + "\n")
        lines.flush()
        lines.seek(0)
        file = litellm.create_file(file=lines.file.buffer, purpose="batch", **where)
    made = litellm.create_batch(
        completion_window="24h", endpoint="/v1/chat/completions", input_file_id=file.id, **where
    )
    while made.status not in {"completed", "failed"}:
        time.sleep(0.2)
        made = litellm.retrieve_batch(batch_id=made.id, **where)
    content = litellm.file_content(file_id=made.output_file_id, **where).content
    found = {row["custom_id"]: row["response"]["body"] for row in map(json.loads, content.splitlines())}
    for number in range(30):
        assert f"Row {number}" in found[f"r{number}"]["choices"][0]["message"]["content"]
    return f"{len(found)} of 30 rows right"


def embeddings() -> str:
    said = litellm.embedding(
        model="openai/text-embedding-3-small", input=["a"], api_base=os.environ["OPENAI_BASE_URL"], api_key="any"
    )
    return f"{len(said.data[0]['embedding'])} numbers"


tell(
    "litellm",
    **{k: v for m in MODELS for k, v in deeds(m).items()},
    batch=batch,
    embeddings=embeddings,
    manual=manual("litellm"),
)
