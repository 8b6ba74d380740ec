"""What Anthropic's API checks before a model is asked: fields, ranges, the length of a prompt, strict schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overnight_emulator.answers.answering import Models
from overnight_emulator.dialects.anthropic.errors import ApiError
from overnight_emulator.dialects.anthropic.prompts import message_turns
from overnight_emulator.model_limits import most_input
from overnight_emulator.strictness import out_of_range, schema_flaw, unknown_field
from overnight_emulator.truth import Truth

_FIELDS = frozenset(
    {
        *("cache_control", "container", "diagnostics", "inference_geo", "max_tokens", "messages", "metadata", "model"),
        *("output_config", "service_tier", "speed", "stop_sequences", "stream", "system", "temperature", "thinking"),
        *("tool_choice", "tools", "top_k", "top_p", "user_profile_id", "workspace_id"),
        *("context_management", "mcp_servers", "store", "previous_thread_event_id", "cache_hint", "context_hint"),
    }
)
_RANGES = {"temperature": (0, 1), "top_p": (0, 1), "top_k": (0, 10_000)}
_CLOSED = "For 'object' type, 'additionalProperties' must be explicitly set to false"


def check_strictly(body: dict[str, Any], truth: Truth, models: Models) -> None:
    """Of parameters that have passed the rules."""
    strange = unknown_field(body, _FIELDS)
    if strange is not None:
        raise ApiError(400, f"{strange}: Extra inputs are not permitted")
    wrong = out_of_range(body, _RANGES)
    if wrong is not None:
        raise ApiError(400, f"{wrong[0]}: range: {wrong[1]:g}..{wrong[2]:g}")
    _check_schemas(body)
    most = most_input(body["model"], truth)
    if most is None:
        return
    tokens = models.input_tokens(message_turns(body), body["model"])
    if tokens > most:
        raise ApiError(400, f"prompt is too long: {tokens} tokens > {most} maximum")


def _check_schemas(body: Mapping[str, Any]) -> None:
    form = (body.get("output_config") or {}).get("format") or {}
    if form and schema_flaw(form.get("schema"), all_required=False) is not None:
        raise ApiError(400, f"output_config.format.schema: {_CLOSED}")
    for place, tool in enumerate(body.get("tools") or ()):
        if tool.get("strict") and schema_flaw(tool.get("input_schema"), all_required=False) is not None:
            raise ApiError(400, f"tools.{place}.custom.input_schema: {_CLOSED}")
