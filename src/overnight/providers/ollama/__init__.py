"""Ollama: local models by its own API, live, one model in memory at a time."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from overnight.core.ask import Ask, Model
from overnight.core.errors import StudyError
from overnight.core.result import Line
from overnight.providers.contract import Endpoint, Reply, Vendor
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.ollama import rows as _ollama_rows
from overnight.providers.reading.patient_json import UNREADABLE
from overnight.providers.wire.calls import LiveWire
from overnight.providers.wire.http import Wire
from overnight.providers.writing import ByModel

__all__ = ["Ollama", "OllamaVendor", "provider"]

_RESERVED = frozenset({"model", "messages", "stream"})
# Fields of a request that people know from `ollama run`, and that the API wants one level deeper.
_DEEPER = frozenset(
    {"num_ctx", "top_k", "min_p", "repeat_penalty", "repeat_last_n", "num_gpu", "num_thread", "mirostat"}
)
_GUIDE = """\
## ollama

| | |
|---|---|
| key | `OLLAMA_API_KEY`, only where the server wants one |
| address | `OLLAMA_HOST`, or `base_url` of a model; default `http://127.0.0.1:11434` |
| batches | none: `mode: live`, or `auto` |

Asked by `/api/chat`. `max_tokens` is sent as `num_predict`, `thinking` as `think` (off, on, or a level; a token
budget is refused), `json_schema` as `format`. The size of the context is set by `extra: {options: {num_ctx: 8192}}`:
a longer prompt is cut by the server without a word. `extra: {keep_alive: 1h}` keeps a model in memory for longer.

Models take turns: all rows of one are asked before the next is loaded, the one in memory first, and the others are
unloaded. How many calls run side by side is the server's own setting (`OLLAMA_NUM_PARALLEL`); Overnight finds it out.
"""
_json = msgspec.json.Encoder()


class _Loaded(msgspec.Struct):
    name: str


class _Running(msgspec.Struct):
    models: list[_Loaded] = []


class _Form(msgspec.Struct, frozen=True, gc=False):
    """The bytes around the messages of every request of one model."""

    head: bytes
    tail: bytes


class Ollama:
    """One Ollama server."""

    name = "ollama"

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._forms = ByModel(_form_of)
        proof = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._wire = Wire(self.name, endpoint.base_url, proof, secret=endpoint.key)
        self._live = LiveWire(endpoint.base_url, proof, secret=endpoint.key)

    def problems(self, model: Model) -> list[str]:
        return list(_problems(model))

    def encode(self, ask: Ask) -> bytes:
        form = self._forms.of(ask.arm.model)
        try:
            return b"%b%b%b" % (form.head, _json.encode(ask.messages), form.tail)
        except UnicodeEncodeError:
            raise StudyError(f"item '{ask.item}': the text holds half a character, which JSON cannot carry") from None

    def decode(self, line: bytes) -> Line:
        return _ollama_rows.decode(line)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return _ollama_rows.live_line(custom_id, reply)

    async def call(self, model: Model, body: bytes) -> Reply:  # noqa: ARG002 - the body says it all
        return await self._live.call("/api/chat", body)

    async def loaded(self) -> list[str]:
        """The models in memory."""
        reply = await self._wire.ask("list", "GET", "/api/ps")
        try:
            return [one.name for one in msgspec.json.decode(reply.body, type=_Running).models]
        except UNREADABLE:
            return []

    async def unload(self, model_name: str) -> None:
        await self._live.call("/api/generate", _json.encode({"model": model_name, "keep_alive": 0}))

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", "/api/tags")
        return f"ollama answers at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()


class OllamaVendor:
    """Ollama, before it is given an endpoint."""

    name = "ollama"
    key_variable = "OLLAMA_API_KEY"
    base_url_variable = "OLLAMA_HOST"
    default_base_url = "http://127.0.0.1:11434"
    models: tuple[str, ...] = ()
    emulator_path = "/ollama"

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        own = model.key if model is not None else None
        address = (model.base_url if model is not None else None) or environ.get(self.base_url_variable)
        wants_key = own is not None or environ.get(self.key_variable)
        return Endpoint(
            base_url=_address(address or self.default_base_url),
            key=found_key(environ, own or self.key_variable, "Ollama") if wants_key else "",
        )

    def connect(self, endpoint: Endpoint) -> Ollama:
        return Ollama(endpoint)

    def guide(self) -> str:
        return _GUIDE


provider: Vendor = OllamaVendor()


def _address(given: str) -> str:
    """As Ollama's own programs read it: a host, a host with a port, or a whole address."""
    text = given.strip().rstrip("/")
    if "://" not in text:
        host, _, port = text.rpartition(":")
        text = f"http://{text}" if host and port.isdigit() else f"http://{text}:11434"
    address_parts(text, "OLLAMA_HOST or base_url", "http://127.0.0.1:11434")
    return text.replace("://0.0.0.0", "://127.0.0.1")


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
