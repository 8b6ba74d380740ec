"""Reading a request of Converse as a Prompt: turns, tools, and what is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Prompt, Turn
from overnight_emulator.answers.tools import NO_TOOLS, Choice, Offer, Tool
from overnight_emulator.batches.rows import canonical

_BUDGETS = ((16_000, "high"), (4_000, "medium"), (0, "low"))
_FILES = ("image", "document", "video", "audio")
_KNOWN_PARTS = frozenset({"text", *_FILES, "toolUse", "toolResult", "reasoningContent", "cachePoint"})
_NOT_SIMULATED = ("guardrailConfig", "promptVariables", "additionalModelResponseFieldPaths")
_MODEL_FIELDS = frozenset({"thinking", "top_k"})


class NotTaken(ValueError):
    """Why a request cannot be answered, in words for its sender."""


def read_prompt(body: dict[str, Any]) -> Prompt:
    return prompt_of(body, sha256(canonical(body)).digest())


def prompt_of(body: dict[str, Any], digest: bytes) -> Prompt:
    """The body names the model here, whatever the path or the job does."""
    form = ((body.get("outputConfig") or {}).get("textFormat") or {}).get("structure") or {}
    schema = (form.get("jsonSchema") or {}).get("schema")
    thinking = (body.get("additionalModelRequestFields") or {}).get("thinking") or {}
    budget = thinking.get("budget_tokens", 0) if thinking.get("type") == "enabled" else None
    inference = body.get("inferenceConfig") or {}
    return Prompt(
        model=body["model"],
        turns=turns_of(body),
        digest=digest,
        schema=msgspec.json.decode(schema) if isinstance(schema, str) else None,
        max_tokens=inference.get("maxTokens"),
        effort="none" if budget is None else next(effort for least, effort in _BUDGETS if budget >= least),
        offer=_offer(body.get("toolConfig")),
        stops=tuple(inference.get("stopSequences") or ()),
    )


def refuse_unsimulated(body: Mapping[str, Any]) -> None:
    for name in _NOT_SIMULATED:
        if body.get(name):
            raise NotTaken(f"'{name}' is not simulated by this emulator. Send the request without it.")
    for name in body.get("additionalModelRequestFields") or {}:
        if name not in _MODEL_FIELDS:
            raise NotTaken(f"'additionalModelRequestFields.{name}' is not simulated by this emulator.")
    for message in body.get("messages") or ():
        for part in message["content"]:
            strange = next((kind for kind in part if kind not in _KNOWN_PARTS), None)
            if strange is not None:
                raise NotTaken(f"content of the kind '{strange}' is not simulated by this emulator.")


def turns_of(body: dict[str, Any]) -> tuple[Turn, ...]:
    told = tuple(Turn("system", str(part["text"])) for part in body.get("system") or () if "text" in part)
    return told + tuple(_turn(message) for message in body.get("messages") or ())


def _turn(message: dict[str, Any]) -> Turn:
    parts = message["content"]
    role = "tool" if any("toolResult" in part for part in parts) else str(message["role"])
    words = [text for text in map(_words, parts) if text]
    return Turn(role, "\n".join(words), sum(any(kind in part for kind in _FILES) for part in parts))


def _words(part: dict[str, Any]) -> str:
    if "text" in part:
        return str(part["text"])
    if "toolUse" in part:
        return f"{part['toolUse'].get('name')} {msgspec.json.encode(part['toolUse'].get('input')).decode()}"
    if "toolResult" in part:
        found = part["toolResult"].get("content") or ()
        return "\n".join(str(one["text"]) if "text" in one else msgspec.json.encode(one).decode() for one in found)
    return ""


def _offer(config: Any) -> Offer:
    if not config:
        return NO_TOOLS
    tools = tuple(_tool(one) for one in config["tools"])
    wanted = config.get("toolChoice") or {"auto": {}}
    if "tool" in wanted:
        named = Offer(tools).find(str(wanted["tool"].get("name")))
        if named is None:
            raise NotTaken(f"toolConfig.toolChoice: the tool {wanted['tool'].get('name')!r} is not among the tools.")
        return Offer((named,), "any")
    choice: Choice = "any" if "any" in wanted else "auto"
    return Offer(tools, choice)


def _tool(one: dict[str, Any]) -> Tool:
    if "toolSpec" not in one:
        kind = next((name for name in one), None)
        raise NotTaken(f"toolConfig.tools of the kind '{kind}' are not simulated by this emulator.")
    return Tool(str(one["toolSpec"]["name"]), one["toolSpec"]["inputSchema"].get("json") or {})
