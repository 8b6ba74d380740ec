"""Groq: open models, live and in batches, by OpenAI's API."""

from typing import Any

from overnight.core.ask import Thinking
from overnight.providers.contract import Limits, Vendor
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeBatches, LookalikeVendor
from overnight.providers.openai_api.windows import Windows

_REMARKS = """\
`thinking: off` is sent as `reasoning_effort: none`, `on` as `default`, levels by their names (`minimal` as `low`);
which of them a model takes is for Groq to say. A token budget is refused. `max_tokens` is sent as
`max_completion_tokens`. Batches need a paid plan. How long results are kept is not published, and neither is whether
the listing of batches has pages: it is read until a page is empty, and one that goes round in circles proves nothing.
"""


def thinking(setting: Thinking) -> dict[str, Any] | None:
    if isinstance(setting, int):
        return None
    words = {"off": "none", "on": "default", "minimal": "low"}
    return {"reasoning_effort": words.get(setting, setting)}


provider: Vendor = LookalikeVendor(
    Lookalike(
        name="groq",
        title="Groq",
        key_variable="GROQ_API_KEY",
        base_url_variable="GROQ_BASE_URL",
        default_base_url="https://api.groq.com",
        chat_path="/openai/v1/chat/completions",
        models_path="/openai/v1/models",
        address="https://api.groq.com",
        thinking=thinking,
        cap="max_completion_tokens",
        batches=LookalikeBatches(
            # The SDK says 100 MB for a file.
            limits=Limits(requests=50_000, bytes=100_000_000, discount="50%"),
            windows=Windows("24h", "24h", "7d"),
            files_path="/openai/v1/files",
            batches_path="/openai/v1/batches",
        ),
        emulator_path="/groq",
        remarks=_REMARKS,
    )
)
