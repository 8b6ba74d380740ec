"""Together: open models, live, by chat completions."""

from collections.abc import Mapping
from typing import Any

from overnight.core.ask import Thinking
from overnight.providers.contract import Rates, Vendor
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeVendor
from overnight.providers.reading.figures import count_of

_REMARKS = """\
`thinking: off` and `on` are sent as `reasoning.enabled`, levels as `reasoning_effort`; a token budget is refused.
Thoughts in `<think>` tags are kept apart from the answer. Limits are told by the second: `x-ratelimit-*` and
`x-tokenlimit-*`; models with a very low one are asked one call after another.
"""


def thinking(setting: Thinking) -> dict[str, Any] | None:
    if isinstance(setting, int):
        return None
    if setting in ("off", "on"):
        return {"reasoning": {"enabled": setting == "on"}}
    return {"reasoning_effort": setting}


def rates_of(headers: Mapping[str, str]) -> Rates:
    """Limits of a second, in those of a minute. What remains of a second is not told on: it is over by then."""
    requests, tokens = (_per_minute(headers.get(f"x-{what}-limit")) for what in ("ratelimit", "tokenlimit"))
    return Rates(requests_limit=requests, tokens_limit=tokens)


def _per_minute(text: str | None) -> int | None:
    try:
        limit = count_of(round(float(text or "") * 60))
    except (ValueError, OverflowError):
        return None
    return None if limit is None else max(1, limit)


provider: Vendor = LookalikeVendor(
    Lookalike(
        name="together",
        title="Together",
        key_variable="TOGETHER_API_KEY",
        base_url_variable="TOGETHER_BASE_URL",
        default_base_url="https://api.together.ai",
        chat_path="/v1/chat/completions",
        models_path="/v1/models",
        address="https://api.together.ai",
        thinking=thinking,
        rates=rates_of,
        emulator_path="/together",
        remarks=_REMARKS,
    )
)
