"""Bedrock's format: one body for the models of every maker (Converse), live and in jobs. No line names its model."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec

from overnight.core.ask import Ask, Model, Options
from overnight.core.errors import StudyError
from overnight.core.result import Line
from overnight.providers.bedrock.rows import decode, live_line
from overnight.providers.contract import Batch, Intent, Limits, Ours, ReadyLine, Reply
from overnight.providers.openai_api.windows import Windows
from overnight.providers.reading.listing import ours_by_tag
from overnight.providers.writing import ByModel

LIMITS = Limits(
    requests=50_000,
    bytes=1_000_000_000,
    min_rows=100,
    kept="as long as your bucket does",
    discount="50%, for most models",
)
WINDOWS = Windows("24", "24", "168", "timeoutDurationInHours")
_RESERVED = frozenset({"messages", "system", "modelId"})
_CLAUDE = re.compile(r"(?:^|\.)anthropic\.")
# What the words of `thinking` come to, where a model wants a budget of tokens.
_BUDGETS = {"minimal": 1_024, "low": 2_048, "medium": 8_192, "on": 8_192, "high": 16_384}
_MODEL_FIELD = "modelId"
_json = msgspec.json.Encoder()
_GUIDE = """\
## bedrock

Model invocation jobs over S3, with the account's own credentials, buckets and role. Needs `pip install
'overnight[bedrock]'`, which signs requests and does nothing else.

| | |
|---|---|
| credentials | the usual ones of AWS: `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, `AWS_PROFILE`, a role |
| region | `AWS_REGION`, default `us-east-1` |
| role | `BEDROCK_ROLE_ARN`: one that Bedrock may take, and that may read and write the buckets |
| buckets | `buckets` of the study, else `BEDROCK_INPUT_BUCKET` and `BEDROCK_OUTPUT_BUCKET` |
| address | `AWS_ENDPOINT_URL_BEDROCK`; default `https://bedrock.REGION.amazonaws.com`; S3: `AWS_ENDPOINT_URL_S3` |
| bare model names | those that begin with `anthropic.`, `amazon.` or `meta.`, also behind a region (`us.anthropic.`) |
| requests in a batch | {floor} to {requests:,} |
| bytes in a batch | {bytes:,} |
| window | {hours} hours; `extra: {{timeoutDurationInHours: 168}}` of a model asks for the longest |
| results kept | {kept} |
| discount | {discount} |

A job takes no fewer than {floor} records. The last few rows of a stage travel with others; where there are none, they
wait while other rows may come, then they are asked live (`mode: auto`), or not sent, with a word. The floor is a quota
of AWS: where your account has another for a model, write it as `batch: {{min_requests: N}}`. A job that is refused for
having too few leaves its rows waiting, and says so.

A create carries the attempt's token (`clientRequestToken`), so that one that is sent twice makes one job. Files of
answers are read from the job's own folder in your bucket, all but its manifest. Input and output stay there. Jobs are
of the type `Converse`: one form of request for the models of all makers. A refusal in a model's own words is an answer
like any other there. The key in `AWS_BEARER_TOKEN_BEDROCK` is not used: it opens no bucket.

