"""Messages: an Answer as Anthropic writes it."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answers.answering import Answer, Models, Prompt
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.anthropic.rules import served_name

_STOPS = {
    "stop": "end_turn",
    "length": "max_tokens",
    "refusal": "refusal",
    "content_filter": "refusal",
    "tool_calls": "tool_use",
}
_CACHEABLE_TOKENS = 1_024


def write_message(models: Models, prompt: Prompt, body: dict[str, Any], tier: str) -> Reply:
    answer = models.answer(prompt)
    filtered = answer.ending == "content_filter"
    refused = answer.ending in {"refusal", "content_filter"}
    message = {
        "id": f"msg_{prompt.digest.hex()[:24]}",
        "type": "message",
        "role": "assistant",
        "model": served_name(prompt.model),
        "content": _blocks(prompt, answer),
        "stop_reason": "stop_sequence" if answer.stopped_by is not None else _STOPS[answer.ending],
        "stop_sequence": answer.stopped_by,
        "stop_details": _details(filtered=filtered) if refused else None,
        "usage": _usage(models, prompt, body, answer, tier),
    }
    usage = Usage(answer.input_tokens, answer.cached_tokens, answer.output_tokens, answer.reasoning_tokens)
    return Reply(200, message, usage)


def _details(*, filtered: bool) -> dict[str, Any]:
    return {"type": "refusal", "category": "general_harms" if filtered else None, "explanation": None}


def _blocks(prompt: Prompt, answer: Answer) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if answer.reasoning_tokens:
        thought = f"I weighed the request for {answer.reasoning_tokens} tokens before I answered."
        blocks.append({"type": "thinking", "thinking": thought, "signature": prompt.digest.hex()})
    if answer.text:
        blocks.append({"type": "text", "text": answer.text, "citations": None})
    blocks += [
        {
            "type": "tool_use",
            "id": f"toolu_{call.mark}",
            "name": call.name,
            "input": call.arguments,
            "caller": {"type": "direct"},
        }
        for call in answer.calls
    ]
    return blocks


def _usage(models: Models, prompt: Prompt, body: dict[str, Any], answer: Answer, tier: str) -> dict[str, Any]:
    """Nothing is cached unless the request asks for it; what is cached does not count as input."""
    wanted = "cache_control" in body or "cache_control" in str(body.get("system"))
    opening = models.tokens.of(len(prompt.turns[0].text), prompt.model)
    read = answer.cached_tokens if wanted else 0
    written = opening if wanted and not read and opening >= _CACHEABLE_TOKENS else 0
    return {
        "input_tokens": answer.input_tokens - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": written, "ephemeral_1h_input_tokens": 0},
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"thinking_tokens": answer.reasoning_tokens},
        "service_tier": tier,
        "inference_geo": "not_available",
    }
