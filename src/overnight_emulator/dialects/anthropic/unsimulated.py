"""What this emulator does not do of Anthropic's API: refused by name, so that nobody takes silence for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overnight_emulator.dialects.anthropic.errors import ApiError

BLOCKS = frozenset(
    {
        *("text", "image", "document", "search_result", "thinking", "redacted_thinking"),
        *("tool_use", "tool_result"),
    }
)
_FIELDS = ("container", "mcp_servers", "context_management", "diagnostics", "speed", "previous_thread_event_id")
_TIERS = ("auto", "standard_only")


def refuse_unsimulated(body: Mapping[str, Any]) -> None:
    for name in _FIELDS:
        if body.get(name) is not None:
            raise ApiError(400, f"{name}: not simulated by this emulator")
    tier = body.get("service_tier")
    if tier is not None and tier not in _TIERS:
        raise ApiError(400, f"service_tier: Input should be {' or '.join(repr(one) for one in _TIERS)}")
