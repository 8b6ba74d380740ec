"""Tools in Google's requests: what is offered, what must be called. What is not simulated is refused by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from overnight_emulator.answers.tools import Offer, Tool
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.schemas import json_schema

_MODES = {"MODE_UNSPECIFIED": "auto", "AUTO": "auto", "VALIDATED": "auto", "ANY": "any", "NONE": "none"}


def offer_of(request: Mapping[str, Any]) -> Offer:
    tools = tuple(_declared(request))
    config = request.get("toolConfig") or {}
    for name in config:
        if name != "functionCallingConfig":
            raise GoogleError(400, f"tool_config.{name}: not simulated by this emulator.")
    calling = config.get("functionCallingConfig") or {}
    mode = str(calling.get("mode") or "AUTO").upper()
    if mode not in _MODES:
        raise GoogleError(400, f"Invalid value at 'tool_config.function_calling_config.mode': {mode}.")
    if mode == "ANY" and not tools:
        raise GoogleError(400, "Function calling config is set without function_declarations.")
    allowed = calling.get("allowedFunctionNames")
    if not allowed:
        return Offer(tools, _MODES[mode])  # type: ignore[arg-type]
    if mode not in {"ANY", "VALIDATED"}:
        raise GoogleError(400, "allowed_function_names should only be set when mode is ANY or VALIDATED.")
    return Offer(tuple(_found(tools, str(name)) for name in allowed), _MODES[mode])  # type: ignore[arg-type]


def _declared(request: Mapping[str, Any]) -> Iterator[Tool]:
    listed = request.get("tools") or []
    for place, tool in enumerate(listed if isinstance(listed, list) else [listed]):
        if not isinstance(tool, dict):
            raise GoogleError(400, f"Invalid value at 'tools[{place}]': expected an object.")
        for name in tool:
            if name != "functionDeclarations":
                raise GoogleError(400, f"tools[{place}].{name}: this emulator does not simulate that tool.")
        for declaration in tool.get("functionDeclarations") or ():
            yield _tool(declaration, place)


def _tool(declaration: Any, place: int) -> Tool:
    name = declaration.get("name") if isinstance(declaration, dict) else None
    if not isinstance(name, str) or not name:
        raise GoogleError(400, f"* GenerateContentRequest.tools[{place}].function_declarations: name is required")
    if declaration.get("parameters") is not None and declaration.get("parametersJsonSchema") is not None:
        raise GoogleError(400, "Only one of parameters and parameters_json_schema can be set.")
    return Tool(name, declaration.get("parametersJsonSchema") or json_schema(declaration.get("parameters")))


def _found(tools: tuple[Tool, ...], name: str) -> Tool:
    tool = Offer(tools).find(name)
    if tool is None:
        raise GoogleError(400, f"allowed_function_names: '{name}' is not among the declared functions.")
    return tool
