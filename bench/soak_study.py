"""The study of one soaked run: stages and turns, models and providers, batches or calls, and what it may cost."""

from __future__ import annotations

import random
from typing import Any

from overnight.providers import vendors

# Cheap models of every provider that can be soaked; those that are not installed are left out.
MODELS: dict[str, tuple[str, ...]] = {
    "openai": ("openai/gpt-4.1-mini", "openai/gpt-4.1-nano", "openai/gpt-5-nano", "openai/gpt-4o-mini"),
    "anthropic": ("anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-4-5"),
    "gemini": ("gemini/gemini-2.5-flash", "gemini/gemini-2.5-flash-lite"),
    "azure": ("azure/gpt-4.1-mini", "azure/gpt-4o-batch"),
    "bedrock": ("bedrock/us.amazon.nova-lite-v1:0", "bedrock/us.anthropic.claude-haiku-4-5-v1:0"),
    "mistral": ("mistral/mistral-small-latest", "mistral/ministral-8b-latest"),
    "together": ("together/Qwen/Qwen3-235B-A22B", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo"),
    "fireworks": ("fireworks/accounts/fireworks/models/gpt-oss-20b", "fireworks/accounts/fireworks/models/qwen3-8b"),
    "xai": ("xai/grok-4.3", "xai/grok-4.20-0309-non-reasoning"),
    "groq": ("groq/llama-3.3-70b-versatile", "groq/openai/gpt-oss-20b"),
    "vertex": ("vertex/gemini-2.5-flash", "vertex/gemini-2.5-flash-lite"),
}
# A batch of Bedrock usually has a hundred rows at least; this account's, and the emulator's, has one.
FLOOR = {"min_requests": 1}
# Every question ends with its item's marker, and every answer repeats the end of its question.
_ASK = "Say something about {text}"
_GO_ON = ("You said {answer} and I ask again about {text}", "Now the opposite about {text}")
_JUDGE = "Rate this: {answer} which was about {text}"
# Dollars that are set aside for a row of a cheap model with this many tokens to think and to answer in.
_ROW = 0.01
_OUTPUT_TOKENS = 4_000
# A dollar for each million tokens in, two out, half of it in batches: no row comes to a part of a nano-dollar.
PRICE = {"input": 1, "cached": 1, "output": 2, "batch": 0.5}
PRICES_FILE = "prices.yaml"
# What rows say of their bill: a provider may keep it to itself.
USAGE = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens", "cost")


def prices() -> dict[str, Any]:
    return {model: PRICE for known in MODELS.values() for model in known}


def paid(log: dict[str, Any]) -> int:
    """What the provider charges for all that it ran, in nano-dollars."""
    billed = log["billed"]
    batch = sum(500 * use["input_tokens"] + 1_000 * use["output_tokens"] for use in billed["batch"].values())
    return batch + sum(1_000 * use["input_tokens"] + 2_000 * use["output_tokens"] for use in billed["live"].values())


def models(draw: random.Random, among: tuple[str, ...] = ()) -> list[str]:
    """Of one provider or of several, `among` these if any are named."""
    installed = [name for name in MODELS if name in vendors() and (not among or name in among)]
    chosen = draw.sample(installed, draw.randint(1, len(installed)))
    known = [model for provider in chosen for model in MODELS[provider]]
    return draw.sample(known, draw.choice((1, 1, 2, min(3, len(known)))))


def study(draw: random.Random, asked: list[str], rows: int, among: tuple[str, ...] = ()) -> dict[str, Any]:
    batch: dict[str, Any] = draw.choice(
        ({}, {"max_requests": draw.randint(1, 9)}, {"max_requests": 5}, {"segments": draw.randint(1, 4)})
    )
    first: dict[str, Any] = {
        "task": "generate",
        "items": "items.jsonl",
        "prompt": _ASK,
        "models": [{"model": model, "max_tokens": _OUTPUT_TOKENS} for model in asked],
        "replicates": draw.choice((1, 1, 1, 2, 3)),
        "dedupe": draw.random() < 0.8,
    }
    turns = draw.choice((0, 0, 0, 1, 2))
    if turns:
        first["turns"] = list(_GO_ON[:turns])
    later = draw.choice((0, 0, 0, 1, 2))
    calls = rows * len(asked) * first["replicates"] * (1 + turns + later)
    whole: dict[str, Any] = {
        "name": "soaked",
        "timeout": "9999h",
        "prices": PRICES_FILE,
        **({"batch": batch} if batch else {}),
        **({"budget": budget(draw, calls)} if draw.random() < 0.25 else {}),
        **({"mode": "live"} if draw.random() < 0.2 else {}),
    }
    stages = [{"name": "say", **first}, *(_later(draw, number, among) for number in range(later))]
    whole |= {"stages": stages} if later else first
    return whole | {"batch": {**batch, **FLOOR}} if "bedrock/" in str(stages) else whole


def _later(draw: random.Random, number: int, among: tuple[str, ...]) -> dict[str, Any]:
    """A stage that reads what the first one said, or what the one before it did."""
    of = "say" if number == 0 else draw.choice(("say", "rate"))
    return {
        "name": "rate" if number == 0 else "rate-again",
        "task": "generate",
        "of": of,
        "when": draw.choice(("landed", "landed", "done")),
        "take": draw.choice((["answered"], ["answered", "truncated", "refused"])),
        "prompt": _JUDGE,
        "models": [{"model": model, "max_tokens": _OUTPUT_TOKENS} for model in models(draw, among)[:1]],
    }


def budget(draw: random.Random, calls: int) -> dict[str, Any]:
    """More than enough, just enough with some waiting, or too little until it is raised."""
    return {"total": round(calls * _ROW * draw.choice((2.0, 0.5, 0.1)) + _ROW, 4), "output_tokens": _OUTPUT_TOKENS}