| option | field of the request |
|---|---|
| system message | `system` |
| `max_tokens`, `temperature`, `top_p`, `stop` | `inferenceConfig` |
| `json_schema` | `outputConfig.textFormat` |
| `thinking` | for Anthropic's models `additionalModelRequestFields.thinking`, with a budget (a word stands for one) |
| `seed`, `api` | refused |
| `extra` | merged last |
"""


class _Form(msgspec.Struct, frozen=True):
    """The bytes that are the same in every request of one model."""

    tail: bytes


class BedrockFormat:
    """How Bedrock is asked and how it answers."""

    tags = True

    def __init__(self) -> None:
        self._forms = ByModel(_form)

    def limits(self, model: Model) -> Limits:
        return WINDOWS.within(LIMITS, model)

    def problems(self, model: Model) -> list[str]:
        return [*_problems(model), *WINDOWS.problems(model)]

    def encode(self, ask: Ask) -> bytes:
        return _encode(self._forms.of(ask.arm.model), ask)

    def line(self, model: Model, custom_id: str, body: bytes) -> bytes:  # noqa: ARG002 - the job names the model
        return b'{"recordId":%b,"modelInput":%b}' % (_json.encode(custom_id), body)

    def ready_line(self, model: Model, custom_id: str, body: bytes) -> bytes:
        named = b'{"%b":%b,%b' % (_MODEL_FIELD.encode(), _json.encode(model.name), body[1:])
        return self.line(model, custom_id, named)

    def read_line(self, line: bytes) -> ReadyLine:
        return _read_line(line)

    def decode(self, line: bytes) -> Line:
        return decode(line)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return live_line(custom_id, reply)

    def ours(self, batch: Batch, intent: Intent, file_id: str | None) -> Ours:
        return ours_by_tag(batch, intent, file_id)


def _form(model: Model) -> _Form:
    settings = _settings(model)
    written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
    return _Form(tail=written + b"}")


def _encode(form: _Form, ask: Ask) -> bytes:
    told = [{"text": turn.content} for turn in ask.messages if turn.role == "system"]
    said = [{"role": turn.role, "content": [{"text": turn.content}]} for turn in ask.messages if turn.role != "system"]
    try:
        system = b',"system":' + _json.encode(told) if told else b""
        return b'{"messages":%b%b%b' % (_json.encode(said), system, form.tail)
    except UnicodeEncodeError:
        raise StudyError(f"item '{ask.item}': the text holds half a character, which JSON cannot carry") from None


def _settings(model: Model) -> dict[str, Any]:
    options = model.options
    inference = {
        "maxTokens": options.max_tokens,
        "temperature": options.temperature,
        "topP": options.top_p,
        "stopSequences": list(options.stop) or None,
    }
    chosen = {field: value for field, value in inference.items() if value is not None}
    budget = _budget(options)
    thinking = {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget is not None else None
    settings = {
        "inferenceConfig": chosen or None,
        "outputConfig": _structured(options),
        "additionalModelRequestFields": thinking,
    }
    own = {*_RESERVED, WINDOWS.field}
    wanted = {field: value for field, value in settings.items() if value is not None}
    return wanted | {field: value for field, value in options.extra.items() if field not in own}


def _budget(options: Options) -> int | None:
    thinking = options.thinking
    return thinking if isinstance(thinking, int) else _BUDGETS.get(thinking or "")


def _structured(options: Options) -> dict[str, Any] | None:
    """The schema travels as a text."""
    if options.json_schema is None:
        return None
    name = str(options.json_schema.get("title") or "answer")
    schema = {"schema": _json.encode(options.json_schema).decode(), "name": name}
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": schema}}}


def _problems(model: Model) -> Iterator[str]:
    options = model.options
    if options.api is not None:
        yield f"api: '{options.api}' with bedrock, which has one; leave it out"
    if options.seed is not None:
        yield "seed: bedrock has none; leave it out"
    if options.thinking not in (None, "off") and not _CLAUDE.search(model.name):
        yield f"thinking: {options.thinking!r} is for Anthropic's models here; leave it out, or use `extra`"
    for field in sorted(_RESERVED & options.extra.keys()):
        yield f"extra: `{field}` is written by Overnight and cannot be set; leave it out"


class _Record(msgspec.Struct, rename="camel"):
    record_id: str | None = None
    model_input: dict[str, msgspec.Raw] | None = None


def _read_line(given: bytes) -> ReadyLine:
    """A line of a ready-made file names its model in `modelInput.modelId`, since no job does so yet."""
    try:
        given.decode()
        found = msgspec.json.decode(given, type=_Record)
        name = msgspec.json.decode((found.model_input or {}).pop(_MODEL_FIELD, b"null"), type=str | None)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"the line: {error}") from None
    if not found.record_id:
        raise StudyError("recordId: missing; every line needs its own")
    if not found.model_input:
        raise StudyError("modelInput: missing; wanted the request as an object")
    if not name:
        raise StudyError("modelInput.modelId: missing; wanted the model's name")
    return ReadyLine(custom_id=found.record_id, model=_ready_model(name), body=_json.encode(found.model_input))


@lru_cache(maxsize=256)
def _ready_model(name: str) -> Model:
    return Model(provider="bedrock", name=name)


def guide() -> str:
    return _GUIDE.format(
        floor=LIMITS.min_rows,
        requests=LIMITS.requests,
        bytes=LIMITS.bytes,
        hours=LIMITS.window_seconds // 3600,
        kept=LIMITS.kept,
        discount=LIMITS.discount,
    )
