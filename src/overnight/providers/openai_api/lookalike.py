"""Servers that speak OpenAI's chat completions live: one way of talking to them, what differs as data."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from overnight.core.ask import Ask, Model, Thinking
from overnight.core.errors import StudyError
from overnight.core.result import Line, Result
from overnight.providers.contract import Endpoint, Reply
from overnight.providers.endpoints import address_parts, found_key
from overnight.providers.openai_api import body as _openai_body
from overnight.providers.openai_api import live as _openai_live
from overnight.providers.openai_api import rows as _openai_rows
from overnight.providers.wire.calls import LiveWire, ReadRates
from overnight.providers.wire.http import Wire
from overnight.providers.writing import ByModel

_THINK, _THOUGHT = "<think>", "</think>"
_json = msgspec.json.Encoder()


class Lookalike(msgspec.Struct, frozen=True, kw_only=True):
    """What tells one such server from another. `thinking` gives the fields for a setting; None refuses it."""

    name: str
    title: str
    key_variable: str
    base_url_variable: str
    default_base_url: str = ""
    chat_path: str
    models_path: str
    # What an address must have: a path of its own, or none.
    address: str
    needs_key: bool = True
    thinking: Callable[[Thinking], dict[str, Any] | None]
    rates: ReadRates = _openai_live.rates_of
    emulator_path: str
    remarks: str = ""


class LookalikeProvider:
    """One such server at one endpoint. It takes live calls and nothing else."""

    def __init__(self, kind: Lookalike, endpoint: Endpoint) -> None:
        self.name = kind.name
        self.endpoint = endpoint
        self._kind = kind
        self._forms = ByModel(self._form)
        proof = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._wire = Wire(kind.name, endpoint.base_url, proof, secret=endpoint.key)
        self._live = LiveWire(endpoint.base_url, proof, secret=endpoint.key, rates=kind.rates)

    def problems(self, model: Model) -> list[str]:
        return list(_problems(self._kind, model))

    def encode(self, ask: Ask) -> bytes:
        return _openai_body.encode(self._forms.of(ask.arm.model), ask)

    def decode(self, line: bytes) -> Line:
        decoded = _openai_rows.decode(line)
        if decoded.result is None or not (decoded.result.answer or "").startswith(_THINK):
            return decoded
        return Line(decoded.custom_id, _apart(decoded.result), decoded.problem)

    def live_line(self, custom_id: str, reply: Reply) -> bytes:
        return _openai_live.live_line(custom_id, reply)

    async def call(self, model: Model, body: bytes) -> Reply:  # noqa: ARG002 - the body says it all
        return await self._live.call(self._kind.chat_path, body)

    async def check_key(self) -> str:
        await self._wire.ask("list", "GET", self._kind.models_path)
        return f"{self.name} answers at {self.endpoint.base_url}"

    async def close(self) -> None:
        await self._wire.close()
        await self._live.close()

    def _form(self, model: Model) -> _openai_body.Form:
        settings = _settings(self._kind, model)
        written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
        return _openai_body.Form(
            model=model,
            head=b'{"model":' + _json.encode(model.name),
            tail=written + b"}",
            line_middle=b"",
            responses=False,
            system_role="system",
        )


class LookalikeVendor:
    """Such a server, before it is given an endpoint."""

    models: tuple[str, ...] = ()

    def __init__(self, kind: Lookalike) -> None:
        self._kind = kind
        self.name = kind.name
        self.key_variable = kind.key_variable
        self.base_url_variable = kind.base_url_variable
        self.default_base_url = kind.default_base_url
        self.emulator_path = kind.emulator_path

    def endpoint(self, environ: Mapping[str, str], model: Model | None) -> Endpoint:
        kind = self._kind
        own = model.key if model is not None else None
        base_url = (model.base_url if model is not None else None) or environ.get(kind.base_url_variable)
        wanted = kind.needs_key or own is not None or environ.get(kind.key_variable)
        return Endpoint(
            base_url=_checked_url(kind, base_url or kind.default_base_url),
            key=found_key(environ, own or kind.key_variable, kind.title) if wanted else "",
        )

    def connect(self, endpoint: Endpoint) -> LookalikeProvider:
        return LookalikeProvider(self._kind, endpoint)

    def guide(self) -> str:
        kind = self._kind
        key = f"`{kind.key_variable}`" + ("" if kind.needs_key else ", only where the server wants one")
        address = f"`{kind.base_url_variable}`, or `base_url` of a model" + (
            f"; default `{kind.default_base_url}`" if kind.default_base_url else ""
        )
        rows = (("key", key), ("address", address), ("batches", "none: `mode: live`, or `auto`"))
        table = "".join(f"| {name} | {value} |\n" for name, value in rows)
        return f"## {kind.name}\n\n| | |\n|---|---|\n{table}\n{kind.remarks}"


def _checked_url(kind: Lookalike, address: str) -> str:
    where = f"{kind.base_url_variable} or base_url"
    if not address:
        raise StudyError(f"{where}: {kind.name} needs an address, such as {kind.address}")
    parts = address_parts(address, where, kind.address)
    has_path, wants_path = bool(parts.path.strip("/")), kind.address.count("/") > 2
    if parts.query or parts.fragment or (wants_path and not has_path):
        raise StudyError(f"{where}: '{address}' must include the path of the API, as in {kind.address}")
    given = address.strip().rstrip("/")
    # Older SDKs of a vendor may want the version in the address, where newer ones do not.
    return given if wants_path else given.removesuffix("/v1")


def _settings(kind: Lookalike, model: Model) -> dict[str, Any]:
    options = model.options
    schema = options.json_schema
    named = schema and {"name": str(schema.get("title") or "answer"), "schema": schema, "strict": True}
    settings = {
        "max_tokens": options.max_tokens,
        "temperature": options.temperature,
        "top_p": options.top_p,
        "seed": options.seed,
        "stop": list(options.stop) or None,
        "response_format": named and {"type": "json_schema", "json_schema": named},
        **((options.thinking is not None and kind.thinking(options.thinking)) or {}),
    }
    chosen = {field: value for field, value in settings.items() if value is not None}
    return chosen | {field: value for field, value in options.extra.items() if field not in _openai_body.RESERVED}


def _problems(kind: Lookalike, model: Model) -> Iterator[str]:
    options = model.options
    if options.api == "responses":
        yield f"api: 'responses' with {kind.name}, which is asked by chat completions; leave it out"
    if options.thinking is not None and kind.thinking(options.thinking) is None:
        yield f"thinking: {options.thinking!r} has no counterpart at {kind.name}; write off, on, low, medium or high"
    for field in sorted(_openai_body.RESERVED & options.extra.keys()):
        yield f"extra: `{field}` is written by Overnight and cannot be set; leave it out"


def _apart(result: Result) -> Result:
    """Thoughts that a model writes in front of its answer; one that never came to an answer only thought."""
    thoughts, closed, answer = (result.answer or "").removeprefix(_THINK).partition(_THOUGHT)
    if not closed and result.outcome != "truncated":
        return result
    return msgspec.structs.replace(result, answer=answer.lstrip(), thoughts=result.thoughts or thoughts.strip() or None)
