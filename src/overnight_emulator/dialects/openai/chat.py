"""Chat completions: an Answer as OpenAI writes it."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answering import Answer, Models, Prompt
from overnight_emulator.batch import Usage
from overnight_emulator.rows import Reply

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
        "model": prompt.model,
        "choices": [_choice(index, answer) for index, answer in enumerate(answers)],
        "usage": _usage(usage),
        "service_tier": "default",
        "system_fingerprint": "fp_emulator",
    }
    return Reply(200, completion, usage)


def _choice(index: int, answer: Answer) -> dict[str, Any]:
    refused = answer.ending == "refusal"
    return {
        "index": index,
        "message": {
            "role": "assistant",
            "content": None if refused else answer.text,
            "refusal": answer.text if refused else None,
            "annotations": [],
        },
        "logprobs": None,
        "finish_reason": _FINISH.get(answer.ending, answer.ending),
    }


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
