"""Tools in OpenAI's requests: what is offered, what must be called. What is not simulated is refused by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from overnight_emulator.answers.tools import NO_TOOLS, Offer, Tool
from overnight_emulator.dialects.openai.errors import ApiError

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_MOST_TOOLS = 128
_ABOUT_TOOLS = frozenset({"tools", "tool_choice", "functions", "function_call"})
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def chat_offer(body: Mapping[str, Any]) -> Offer:
    """Of chat completions, where a tool stands under the name of its kind."""
    if _ABOUT_TOOLS.isdisjoint(body):
        return NO_TOOLS
    if body.get("functions") is not None or body.get("function_call") is not None:
        message = "'functions' and 'function_call' are not simulated by this emulator. Use 'tools' and 'tool_choice'."
        raise ApiError(400, message, param="functions", code="unsupported_parameter")
    tools = tuple(_nested(tool, f"tools[{place}]") for place, tool in enumerate(_listed(body)))
    return _offer(tools, body.get("tool_choice"), nested=True)


def responses_offer(body: Mapping[str, Any]) -> Offer:
    """Of the Responses API, where a tool is flat."""
    if _ABOUT_TOOLS.isdisjoint(body):
        return NO_TOOLS
    tools = tuple(_flat(tool, f"tools[{place}]") for place, tool in enumerate(_listed(body)))
    return _offer(tools, body.get("tool_choice"), nested=False)


def _listed(body: Mapping[str, Any]) -> Sequence[Any]:
    tools = body.get("tools")
    if tools is None:
        return ()
    if not isinstance(tools, list):
        raise _wrong("Invalid type for 'tools': expected an array of objects.", "tools", "invalid_type")
    if len(tools) > _MOST_TOOLS:
        raise _wrong(f"Invalid 'tools': at most {_MOST_TOOLS} are supported.", "tools", "array_above_max_length")
    return tools


def _nested(tool: Any, param: str) -> Tool:
    kind = _kind(tool, param)
    return _tool(tool.get(kind), kind, f"{param}.{kind}")


def _flat(tool: Any, param: str) -> Tool:
    return _tool(tool, _kind(tool, param), param)


def _kind(tool: Any, param: str) -> str:
    kind = tool.get("type") if isinstance(tool, dict) else None
    if kind in {"function", "custom"}:
        return str(kind)
    if kind is None:
        raise _wrong(f"Missing required parameter: '{param}.type'.", f"{param}.type", "missing_required_parameter")
    raise _wrong(f"This emulator does not simulate tools of the type '{kind}'.", f"{param}.type", "unsupported_value")


def _tool(described: Any, kind: str, param: str) -> Tool:
    name = described.get("name") if isinstance(described, dict) else None
    if not isinstance(name, str):
        raise _wrong(f"Missing required parameter: '{param}.name'.", f"{param}.name", "missing_required_parameter")
    if not _NAME.fullmatch(name):
        message = f"Invalid '{param}.name': string does not match pattern. Expected '^{_NAME.pattern}$'."
        raise _wrong(message, f"{param}.name", "invalid_value")
    schema = described.get("parameters")
    if schema is not None and not isinstance(schema, dict):
        raise _wrong(
            f"Invalid type for '{param}.parameters': expected an object.", f"{param}.parameters", "invalid_type"
        )
    if schema and schema.get("type", "object") != "object":
        message = f"Invalid schema for function '{name}': schema must be a JSON Schema of 'type: \"object\"'."
        raise _wrong(message, f"{param}.parameters", "invalid_function_parameters")
    return Tool(name, schema, takes_text=kind == "custom")


def _offer(tools: tuple[Tool, ...], choice: Any, *, nested: bool) -> Offer:
    if choice is None:
        return Offer(tools)
    if not tools:
        raise _wrong("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice", None)
    if isinstance(choice, str) and choice in _CHOICES:
        return Offer(tools, _CHOICES[choice])  # type: ignore[arg-type]
    if not isinstance(choice, dict):
        message = f"Invalid value: '{choice}'. Supported values are: 'none', 'auto', and 'required'."
        raise _wrong(message, "tool_choice", "invalid_value")
    if choice.get("type") == "allowed_tools":
        return _allowed(tools, choice.get("allowed_tools") if nested else choice, nested=nested)
    return Offer((_found(tools, _named(choice, nested=nested)),), "any")


def _allowed(tools: tuple[Tool, ...], allowed: Any, *, nested: bool) -> Offer:
    named = allowed.get("tools") if isinstance(allowed, dict) else None
    if not isinstance(named, list) or not named:
        raise _wrong("Missing required parameter: 'tool_choice.tools'.", "tool_choice", "missing_required_parameter")
    chosen = tuple(_found(tools, _named(one, nested=nested)) for one in named)
    return Offer(chosen, "any" if allowed.get("mode") == "required" else "auto")


def _named(choice: Any, *, nested: bool) -> str:
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in {"function", "custom"}:
        message = f"This emulator does not simulate a tool choice of the type '{kind}'."
        raise _wrong(message, "tool_choice.type", "unsupported_value")
    described = choice.get(kind) if nested else choice
    return str(described.get("name")) if isinstance(described, dict) else ""


def _found(tools: tuple[Tool, ...], name: str) -> Tool:
    tool = Offer(tools).find(name)
    if tool is None:
        raise _wrong(f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice", None)
    return tool


def _wrong(message: str, param: str, code: str | None) -> ApiError:
    return ApiError(400, message, param=param, code=code)
