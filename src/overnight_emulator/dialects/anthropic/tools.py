"""Tools in Anthropic's requests: what is offered, what must be called. What is not simulated is refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from overnight_emulator.answers.tools import Offer, Tool
from overnight_emulator.dialects.anthropic.errors import ApiError

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


def offer_of(body: Mapping[str, Any]) -> Offer:
    tools = tuple(_tool(tool, place) for place, tool in enumerate(_listed(body)))
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise ApiError(400, "tools: Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice is None:
        return Offer(tools)
    kind = choice.get("type") if isinstance(choice, dict) else None
    if not tools:
        raise ApiError(400, "tool_choice: may only be specified while providing tools.")
    match kind:
        case "auto" | "any" | "none":
            return Offer(tools, kind)
        case "tool":
            chosen = Offer(tools).find(str(choice.get("name")))
            if chosen is None:
                raise ApiError(400, f"tool_choice.tool.name: Tool '{choice.get('name')}' not found in provided tools")
            return Offer((chosen,), "any")
    raise ApiError(400, f"tool_choice: Input tag '{kind}' does not match any of: 'auto', 'any', 'tool', 'none'")


def is_forced(body: Mapping[str, Any]) -> bool:
    choice = body.get("tool_choice")
    return isinstance(choice, dict) and choice.get("type") in {"any", "tool"}


def _listed(body: Mapping[str, Any]) -> list[Any]:
    tools = body.get("tools")
    if tools is None:
        return []
    if not isinstance(tools, list):
        raise ApiError(400, "tools: Input should be a valid list")
    return tools


def _tool(tool: Any, place: int) -> Tool:
    if not isinstance(tool, dict):
        raise ApiError(400, f"tools.{place}: Input should be an object")
    kind = tool.get("type", "custom")
    if kind not in {"custom", None}:
        raise ApiError(400, f"tools.{place}: this emulator does not simulate tools of the type '{kind}'")
    name, schema = tool.get("name"), tool.get("input_schema")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ApiError(400, f"tools.{place}.custom.name: String should match pattern '^{_NAME.pattern}$'")
    if not isinstance(schema, dict):
        raise ApiError(400, f"tools.{place}.custom.input_schema: Field required")
    if schema.get("type") != "object":
        raise ApiError(400, f"tools.{place}.custom.input_schema.type: Input should be 'object'")
    return Tool(name, schema)
