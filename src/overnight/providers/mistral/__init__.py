"""Mistral: chat completions, live and in batch jobs of one model."""

from typing import TYPE_CHECKING, Any

from overnight.core.ask import Thinking
from overnight.providers.contract import Endpoint, Limits, Vendor
from overnight.providers.mistral.rows import decode
from overnight.providers.openai_api.lookalike import Lookalike, LookalikeBatches, LookalikeVendor
from overnight.providers.openai_api.served import Batches, Calls
from overnight.providers.openai_api.windows import Windows

if TYPE_CHECKING:
    from overnight.providers.mistral.connection import MistralConnection

__all__ = ["provider"]

_REMARKS = """\
`thinking: off` is sent as `reasoning_effort: none`, `on` as `medium`, levels by their names; which of them a model
takes is for Mistral to say, and a token budget is refused. `seed` is sent as `random_seed`. Thoughts come apart from
the answer. A file is checked line by line when it is uploaded, so that one bad line refuses the whole. Jobs are told
apart by their metadata, which is compared here: the listing's own filter is not used. Jobs that are cancelled or out
of time give up what they finished; what such a job writes about the rest is not published, so its rows are asked
again.
"""


def thinking(setting: Thinking) -> dict[str, Any] | None:
    if isinstance(setting, int):
        return None
    return {"reasoning_effort": {"off": "none", "on": "medium"}.get(setting, setting)}


def _connection(calls: Calls, batches: Batches, endpoint: Endpoint) -> "MistralConnection":
    # Who only encodes and decodes needs no network.
    from overnight.providers.mistral.connection import MistralConnection  # noqa: PLC0415

    return MistralConnection(calls, batches, endpoint)


provider: Vendor = LookalikeVendor(
    Lookalike(
        name="mistral",
        title="Mistral",
        key_variable="MISTRAL_API_KEY",
        base_url_variable="MISTRAL_BASE_URL",
        default_base_url="https://api.mistral.ai",
        models=("mistral-*", "ministral-*", "magistral-*", "codestral-*", "devstral-*", "pixtral-*"),
        chat_path="/v1/chat/completions",
        models_path="/v1/models",
        address="https://api.mistral.ai",
        thinking=thinking,
        seed="random_seed",
        hottest=1.5,
        read=decode,
        batches=LookalikeBatches(
            limits=Limits(requests=1_000_000, bytes=512_000_000, kept="they do not expire", discount="50%"),
            windows=Windows("24", "1", "168", "timeout_hours"),
            files_path="/v1/files",
            batches_path="/v1/batch/jobs",
            upload_fields={"purpose": "batch", "visibility": "workspace"},
            create_fields={},
            bare_lines=True,
        ),
        emulator_path="/mistral",
        remarks=_REMARKS,
    ),
    _connection,
)
