"""`generateContent`: an Answer as Google writes it, live or in a batch."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from overnight_emulator.answers.answering import Answer, Models
from overnight_emulator.answers.schema import UnusableSchemaError
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply, canonical
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.prompts import read_prompt
from overnight_emulator.dialects.google.rules import check_request, exists
from overnight_emulator.dialects.google.strict import check_strictly
from overnight_emulator.truth import Truth

_FINISH = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}


def digest_of(body: dict[str, Any]) -> bytes:
    """What identifies a question: the request together with the model that is asked."""
    return sha256(canonical(body)).digest()


def generate(models: Models, truth: Truth, body: dict[str, Any], digest: bytes) -> Reply:
    """One request; `body` is the request in its written form with the name of the model beside it."""
    model = body["model"]
    try:
        if not exists(model, truth):
            raise unknown_model(model)
        check_request(model, body)
        if truth.strict:
            check_strictly(model, body, truth, models)
        return _generated(models, model, body, digest)
    except GoogleError as refusal:
        return Reply(refusal.status, refusal.body)
    except UnusableSchemaError as error:
        return Reply(400, GoogleError(400, f"Invalid schema: {error}.").body)


def unknown_model(model: str) -> GoogleError:
    return GoogleError(404, f"models/{model} is not found, or is not supported for generateContent.")


def _generated(models: Models, model: str, body: dict[str, Any], digest: bytes) -> Reply:
    config = body.get("generationConfig") or {}
    prompt = read_prompt(model, body, digest)
    answers = [models.answer(prompt, choice) for choice in range(int(config.get("candidateCount") or 1))]
    usage = Usage(
        answers[0].input_tokens,
        answers[0].cached_tokens,
        sum(answer.output_tokens for answer in answers),
        sum(answer.reasoning_tokens for answer in answers),
    )
    shows_thoughts = bool((config.get("thinkingConfig") or {}).get("includeThoughts"))
    response: dict[str, Any] = {
        **_said(answers, shows_thoughts),
        "usageMetadata": _usage(usage),
        "modelVersion": model,
        "responseId": digest.hex()[:22],
    }
    return Reply(200, response, usage)


def _said(answers: list[Answer], shows_thoughts: bool) -> dict[str, Any]:
    """Candidates, or why there are none."""
    if any(answer.ending == "refusal" for answer in answers):
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}}
    return {"candidates": [_candidate(place, answer, shows_thoughts) for place, answer in enumerate(answers)]}


def _candidate(place: int, answer: Answer, shows_thoughts: bool) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    if answer.reasoning_tokens and shows_thoughts:
        thought = f"I weighed the request for {answer.reasoning_tokens} tokens before I answered."
        parts.append({"text": thought, "thought": True})
    if answer.text:
        parts.append({"text": answer.text})
    parts += [{"functionCall": {"id": call.mark, "name": call.name, "args": call.arguments}} for call in answer.calls]
    # Where nothing was said there are no parts, and after a filter not even an empty content.
    content = (
        {}
        if answer.ending == "content_filter"
        else {"content": {"role": "model", **({"parts": parts} if parts else {})}}
    )
    return {**content, "finishReason": _FINISH[answer.ending], "index": place}


def _usage(usage: Usage) -> dict[str, Any]:
    """Candidates are counted without the thoughts; what is nought is left out."""
    counts = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.reasoning_tokens,
        "totalTokenCount": usage.input_tokens + usage.output_tokens,
        "cachedContentTokenCount": usage.cached_tokens,
        "thoughtsTokenCount": usage.reasoning_tokens,
    }
    details = [{"modality": "TEXT", "tokenCount": usage.input_tokens}]
    return {**{name: count for name, count in counts.items() if count}, "promptTokensDetails": details}
