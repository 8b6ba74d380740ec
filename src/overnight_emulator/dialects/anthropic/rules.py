"""What Anthropic's models accept: how they think, which parameters they refuse, how much they may write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from overnight_emulator.dialects.anthropic.accounts import NEWEST
from overnight_emulator.dialects.anthropic.errors import ApiError
from overnight_emulator.dialects.anthropic.tools import is_forced
from overnight_emulator.dialects.anthropic.unsimulated import BLOCKS, refuse_unsimulated
from overnight_emulator.patterns import matches_any
from overnight_emulator.truth import Truth

EFFORTS = ("low", "medium", "high", "xhigh", "max")
_SAMPLING = ("temperature", "top_p", "top_k")
_LEAST_BUDGET = 1_024
_NOT_IN_BATCHES = ("speed", "store", "previous_thread_event_id", "cache_hint", "context_hint")


class Family(msgspec.Struct, frozen=True):
    """`thinking`: the types it takes; `always`: it thinks also when it is not told to."""

    names: str
    thinking: tuple[str, ...]
    always: bool = False
    samples: bool = False
    effort: bool = True
    prefill: bool = True
    forced_tools: bool = True
    most_tokens: int = 128_000


_FAMILIES = (
    Family(r"claude-(?:fable-5-1|opus-5-5)", ("adaptive",), always=True, prefill=False, forced_tools=False),
    Family(r"claude-sonnet-5-5", ("adaptive", "between_tools"), always=True, forced_tools=False),
    Family(r"claude-haiku-5-5", ("adaptive", "disabled")),
    Family(r"claude-(?:opus|sonnet)-5", ("adaptive", "disabled")),
    Family(r"claude-opus-4-[78]", ("adaptive", "disabled")),
    Family(r"claude-(?:opus|sonnet)-4-6", ("adaptive", "enabled", "disabled"), samples=True),
    Family(r"claude-haiku-4-5", ("enabled", "disabled"), samples=True, effort=False, most_tokens=64_000),
    Family(r"claude-(?:opus|sonnet)-4-5", ("enabled", "disabled"), samples=True, most_tokens=64_000),
    Family(r"claude-(?:opus-4|sonnet-4|3-7)", ("enabled", "disabled"), samples=True, effort=False, most_tokens=64_000),
    Family(r"claude-(?:3|2|instant)", ("disabled",), samples=True, effort=False, most_tokens=8_192),
    Family(r"", ("adaptive", "enabled", "disabled"), samples=True),
)


# The snapshots that short names stand for; other names are said back as they are.
_SNAPSHOTS = {
    "claude-haiku-4-5": "20251001",
    "claude-sonnet-4-5": "20250929",
    "claude-opus-4-5": "20251101",
}


def served_name(model: str) -> str:
    """The model that answers, as the service names it."""
    return f"{model}-{_SNAPSHOTS[model]}" if model in _SNAPSHOTS else model


def family_of(model: str) -> Family:
    return next(family for family in _FAMILIES if re.match(family.names, model))


def exists(model: str, truth: Truth) -> bool:
    return not matches_any(model, truth.models.unknown)


def check_params(body: Mapping[str, Any], truth: Truth, version: str, *, in_batch: bool) -> None:
    """Raise what the provider would answer instead of an answer."""
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise _missing("model")
    if not exists(model, truth):
        raise ApiError(404, f"model: {model}")
    family = family_of(model)
    if in_batch:
        _check_batch_only(body)
    _check_messages(body.get("messages"), family)
    _check_length(body, model, family)
    _check_sampling(body, version, family)
    _check_thinking(body, family)
    _check_output(body, family)
    _check_forcing(body, family)
    refuse_unsimulated(body)


def _check_forcing(body: Mapping[str, Any], family: Family) -> None:
    if not is_forced(body):
        return
    if not family.forced_tools:
        raise ApiError(400, "tool_choice: forcing a tool is not supported for this model.")
    if _mapping(body, "thinking").get("type") in {"enabled", "adaptive"}:
        raise ApiError(400, "Thinking may not be enabled when tool_choice forces tool use.")


def _check_batch_only(body: Mapping[str, Any]) -> None:
    for name in _NOT_IN_BATCHES:
        if body.get(name) is not None:
            raise ApiError(400, f"{name}: not allowed in a Message Batch")
    if body.get("stream"):
        raise ApiError(400, "stream: streaming is not supported in a Message Batch")


def _check_messages(messages: object, family: Family) -> None:
    if messages is None:
        raise _missing("messages")
    if not isinstance(messages, list) or not messages or not all(isinstance(one, dict) for one in messages):
        raise ApiError(400, "messages: at least one message is required")
    for place, message in enumerate(messages):
        if message.get("role") not in {"user", "assistant"}:
            found = f'Unexpected role "{message.get("role")}". Allowed roles are "user" or "assistant".'
            raise ApiError(400, f"messages.{place}.role: {found} A system prompt goes into the top-level `system`.")
        if not message.get("content"):
            raise ApiError(400, f"messages.{place}: all messages must have non-empty content")
        _check_blocks(message["content"], place)
    if messages[-1]["role"] == "assistant" and not family.prefill:
        raise ApiError(400, "This model does not support assistant message prefill.")


def _check_blocks(content: object, place: int) -> None:
    for number, block in enumerate(content if isinstance(content, list) else ()):
        kind = block.get("type") if isinstance(block, dict) else None
        if kind not in BLOCKS:
            known = ", ".join(f"'{one}'" for one in sorted(BLOCKS))
            found = f"Input tag '{kind}' does not match any that this emulator simulates: {known}"
            raise ApiError(400, f"messages.{place}.content.{number}: {found}")


def _check_length(body: Mapping[str, Any], model: str, family: Family) -> None:
    limit = body.get("max_tokens")
    if limit is None:
        raise _missing("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ApiError(400, "max_tokens: must be greater than or equal to 1")
    if limit > family.most_tokens:
        most = f"{limit} > {family.most_tokens}, which is the maximum allowed number of output tokens for {model}"
        raise ApiError(400, f"max_tokens: {most}")


def _check_sampling(body: Mapping[str, Any], version: str, family: Family) -> None:
    given = [name for name in _SAMPLING if body.get(name) is not None]
    for name in given:
        if version == NEWEST:
            raise ApiError(400, f"{name}: not supported as of anthropic-version {NEWEST}")
        if not family.samples and (name == "top_k" or body[name] != 1):
            raise ApiError(400, f"{name}: not supported for this model")
    if family.samples and "temperature" in given and not 0 <= body["temperature"] <= 1:
        raise ApiError(400, "temperature: range: 0..1")


def _check_thinking(body: Mapping[str, Any], family: Family) -> None:
    thinking = _mapping(body, "thinking")
    if not thinking:
        return
    kind = thinking.get("type")
    if kind not in family.thinking:
        raise ApiError(400, f'"thinking.type.{kind}" is not supported for this model.')
    if kind == "disabled" and _mapping(body, "output_config").get("effort") in {"xhigh", "max"}:
        raise ApiError(400, "output_config.effort: at most high is supported with thinking disabled")
    if kind != "enabled":
        return
    budget = thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < _LEAST_BUDGET:
        raise ApiError(400, f"thinking.enabled.budget_tokens: must be at least {_LEAST_BUDGET}")
    if budget >= body["max_tokens"]:
        raise ApiError(400, "`max_tokens` must be greater than `thinking.budget_tokens`.")
    if body.get("temperature") not in {None, 1}:
        raise ApiError(400, "`temperature` may only be set to 1 when thinking is enabled.")


def _check_output(body: Mapping[str, Any], family: Family) -> None:
    output = _mapping(body, "output_config")
    effort = output.get("effort")
    if effort is not None and not family.effort:
        raise ApiError(400, "output_config.effort: not supported for this model")
    if effort is not None and effort not in EFFORTS:
        raise ApiError(400, f"output_config.effort: wanted one of {', '.join(EFFORTS)}")
    form = output.get("format")
    if form is None:
        return
    if not isinstance(form, dict) or form.get("type") != "json_schema" or not isinstance(form.get("schema"), dict):
        raise ApiError(400, "output_config.format: wanted type json_schema and a schema")


def _mapping(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = body.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ApiError(400, f"{name}: Input should be an object")
    return value


def _missing(name: str) -> ApiError:
    return ApiError(400, f"{name}: Field required")
