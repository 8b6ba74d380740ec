"""Azure's format: OpenAI's chat completions. A deployment's name does not tell its model: no family's rules apply."""

from typing import Any

from overnight.core.ask import Thinking
from overnight.providers.contract import Limits
from overnight.providers.openai_api.lookalike_format import Lines, LookalikeBatchFormat, Rules

LIMITS = Limits(
    requests=100_000,
    bytes=209_715_200,
    kept="until the file's own expiry, none unless you set one",
    discount="50%",
)
_GUIDE = """\
## azure

| | |
|---|---|
| key | `AZURE_OPENAI_API_KEY`; `key: VARIABLE` of a model names another |
| without a key | the Entra token in `AZURE_OPENAI_AD_TOKEN`, else whoever is signed in (`az login` and the like) |
| address | `AZURE_OPENAI_ENDPOINT`, or `base_url` of a model: `https://RESOURCE.openai.azure.com` |
| version | `OPENAI_API_VERSION`, for the dated API; without it the v1 API is used |
| model | the name of a deployment: for batches one of the type Global Batch or Data Zone Batch |
| requests in a batch | {requests:,} |
| bytes in a batch | {bytes:,} |
| window | 24 hours are aimed at; a batch that takes longer runs on |
| results kept | {kept} |
| discount | {discount} of Global Standard |
| queued tokens | by deployment: learned from the provider's refusal |

`max_tokens` is sent as `max_completion_tokens`. `thinking: off` is sent as `reasoning_effort: none`, `on` as `medium`,
levels by their names; a token budget is refused. A deployment's name does not tell its model, so what a model refuses
shows in its rows. Prices are found by the deployment's name, if that is a model's; else they are unknown until
[you give one](prices.md#your-own-prices). Lines name `/v1/chat/completions`, in both forms of the API. Batches in
one's own blob storage are not used. Whoever is signed in is asked for a token each hour, which needs
`pip install 'overnight[azure]'`; a token in `AZURE_OPENAI_AD_TOKEN` lapses after an hour or so, and is for short runs.
A resource is said to keep 500 inputs that never expire: delete old ones when an upload is refused for that.
"""


def thinking(setting: Thinking) -> dict[str, Any] | None:
    if isinstance(setting, int):
        return None
    return {"reasoning_effort": {"off": "none", "on": "medium"}.get(setting, setting)}


FORMAT = LookalikeBatchFormat(Rules(name="azure", thinking=thinking, cap="max_completion_tokens"), Lines(limits=LIMITS))


def guide() -> str:
    return _GUIDE.format(requests=LIMITS.requests, bytes=LIMITS.bytes, kept=LIMITS.kept, discount=LIMITS.discount)
