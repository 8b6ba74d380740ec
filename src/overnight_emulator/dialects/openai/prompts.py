"""Reading a request body, of either endpoint, as a Prompt."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from overnight_emulator.answering import Prompt, Turn
from overnight_emulator.dialects.openai.rules import thinks
from overnight_emulator.rows import canonical


def read_prompt(body: dict[str, Any]) -> Prompt:
    """The prompt of a body that has passed the rules, told by its keys which endpoint it is meant for."""
    digest = sha256(canonical(body)).digest()
    return responses_prompt(body, digest) if "input" in body else chat_prompt(body, digest)


def chat_prompt(body: dict[str, Any], digest: bytes) -> Prompt:
    form = body.get("response_format") or {}
    return Prompt(
        model=body["model"],
        turns=chat_turns(body),
        digest=digest,
        schema=form["json_schema"]["schema"] if form.get("type") == "json_schema" else None,
        wants_json=form.get("type") == "json_object",
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        effort=_effort(body["model"], body.get("reasoning_effort")),
    )


def responses_prompt(body: dict[str, Any], digest: bytes) -> Prompt:
    form = (body.get("text") or {}).get("format") or {}
    reasoning = body.get("reasoning") or {}
    return Prompt(
        model=body["model"],
        turns=responses_turns(body),
        digest=digest,
        schema=form["schema"] if form.get("type") == "json_schema" else None,
        wants_json=form.get("type") == "json_object",
        max_tokens=body.get("max_output_tokens"),
        effort=_effort(body["model"], reasoning.get("effort")),
    )


def chat_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    """Of any body, whether or not it would pass the rules."""
    return _turns(body.get("messages"))


def responses_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    said = body.get("input")
    turns = (Turn("user", said),) if isinstance(said, str) else _turns(said)
    instructions = body.get("instructions")
    return (Turn("system", instructions), *turns) if isinstance(instructions, str) else turns


def _effort(model: str, asked: str | None) -> str:
    return (asked or "medium") if thinks(model) else "none"


def _turns(messages: Any) -> tuple[Turn, ...]:
    if not isinstance(messages, list):
        return ()
    return tuple(
        Turn(str(message.get("role", "user")), _text(message.get("content")))
        for message in messages
        if isinstance(message, dict)
    )


def _text(content: Any) -> str:
    """Text, or the text parts of a list; pictures and sound say nothing to a simulated model."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and "text" in part)
