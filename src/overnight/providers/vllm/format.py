"""vLLM's format: OpenAI's lines of chat completions, and its own way to tell what went wrong."""

from typing import Any

import msgspec

from overnight.core.ask import Ask, Model, Thinking
from overnight.core.result import Line
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine
from overnight.providers.openai_api.lookalike_format import Lines, LookalikeBatchFormat, Rules
from overnight.providers.openai_api.rows import decode as openai_decode
from overnight.providers.reading.complaints import complaint_in
from overnight.providers.reading.patient_json import UNREADABLE

LIMITS = Limits(
    requests=1_000_000, bytes=10_000_000_000, window_seconds=0, kept="as long as you do", discount="your own GPUs"
)
_GUIDE = """\
## vllm

Files for `vllm run-batch`, for people with GPUs of their own. A server that runs is [compatible](#compatible).

| | |
|---|---|
| key | none |
| folder | `VLLM_FOLDER`, or `submit --to-file DIR`; default `vllm-batches` |
| requests in a file | {requests:,} (Overnight's own) |
| window | none |
| results kept | {kept} |
| discount | the cost is your own affair: unknown until [you say](prices.md#your-own-prices) |
| live calls | none: `mode: batch` |

1. `overnight submit study.yaml --to-file DIR` writes `DIR/TOKEN.jsonl`, one file for each batch and model. The run
   waits.
2. On the machine with the GPUs: `vllm run-batch -i TOKEN.jsonl -o TOKEN.out.jsonl --model NAME`. After
   `overnight resume --once`, `overnight status` shows the command for each file that is still waited for.
3. With `TOKEN.out.jsonl` in the same folder, `overnight resume` takes the answers. A file with fewer lines than its
   input is still being written; `overnight cancel` takes what it has, and leaves the rest.

Set `VLLM_FOLDER` in the environment if the folder is not `vllm-batches`: `resume` looks there too. Files are named by
the attempt's token and written whole, so that none is there twice. An answer file from elsewhere becomes a run by
`overnight adopt vllm --output-file FILE`. `thinking: off` and `on` are sent as
`chat_template_kwargs.enable_thinking`, levels as `reasoning_effort`, a token budget as `thinking_token_budget`.
"""


def thinking(setting: Thinking) -> dict[str, Any]:
    if isinstance(setting, int):
        return {"thinking_token_budget": setting}
    if setting in ("off", "on"):
        return {"chat_template_kwargs": {"enable_thinking": setting == "on"}}
    return {"reasoning_effort": setting}


class VllmFormat:
    """How run-batch is asked and how it answers. There are no live calls."""

    tags = True

    def __init__(self) -> None:
        self._lines = LookalikeBatchFormat(Rules(name="vllm", thinking=thinking, read=decode), Lines(limits=LIMITS))

    def limits(self, model: Model) -> Limits:
        return self._lines.limits(model)

    def problems(self, model: Model) -> list[str]:
        return self._lines.problems(model)

    def encode(self, ask: Ask) -> bytes:
        return self._lines.encode(ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        return self._lines.line(model, custom_id, body)

    def read_line(self, line: bytes) -> ReadyLine:
        return self._lines.read_line(line)

    def decode(self, line: bytes) -> Line:
        return self._lines.decode(line)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        return self._lines.ours(batch, intent, file_id)

    def batch_id(self, token: str) -> str:
        """A batch is its file."""
        return token


class _Row(msgspec.Struct):
    custom_id: Any = None
    response: dict[str, Any] | None = None
    error: Any = None


def decode(line: bytes) -> Line:
    """Total. A failed row has no body, and its error is a text or an object in an object."""
    try:
        row = msgspec.json.decode(line, type=_Row)
    except UNREADABLE:
        return openai_decode(line)
    if row.error is None:
        return openai_decode(line)
    said = complaint_in(row.error if isinstance(row.error, dict) else {"error": row.error})
    status = (row.response or {}).get("status_code")
    error = {"message": said.message or None, "code": said.code or None, "type": said.type or None}
    told = {"status_code": status if isinstance(status, int) else 500, "body": {"error": error}}
    return openai_decode(msgspec.json.encode({"custom_id": row.custom_id, "response": told}))


def guide() -> str:
    return _GUIDE.format(requests=LIMITS.requests, kept=LIMITS.kept)
