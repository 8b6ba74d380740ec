"""Reading the parameters of a message as a Prompt."""

from __future__ import annotations

from typing import Any

from overnight_emulator.answering import Prompt, Turn
from overnight_emulator.dialects.anthropic.rules import family_of

# What a thinking budget comes to, in the efforts of the simulated models: the largest budget that fits.
_BUDGETS = ((16_000, "high"), (4_000, "medium"), (0, "low"))
_USUAL_EFFORT = "high"


def message_prompt(body: dict[str, Any], digest: bytes) -> Prompt:
    form = (body.get("output_config") or {}).get("format") or {}
    return Prompt(
        model=body["model"],
        turns=message_turns(body),
        digest=digest,
        schema=form.get("schema"),
        max_tokens=body.get("max_tokens"),
        effort=_effort(body),
    )


def message_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    """Of any body, whether or not it would pass the rules."""
    messages = body.get("messages")
    said = tuple(
        Turn(str(message.get("role", "user")), _text(message.get("content")))
        for message in (messages if isinstance(messages, list) else ())
        if isinstance(message, dict)
    )
    system = _text(body.get("system"))
    return (Turn("system", system), *said) if system else said


def _effort(body: dict[str, Any]) -> str:
    thinking = body.get("thinking") or {}
    kind = thinking.get("type", "adaptive" if family_of(body["model"]).always else "disabled")
    if kind == "enabled":
        return next(effort for least, effort in _BUDGETS if thinking["budget_tokens"] >= least)
    return (body.get("output_config") or {}).get("effort") or _USUAL_EFFORT if kind == "adaptive" else "none"


def _text(content: Any) -> str:
    """Text, or the text blocks of a list; pictures and documents say nothing to a simulated model."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(block["text"]) for block in content if isinstance(block, dict) and "text" in block)
