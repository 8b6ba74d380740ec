"""The messages inside a request as it was sent, whatever provider's form it has: for reading, never for sending.

All forms have it in common that a message is an object with a `role`, and that its words are the texts inside it.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

# What comes before the first message, by the names that providers give it.
_INSTRUCTIONS = ("system", "instructions", "systemInstruction", "system_instruction")
_WORDS = ("content", "parts", "text")
_ROLES = {"model": "assistant", "developer": "system"}
# A request nests less deeply; what nests more was not made by us.
_DEEPEST = 12


class SentMessage(NamedTuple):
    role: str
    text: str


def messages_in(request: bytes) -> list[SentMessage]:
    """In the order in which they stand; none where it is no JSON, or has none."""
    try:
        body = msgspec.json.decode(request)
    except msgspec.MsgspecError:
        return []
    return list(_messages(body, 0))


def _messages(value: Any, depth: int) -> Iterator[SentMessage]:
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from _messages(one, depth + 1)
    elif isinstance(value, dict):
        role = value.get("role")
        if isinstance(role, str) and any(name in value for name in _WORDS):
            yield SentMessage(_ROLES.get(role, role), "\n".join(_texts(value, depth)))
            return
        for name in _INSTRUCTIONS:
            if name in value:
                yield SentMessage("system", "\n".join(_texts(value[name], depth)))
        for name, inner in value.items():
            if name not in _INSTRUCTIONS:
                if name in ("input", "prompt") and isinstance(inner, str):
                    yield SentMessage("user", inner)
                yield from _messages(inner, depth + 1)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, depth + 1)
    elif isinstance(value, dict):
        for name in _WORDS:
            yield from _texts(value.get(name), depth + 1)
