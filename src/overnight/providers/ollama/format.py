"""Ollama's format: its own chat API."""

from collections.abc import Iterator
from typing import Any

import msgspec

from overnight.core.ask import Ask, Model
from overnight.core.errors import StudyError
from overnight.core.result import Line
from overnight.providers.contract import Reply
from overnight.providers.ollama.rows import decode, live_line
from overnight.providers.writing import ByModel

_RESERVED = frozenset({"model", "messages", "stream"})
# Fields of a request that people know from `ollama run`, and that the API wants one level deeper.
_DEEPER = frozenset(
    {"num_ctx", "top_k", "min_p", "repeat_penalty", "repeat_last_n", "num_gpu", "num_thread", "mirostat"}
)
_json = msgspec.json.Encoder()


class _Form(msgspec.Struct, frozen=True, gc=False):
    """The bytes around the messages of every request of one model."""

    head: bytes
    tail: bytes


class OllamaFormat:
    """How Ollama is asked and how it answers."""

    def __init__(self) -> None:
        self._forms = ByModel(_form_of)

    def problems(self, model: Model) -> list[str]:
        return list(_problems(model))

    def encode(self, ask: Ask) -> bytes:
        form = self._forms.of(ask.arm.model)
        try:
            return b"%b%b%b" % (form.head, _json.encode(ask.messages), form.tail)
        except UnicodeEncodeError:
            raise StudyError(f"item '{ask.item}': the text holds half a character, which JSON cannot carry") from None

    def decode(self, line: bytes) -> Line:
        return decode(line)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return live_line(custom_id, reply)


def _form_of(model: Model) -> _Form:
    options, extra = model.options, dict(model.options.extra)
    deeper = extra.pop("options", {})
    tuned = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "num_predict": options.max_tokens,
        "seed": options.seed,
        "stop": list(options.stop) or None,
        **(deeper if isinstance(deeper, dict) else {}),
    }
    settings: dict[str, Any] = {
        "format": options.json_schema,
        "options": {name: value for name, value in tuned.items() if value is not None} or None,
        "think": None
        if options.thinking is None
        else {"off": False, "on": True}.get(str(options.thinking), options.thinking),
        **{field: value for field, value in extra.items() if field not in _RESERVED},
    }
    written = b"".join(
        b",%b:%b" % (_json.encode(key), _json.encode(value))
        for key, value in sorted(settings.items())
        if value is not None
    )
    head = b'{"model":%b,"messages":' % _json.encode(model.name)
    return _Form(head, b',"stream":false' + written + b"}")


def _problems(model: Model) -> Iterator[str]:
    options = model.options
    if options.api == "responses":
        yield "api: 'responses' with ollama, which is asked by its own API; leave it out"
    if isinstance(options.thinking, int):
        yield f"thinking: a budget of {options.thinking} tokens; ollama has none, write off, on, low, medium or high"
    for field in sorted(_RESERVED & options.extra.keys()):
        yield f"extra: `{field}` is written by Overnight and cannot be set; leave it out"
    for field in sorted(_DEEPER & options.extra.keys()):
        yield f"extra: `{field}` belongs one level deeper; write extra: {{options: {{{field}: ...}}}}"
    if not isinstance(options.extra.get("options", {}), dict):
        yield "extra: `options` must be a mapping, such as {num_ctx: 8192}"
