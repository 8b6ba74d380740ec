"""The Responses API: an Answer as OpenAI writes it."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answering import Answer, Models, Prompt
from overnight_emulator.batch import Usage
from overnight_emulator.rows import Reply

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def respond(models: Models, prompt: Prompt, body: dict[str, Any], moment: float) -> Reply:
    answer = models.answer(prompt)
    usage = Usage(answer.input_tokens, answer.cached_tokens, answer.output_tokens, answer.reasoning_tokens)
    reason = _INCOMPLETE.get(answer.ending)
    reasoning = body.get("reasoning") or {}
    response = {
        "id": f"resp_{prompt.digest.hex()[:48]}",
        "object": "response",
        "created_at": int(moment),
        "status": "completed" if reason is None else "incomplete",
        "background": False,
        "error": None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": prompt.model,
        "output": _items(prompt, answer, reasoning.get("summary") is not None),
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "service_tier": "default",
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": body.get("top_p", 1.0),
        "truncation": "disabled",
        "usage": response_usage(usage),
    }
    return Reply(200, response, usage)


def _items(prompt: Prompt, answer: Answer, summarised: bool) -> list[dict[str, Any]]:
    mark = prompt.digest.hex()[:40]
    items: list[dict[str, Any]] = []
    if answer.reasoning_tokens:
        thought = f"I weighed the request for {answer.reasoning_tokens} tokens before I answered."
        summary = [{"type": "summary_text", "text": thought}] if summarised else []
        items.append({"id": f"rs_{mark}", "type": "reasoning", "summary": summary})
    if answer.text or answer.ending == "stop":
        items.append(
            {
                "id": f"msg_{mark}",
                "type": "message",
                "role": "assistant",
                "status": "incomplete" if answer.ending in _INCOMPLETE else "completed",
                "content": [_part(answer)],
            }
        )
    return items


def _part(answer: Answer) -> dict[str, Any]:
    if answer.ending == "refusal":
        return {"type": "refusal", "refusal": answer.text}
    return {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}


def response_usage(usage: Usage) -> dict[str, Any]:
    """The names that the Responses API and every batch object use."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
