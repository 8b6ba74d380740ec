"""Together: open models by chat completions, live and in batches."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from overnight.core.ask import Thinking
from overnight.providers.contract import Endpoint, Limits, Phase, Rates, Vendor
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeBatches, LookalikeVendor
from overnight.providers.openai_api.served import Batches, Calls
from overnight.providers.reading.figures import count_of

if TYPE_CHECKING:
    from overnight.providers.together.connection import TogetherConnection

_REMARKS = """\
`thinking: off` and `on` are sent as `reasoning.enabled`, levels as `reasoning_effort`; a token budget is refused.
Thoughts in `<think>` tags are kept apart from the answer. Limits are told by the second: `x-ratelimit-*` and
`x-tokenlimit-*`; models with a very low one are asked one call after another.

A batch carries no tag: the name of its input, which the listing of files shows, tells whose it is. It tells no counts
either: of rows that did not come nobody can say whether they were run, so their cost is presumed spent, and those of
a batch that completed are not asked again unbidden. An input is uploaded to the address that Together names, without
the key; the same content again is answered with the file that is there. How long files are kept, and what an expired
batch gives up, is not published.
"""
_PHASES: dict[str, Phase] = {
    "VALIDATING": "running",
    "IN_PROGRESS": "running",
    "CANCELING": "running",
    "COMPLETED": "completed",
    "FAILED": "failed",
    "EXPIRED": "expired",
    "CANCELLED": "cancelled",
}


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


def _connection(calls: Calls, batches: Batches, endpoint: Endpoint) -> "TogetherConnection":
    # Who only encodes and decodes needs no network.
    from overnight.providers.together.connection import TogetherConnection  # noqa: PLC0415

    return TogetherConnection(calls, batches, endpoint)


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
        batches=LookalikeBatches(
            limits=Limits(
                requests=50_000,
                bytes=100_000_000,
                line_bytes=10_000_000,
                discount="up to 50%, for the models that Together lists; else none",
            ),
            files_path="/v1/files",
            batches_path="/v1/batches",
            upload_fields={"purpose": "batch-api", "file_type": "jsonl"},
            bare_lines=True,
            metadata=False,
            phases=_PHASES,
            created_in="job",
            bare_listing=True,
        ),
        emulator_path="/together",
        remarks=_REMARKS,
    ),
    _connection,
)
