"""Chat completions: an Answer as OpenAI writes it."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answers.answering import Answer, Models, Prompt
from overnight_emulator.answers.tools import Call
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.openai.logprobs import logprobs_of
from overnight_emulator.dialects.openai.rules import served_name, tier_of

_FINISH = {"refusal": "stop"}


def complete(models: Models, prompt: Prompt, body: dict[str, Any], moment: float) -> Reply:
    answers = [models.answer(prompt, choice) for choice in range(body.get("n") or 1)]
    usage = Usage(
        input_tokens=answers[0].input_tokens,
        cached_tokens=answers[0].cached_tokens,
        output_tokens=sum(answer.output_tokens for answer in answers),
        reasoning_tokens=sum(answer.reasoning_tokens for answer in answers),
    )
    completion = {
        "id": f"chatcmpl-{prompt.digest.hex()[:29]}",
        "object": "chat.completion",
        "created": int(moment),
        "model": served_name(prompt.model),
        "choices": [_choice(index, answer, prompt, body) for index, answer in enumerate(answers)],
        "usage": _usage(usage),
        "service_tier": tier_of(body),
        "system_fingerprint": "fp_emulator",
    }
    return Reply(200, completion, usage)


def _choice(index: int, answer: Answer, prompt: Prompt, body: dict[str, Any]) -> dict[str, Any]:
    refused = answer.ending == "refusal"
    silent = refused or bool(answer.calls)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if silent else answer.text,
        "refusal": answer.text if refused else None,
        "annotations": [],
    }
    if answer.calls:
        message["tool_calls"] = [_call(call, prompt) for call in answer.calls]
    return {
        "index": index,
        "message": message,
        "logprobs": _logprobs(answer, prompt, body) if body.get("logprobs") else None,
        "finish_reason": _FINISH.get(answer.ending, answer.ending),
    }


def _call(call: Call, prompt: Prompt) -> dict[str, Any]:
    tool = prompt.offer.find(call.name)
    if tool is not None and tool.takes_text:
        return {"id": f"call_{call.mark}", "type": "custom", "custom": {"name": call.name, "input": call.written}}
    return {
        "id": f"call_{call.mark}",
        "type": "function",
        "function": {"name": call.name, "arguments": call.written},
    }


def _logprobs(answer: Answer, prompt: Prompt, body: dict[str, Any]) -> dict[str, Any]:
    found = logprobs_of(answer.text, body.get("top_logprobs") or 0, prompt.digest)
    refused = answer.ending == "refusal"
    return {"content": None if refused else found, "refusal": found if refused else None}


def _usage(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }
