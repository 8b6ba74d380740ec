"""The page of the documentation about Anthropic, written from the rules that are applied."""

from overnight.providers.anthropic.batches import LIMITS
from overnight.providers.anthropic.families import (
    ADAPTIVE_TOKENS,
    ANSWER_TOKENS,
    BUDGETS,
    FAMILIES,
    LEAST_BUDGET,
    NEWEST,
    OLDER,
    VERSION_FIELD,
    Family,
    thinking_choices,
)
from overnight.providers.contract import Vendor

_INTRODUCTION = """\
## {name}

| | |
|---|---|
| key | `{key_variable}`; `key: VARIABLE` of a model names another |
| address | `{base_url_variable}`, without `/v1`; default `{default_base_url}` |
| account | `ANTHROPIC_WORKSPACE_ID` (sent with the usual key only) |
| bare model names | {models} |
| requests in a batch | {requests:,} |
| bytes in a batch | {bytes:,} |
| window | {hours} hours |
| results kept | {retention_days} days from the creation |
| queued requests | by account: what is over it is refused for a while and sent again |

A Message Batch carries no tag. When the answer to a create is lost, a batch with the same number of requests may be
ours or a colleague's: `status` names it, it is watched until it has ended, and then the custom ids of its rows tell.
Until that is clear, nothing else is sent to this account.
"""

_COMPILING = """\
### How options are sent

| option | field |
|---|---|
| system message | `system` |
| `max_tokens` | same name; where it is unset, see below |
| `thinking` | `thinking` and `output_config.effort`, as below |
| `json_schema` | `output_config.format` |
| `stop` | `stop_sequences` |
| `temperature`, `top_p` | same name, where they are not 1 |
| `seed`, `api` | refused |
| `extra` | merged last |

Requests are made under version `{newest}` of the API. It takes no `temperature` and no `top_p`, so a model that still
has them is asked under `{older}` when a study sets one; `extra: {{{version}: '{older}'}}` asks for that
version anyway.

The API wants a limit for every answer. Without `max_tokens` it is {answer:,} tokens; with a budget to think,
{answer:,} more than that; where a model thinks without one, {adaptive:,}.

Models that think by a budget get one by the word: {budgets};
`on` is medium. It is at most half of `max_tokens`, if that is set, and at least {least:,}. Other models think as much
as they like: a word is their effort, `on` leaves it to them, and a budget is refused.

`extra` may hold any other field of the API, also one that a rule below refuses; `model`, `messages`, `system`,
`max_tokens` and `stream` are Overnight's own.
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
        hours=LIMITS.window_seconds // 3600,
        retention_days=LIMITS.retention_days,
    )
    compiling = _COMPILING.format(
        answer=ANSWER_TOKENS,
        adaptive=ADAPTIVE_TOKENS,
        newest=NEWEST,
        older=OLDER,
        version=VERSION_FIELD,
        budgets=", ".join(f"{word} {tokens:,}" for word, tokens in BUDGETS.items()),
        least=LEAST_BUDGET,
    )
    return f"{head}\n{compiling}\n{_family_table()}"


def _family_table() -> str:
    rows = "".join(f"| {' | '.join(_family_row(family))} |\n" for family in FAMILIES)
    return (
        "### Model families of Anthropic\n\nThe first row whose pattern fits a model's name holds.\n\n"
        "| family | names | `thinking` | `temperature`, `top_p` | `json_schema` | ends with the assistant "
        "| `max_tokens` up to |\n|---|---|---|---|---|---|---|\n" + rows
    )


def _family_row(family: Family) -> list[str]:
    return [
        family.name,
        " ".join(f"`{pattern}`" for pattern in family.patterns),
        ", ".join(thinking_choices(family)),
        "0 to 1" if family.samples else "only 1",
        "yes" if family.schema else "no",
        "yes" if family.prefill else "no",
        f"{family.longest:,}",
    ]
