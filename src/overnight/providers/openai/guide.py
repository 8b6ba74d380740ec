"""The page of the documentation about OpenAI, written from the rules that are applied."""

from overnight.providers.contract import Vendor
from overnight.providers.openai.families import FAMILIES, SHUTDOWNS, Family, thinking_choices
from overnight.providers.openai.format import LIMITS

_INTRODUCTION = """\
## {name}

| | |
|---|---|
| key | `{key_variable}`; `key: VARIABLE` of a model names another |
| address | `{base_url_variable}`, with its path; default `{default_base_url}` |
| account | `OPENAI_ORG_ID`, `OPENAI_PROJECT_ID` (sent with the usual key only) |
| bare model names | {models} |
| requests in a batch | {requests:,} |
| bytes in a batch | {bytes:,} |
| batches created per hour | {creates_per_hour:,} |
| window | {hours} hours |
| results kept | {retention_days} days |
| queued tokens | by account and model: learned from the provider's refusal |
"""

_COMPILING = """\
### How options are sent

| option | chat completions | responses |
|---|---|---|
| system message | first message (role as below) | `instructions` |
| `max_tokens` | as below | `max_output_tokens`, at least 16 |
| `thinking` | `reasoning_effort` | `reasoning.effort`, with `summary: auto` unless off |
| `json_schema` | `response_format`, strict | `text.format`, strict |
| `temperature`, `top_p` | same name | same name |
| `seed`, `stop` | same name | refused |
| `extra` | merged last | merged last |

`thinking: off` is sent as `none`, `on` as `medium` (or the one effort there is); a token budget is refused.
Chat completions are used unless the model has only Responses, or is asked to think: Responses can return
summaries of the thoughts. Some accounts get those only after verification; `api: chat` goes without them.
`extra` may hold any other field of the API, also one that a rule below refuses; `model`, `messages`,
`input`, `instructions` and `stream` are Overnight's own.
"""


def guide(vendor: Vendor) -> str:
    head = _INTRODUCTION.format(
        name=vendor.name,
        key_variable=vendor.key_variable,
        base_url_variable=vendor.base_url_variable,
        default_base_url=vendor.default_base_url,
        models=", ".join(f"`{pattern}`" for pattern in vendor.models),
        requests=LIMITS.requests,
        bytes=LIMITS.bytes,
        creates_per_hour=LIMITS.creates_per_hour,
        hours=LIMITS.window_seconds // 3600,
        retention_days=LIMITS.retention_days,
    )
    return f"{head}\n{_COMPILING}\n{_family_table()}\n{_shutdown_table()}"


def _family_table() -> str:
    rows = "".join(f"| {' | '.join(_family_row(family))} |\n" for family in FAMILIES)
    return (
        "### Model families\n\nThe first row whose pattern fits a model's name holds.\n\n"
        "| family | names | API | `thinking` | `temperature`, `top_p` | `stop` | `json_schema` "
        "| `max_tokens` on chat | system role |\n|---|---|---|---|---|---|---|---|---|\n" + rows
    )


_SAMPLING = {"any": "any", "unless thinking": "any, only 1 while it thinks", "never": "only 1"}


def _family_row(family: Family) -> list[str]:
    on_chat = "chat" in family.apis
    return [
        family.name,
        " ".join(f"`{pattern}`" for pattern in family.patterns),
        " or ".join(family.apis),
        ", ".join(thinking_choices(family)),
        _SAMPLING[family.sampling],
        "yes" if family.stop else "no",
        "yes" if family.schema else "no",
        f"`{family.cap}`" if on_chat else "",
        f"`{family.system_role}`",
    ]


def _shutdown_table() -> str:
    rows = "".join(f"| {day} | {', '.join(names)} |\n" for day, names in SHUTDOWNS)
    return (
        "### Announced last days\n\nModels past their day are not refused here, only pointed out.\n\n"
        f"| day | models |\n|---|---|\n{rows}"
    )
