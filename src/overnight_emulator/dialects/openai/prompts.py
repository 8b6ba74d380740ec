"""Reading a request body, of either endpoint, as a Prompt."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from overnight_emulator.answering import Prompt, Turn
from overnight_emulator.dialects.openai.rules import thinks
from overnight_emulator.rows import canonical


def read_prompt(body: dict[str, Any], digest: bytes | None = None) -> Prompt:
    """The body has passed the rules. Chat completions have `messages`, responses have `input`."""
    digest = sha256(canonical(body)).digest() if digest is None else digest
    return _chat(body, digest) if "messages" in body else _responses(body, digest)


def prompt_characters(body: dict[str, Any]) -> int:
    """How much text a body holds, whether or not it would pass the rules."""
    turns = _turns(body["messages"]) if "messages" in body else _input_turns(body)
    return sum(len(turn.text) for turn in turns)


def _chat(body: dict[str, Any], digest: bytes) -> Prompt:
    asked = body.get("response_format")
    form = asked if isinstance(asked, dict) else {}
    described = form.get("json_schema")
    return Prompt(
        model=body["model"],
        turns=_turns(body["messages"]),
        digest=digest,
        schema=described.get("schema") if isinstance(described, dict) else None,
        wants_json=form.get("type") == "json_object",
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        effort=_effort(body["model"], body.get("reasoning_effort")),
    )


def _responses(body: dict[str, Any], digest: bytes) -> Prompt:
    text = body.get("text")
    form = (text.get("format") if isinstance(text, dict) else None) or {}
    reasoning = body.get("reasoning")
    return Prompt(
        model=body["model"],
        turns=_input_turns(body),
        digest=digest,
        schema=form.get("schema") if form.get("type") == "json_schema" else None,
        wants_json=form.get("type") == "json_object",
        max_tokens=body.get("max_output_tokens"),
        effort=_effort(body["model"], reasoning.get("effort") if isinstance(reasoning, dict) else None),
    )


def _effort(model: str, asked: str | None) -> str:
    return (asked or "medium") if thinks(model) else "none"


def _input_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    said = body.get("input")
    turns = (Turn("user", said),) if isinstance(said, str) else _turns(said)
    instructions = body.get("instructions")
    return (Turn("system", instructions), *turns) if isinstance(instructions, str) else turns


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
