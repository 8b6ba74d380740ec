"""Reading the parameters of a message as a Prompt."""

from __future__ import annotations

from typing import Any

import msgspec

from overnight_emulator.answers.answering import Prompt, Turn
from overnight_emulator.batches.rows import Shape
from overnight_emulator.dialects.anthropic.rules import family_of
from overnight_emulator.dialects.anthropic.tools import offer_of

# What a thinking budget comes to, in the efforts of the simulated models: the largest budget that fits.
_BUDGETS = ((16_000, "high"), (4_000, "medium"), (0, "low"))
_USUAL_EFFORT = "high"
_write = msgspec.json.Encoder().encode


def message_prompt(body: dict[str, Any], digest: bytes) -> Prompt:
    form = (body.get("output_config") or {}).get("format") or {}
    return Prompt(
        model=body["model"],
        turns=message_turns(body),
        digest=digest,
        schema=form.get("schema"),
        max_tokens=body.get("max_tokens"),
        effort=_effort(body),
        offer=offer_of(body),
        stops=tuple(body.get("stop_sequences") or ()),
    )


def message_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    """Of any body, whether or not it would pass the rules."""
    messages = body.get("messages")
    said = tuple(
        _turn(message) for message in (messages if isinstance(messages, list) else ()) if isinstance(message, dict)
    )
    system, files = _content(body.get("system"))
    return (Turn("system", system, files), *said) if system else said


def message_shape(body: dict[str, Any]) -> Shape | None:
    """Of messages that are a role and a text each, with instructions that are one text. What is cached is counted by
    its words, and has no shape."""
    messages, system = body.get("messages"), body.get("system", "")
    if type(messages) is not list or type(system) is not str or type(body.get("model")) is not str:
        return None
    turns = [Turn("system", system)] if system else []
    for message in messages:
        if type(message) is not dict or len(message) != 2:
            return None
        role, content = message.get("role"), message.get("content")
        # Of a text that is empty, or all space, there are rules.
        if type(role) is not str or type(content) is not str or not content.strip():
            return None
        turns.append(Turn(role, content))
    rest = body.copy()
    rest["messages"] = [message["role"] for message in messages]
    if system:
        rest["system"] = ""
    key = _write(rest)
    return None if b'"cache_control"' in key else Shape((key, bool(system)), tuple(turns))


def _turn(message: dict[str, Any]) -> Turn:
    content = message.get("content")
    answered = isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_result" for block in content
    )
    return Turn("tool" if answered else str(message.get("role", "user")), *_content(content))


def _effort(body: dict[str, Any]) -> str:
    thinking = body.get("thinking") or {}
    kind = thinking.get("type", "adaptive" if family_of(body["model"]).always else "disabled")
    if kind == "enabled":
        return next(effort for least, effort in _BUDGETS if thinking["budget_tokens"] >= least)
    return (body.get("output_config") or {}).get("effort") or _USUAL_EFFORT if kind == "adaptive" else "none"


def _content(content: Any) -> tuple[str, int]:
    """The words of a content, and how many pictures and documents are in it: these say nothing to a simulated model."""
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, list):
        return "", 0
    read = [_block(block) for block in content if isinstance(block, dict)]
    return "\n".join(text for text, _ in read if text), sum(files for _, files in read)


def _block(block: dict[str, Any]) -> tuple[str, int]:
    match block.get("type"):
        case "image":
            return "", 1
        case "document":
            return _document(block.get("source"))
        case "tool_use":
            return f"{block.get('name')} {msgspec.json.encode(block.get('input')).decode()}", 0
        case "tool_result" | "search_result":
            return _content(block.get("content"))
    return str(block["text"]) if "text" in block else "", 0


def _document(source: Any) -> tuple[str, int]:
    """What is given as text is read; anything else counts as one document."""
    kind = source.get("type") if isinstance(source, dict) else None
    if kind == "text":
        return str(source.get("data")), 0
    return _content(source.get("content")) if kind == "content" else ("", 1)
