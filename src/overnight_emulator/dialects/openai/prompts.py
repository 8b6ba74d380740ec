"""Reading a request body, of either endpoint, as a Prompt."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from overnight_emulator.answers.answering import Prompt, Turn
from overnight_emulator.batches.rows import Shape, canonical
from overnight_emulator.dialects.openai.rules import thinks
from overnight_emulator.dialects.openai.tools import chat_offer, responses_offer

# Parts that are no text: a picture, a sound, a document.
FILES = frozenset({"image_url", "input_audio", "file", "input_image", "input_file"})
_ROLES = {"function": "tool"}
_write = msgspec.json.Encoder().encode


def read_prompt(body: dict[str, Any]) -> Prompt:
    """The prompt of a body that has passed the rules, told by its keys which endpoint it is meant for."""
    digest = sha256(canonical(body)).digest()
    return responses_prompt(body, digest) if "input" in body else chat_prompt(body, digest)


def chat_prompt(body: dict[str, Any], digest: bytes) -> Prompt:
    form = body.get("response_format") or {}
    stop = body.get("stop") or ()
    return Prompt(
        model=body["model"],
        turns=chat_turns(body),
        digest=digest,
        schema=form["json_schema"]["schema"] if form.get("type") == "json_schema" else None,
        wants_json=form.get("type") == "json_object",
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        effort=_effort(body["model"], body.get("reasoning_effort")),
        offer=chat_offer(body),
        stops=(stop,) if isinstance(stop, str) else tuple(stop),
    )


def responses_prompt(body: dict[str, Any], digest: bytes, before: tuple[Turn, ...] = ()) -> Prompt:
    """`before` is what was said in the responses that this one follows."""
    form = (body.get("text") or {}).get("format") or {}
    reasoning = body.get("reasoning") or {}
    turns = responses_turns(body)
    head = turns[:1] if isinstance(body.get("instructions"), str) else ()
    return Prompt(
        model=body["model"],
        turns=(*head, *before, *turns[len(head) :]),
        digest=digest,
        schema=form["schema"] if form.get("type") == "json_schema" else None,
        wants_json=form.get("type") == "json_object",
        max_tokens=body.get("max_output_tokens"),
        effort=_effort(body["model"], reasoning.get("effort")),
        offer=responses_offer(body),
    )


def chat_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    """Of any body, whether or not it would pass the rules."""
    return turns_of(body.get("messages"))


def chat_shape(body: dict[str, Any]) -> Shape | None:
    """Of messages that are a role and a text each. Where a rule or an answer looks at the words, there is none."""
    messages = body.get("messages")
    if type(messages) is not list or type(body.get("model")) is not str or body.get("logprobs"):
        return None
    turns: list[Turn] = []
    roles: list[str] = []
    for message in messages:
        if type(message) is not dict or len(message) != 2:
            return None
        role, content = message.get("role"), message.get("content")
        if type(role) is not str or type(content) is not str:
            return None
        roles.append(role)
        turns.append(Turn(_ROLES.get(role, role), content))
    key = _write({**body, "messages": roles})
    return None if b'"json_object"' in key else Shape(key, tuple(turns))


def responses_turns(body: dict[str, Any]) -> tuple[Turn, ...]:
    said = body.get("input")
    turns = (Turn("user", said),) if isinstance(said, str) else turns_of(said)
    instructions = body.get("instructions")
    return (Turn("system", instructions), *turns) if isinstance(instructions, str) else turns


def _effort(model: str, asked: str | None) -> str:
    return (asked or "medium") if thinks(model) else "none"


def turns_of(messages: Any) -> tuple[Turn, ...]:
    """Messages, or the items that the Responses API has in their place."""
    if not isinstance(messages, list):
        return ()
    return tuple(_turn(message) for message in messages if isinstance(message, dict))


def _turn(message: dict[str, Any]) -> Turn:
    content, kind = message.get("content"), message.get("type", "message")
    if type(content) is str and "tool_calls" not in message and kind == "message":  # as nearly always
        role = str(message.get("role", "user"))
        return Turn(_ROLES.get(role, role), content)
    if kind in {"function_call", "custom_tool_call"}:
        return Turn("assistant", f"{message.get('name')} {message.get('arguments', message.get('input'))}")
    if kind in {"function_call_output", "custom_tool_call_output"}:
        return Turn("tool", *_content(message.get("output")))
    if kind == "reasoning":
        return Turn("assistant", "")
    role = str(message.get("role", "user"))
    text, files = _content(content)
    if message.get("tool_calls"):
        calls = msgspec.json.encode(message["tool_calls"]).decode()
        text = f"{text}\n{calls}" if text else calls
    return Turn(_ROLES.get(role, role), text, files)


def _content(content: Any) -> tuple[str, int]:
    """The text of a content, and how many pictures and documents are in it: these say nothing to a simulated model."""
    if isinstance(content, str):
        return content, 0
    if not isinstance(content, list):
        return "", 0
    parts = [part for part in content if isinstance(part, dict)]
    words = "\n".join(str(part["text"]) for part in parts if "text" in part)
    return words, sum(part.get("type") in FILES for part in parts)
