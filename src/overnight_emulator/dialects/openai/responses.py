"""The Responses API: an Answer as OpenAI writes it."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answers.answering import Answer, Models, Prompt
from overnight_emulator.answers.tools import Call
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.openai.logprobs import logprobs_of
from overnight_emulator.dialects.openai.rules import served_name, tier_of

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_WITH_LOGPROBS = "message.output_text.logprobs"


def respond(models: Models, prompt: Prompt, body: dict[str, Any], moment: float) -> Reply:
    answer = models.answer(prompt)
    usage = Usage(answer.input_tokens, answer.cached_tokens, answer.output_tokens, answer.reasoning_tokens)
    reason = _INCOMPLETE.get(answer.ending)
    response = {
        **described(prompt.digest, body, moment),
        "status": "completed" if reason is None else "incomplete",
        "completed_at": int(moment) if reason is None else None,
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": _items(prompt, answer, body),
        "usage": response_usage(usage),
    }
    return Reply(200, response, usage)


def described(digest: bytes, body: dict[str, Any], moment: float) -> dict[str, Any]:
    """What a response tells of its request, before anything is answered."""
    reasoning = body.get("reasoning") or {}
    return {
        "id": f"resp_{digest.hex()[:48]}",
        "object": "response",
        "created_at": int(moment),
        "status": "queued",
        "background": bool(body.get("background")),
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": body.get("max_tool_calls"),
        "metadata": body.get("metadata") or {},
        "model": served_name(body["model"]),
        "output": [],
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        "service_tier": tier_of(body),
        "store": body.get("store", True),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice") or "auto",
        "tools": body.get("tools") or [],
        "top_logprobs": body.get("top_logprobs") or 0,
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation") or "disabled",
        "usage": None,
        "user": body.get("user"),
    }


def _items(prompt: Prompt, answer: Answer, body: dict[str, Any]) -> list[dict[str, Any]]:
    mark = prompt.digest.hex()[:40]
    items: list[dict[str, Any]] = []
    if answer.reasoning_tokens:
        thought = f"I weighed the request for {answer.reasoning_tokens} tokens before I answered."
        summarised = (body.get("reasoning") or {}).get("summary") is not None
        summary = [{"type": "summary_text", "text": thought}] if summarised else []
        items.append({"id": f"rs_{mark}", "type": "reasoning", "summary": summary})
    items += [_call(call, prompt) for call in answer.calls]
    if answer.text or answer.ending == "stop":
        items.append(
            {
                "id": f"msg_{mark}",
                "type": "message",
                "role": "assistant",
                "status": "incomplete" if answer.ending in _INCOMPLETE else "completed",
                "content": [_part(answer, prompt, body)],
            }
        )
    return items


def _call(call: Call, prompt: Prompt) -> dict[str, Any]:
    tool = prompt.offer.find(call.name)
    if tool is not None and tool.takes_text:
        named = {"id": f"ctc_{call.mark}", "type": "custom_tool_call", "call_id": f"call_{call.mark}"}
        return {**named, "name": call.name, "input": call.written}
    named = {"id": f"fc_{call.mark}", "type": "function_call", "call_id": f"call_{call.mark}"}
    return {**named, "status": "completed", "name": call.name, "arguments": call.written}


def _part(answer: Answer, prompt: Prompt, body: dict[str, Any]) -> dict[str, Any]:
    if answer.ending == "refusal":
        return {"type": "refusal", "refusal": answer.text}
    wanted = _WITH_LOGPROBS in (body.get("include") or ()) or body.get("top_logprobs")
    found = logprobs_of(answer.text, body.get("top_logprobs") or 0, prompt.digest) if wanted else []
    return {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": found}


def response_usage(usage: Usage) -> dict[str, Any]:
    """The names that the Responses API and every batch object use."""
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }
