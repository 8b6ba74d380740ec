"""xAI's format: chat completions, each in an envelope of its own when it is put into a batch."""

from typing import Any

import msgspec

from overnight.core.ask import Model, Thinking
from overnight.core.errors import StudyError
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine
from overnight.providers.openai_api.body import read_line
from overnight.providers.openai_api.lookalike_format import Lines, LookalikeBatchFormat, Rules
from overnight.providers.reading.listing import ours_by_tag
from overnight.providers.xai.rows import decode

# What one call may add is not published; the SDK sends no message of more than 20 MB.
LIMITS = Limits(
    requests=10_000,
    bytes=20_000_000,
    creates_per_hour=7_200,
    window_seconds=30 * 86_400,
    retention_days=30,
    discount="20%, for the models that xAI lists; else none",
)
_HEAD, _MIDDLE, _TAIL = b'{"batch_request_id":', b',"batch_request":{"chat_get_completion":', b"}}"
_json = msgspec.json.Encoder()
_GUIDE = """\
## xai

| | |
|---|---|
| key | `XAI_API_KEY`; `key: VARIABLE` of a model names another |
| address | `XAI_BASE_URL`, or `base_url` of a model, with its path; default `https://api.x.ai/v1` |
| bare model names | `grok-*` |
| requests in a batch | {requests:,} (Overnight's own, for what is added in one call) |
| bytes in a batch | {bytes:,} (the same) |
| batches created per hour | {creates:,} |
| window | none is promised: usually 24 hours, 30 days at most |
| results kept | {kept} days |
| discount | {discount} |

A batch is made empty, under the attempt's token, and costs nothing; then all its requests are added in one call,
which is taken whole or not at all. An empty batch is never taken for one of ours. Results are read page by page, not
as a file. `thinking: off` is sent as `reasoning_effort: none`, `on` as `medium`, levels by their names (`minimal` as
`low`); a token budget is refused. Tokens of thoughts are not among those of the answer here: they are added to them.
A row's error is a text without a code, so it is asked again, up to the usual limit. The official SDK speaks gRPC;
this is the REST API.
"""


def thinking(setting: Thinking) -> dict[str, Any] | None:
    if isinstance(setting, int):
        return None
    return {"reasoning_effort": {"off": "none", "on": "medium", "minimal": "low"}.get(setting, setting)}


class XaiFormat(LookalikeBatchFormat):
    """How xAI is asked and how it answers."""

    def __init__(self) -> None:
        super().__init__(Rules(name="xai", thinking=thinking, read=decode), Lines(limits=LIMITS, url=None))

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the body says it all
        return b"".join((_HEAD, _json.encode(custom_id), _MIDDLE, body, _TAIL))

    def read_line(self, line: bytes) -> ReadyLine:
        """A line of ours, or one of OpenAI's, which xAI takes in files."""
        try:
            found = msgspec.json.decode(line, type=_Line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise StudyError(f"the line: {error}") from None
        if found.batch_request is None:
            return super().read_line(line)
        bare = b'{"custom_id":%b,"body":%b}'
        body = bytes(found.batch_request.chat_get_completion) or b"null"
        return read_line(bare % (_json.encode(found.batch_request_id), body), "xai", ())

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        """One that is empty may still be filled, and is no batch yet."""
        return "no" if batch.counts.total == 0 else ours_by_tag(batch, intent, file_id)


class _Request(msgspec.Struct):
    chat_get_completion: msgspec.Raw = msgspec.Raw()


class _Line(msgspec.Struct):
    batch_request_id: str | None = None
    batch_request: _Request | None = None


def guide() -> str:
    return _GUIDE.format(
        requests=LIMITS.requests,
        bytes=LIMITS.bytes,
        creates=LIMITS.creates_per_hour,
        kept=LIMITS.retention_days,
        discount=LIMITS.discount,
    )
