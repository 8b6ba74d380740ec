"""Requests as OpenAI reads them: an Ask's body, a line of a batch file, and such a line read back.

What does not change from one question to the next is written once per model; a question then costs the
encoding of its words and a few joins of bytes.
"""

import re
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from overnight.core.ask import Ask, Message, Model, Options
from overnight.core.errors import StudyError
from overnight.providers._contract import ReadyLine
from overnight.providers._openai_families import Api, api_of, effort_of, family_of
from overnight.providers._openai_problems import RESERVED

PATHS: dict[Api, str] = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
_APIS: dict[str, Api] = {path: api for api, path in PATHS.items()}
_MODELS_KEPT = 256
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")

T = TypeVar("T")
_json = msgspec.json.Encoder()


class Form(msgspec.Struct, frozen=True, gc=False):
    """The bytes that are the same in every request of one model."""

    model: Model
    head: bytes
    tail: bytes
    line_middle: bytes
    responses: bool
    system_role: str


class _Turn(msgspec.Struct, gc=False):
    role: str
    content: str


def form_of(model: Model) -> Form:
    api = api_of(model)
    settings = _settings(model, api)
    written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
    return Form(
        model=model,
        head=b'{"model":' + _json.encode(model.name),
        tail=written + b"}",
        line_middle=b',"method":"POST","url":' + _json.encode(PATHS[api]) + b',"body":',
        responses=api == "responses",
        system_role=family_of(model.name).system_role,
    )


def encode(form: Form, ask: Ask) -> bytes:
    """The request body of one question."""
    messages = ask.messages
    try:
        if form.responses:
            return _responses_body(form, messages)
        # Our own Message is already OpenAI's where the role keeps its name.
        turns = messages if form.system_role == "system" else _renamed(messages, form.system_role)
        return b"".join((form.head, b',"messages":', _json.encode(turns), form.tail))
    except UnicodeEncodeError:
        raise StudyError(f"item '{ask.item}': the text holds half a character, which JSON cannot carry") from None


def line(form: Form, custom_id: str, body: bytes) -> bytes:
    """One line of a batch file, without its newline."""
    return b"".join((b'{"custom_id":', _json.encode(custom_id), form.line_middle, body, b"}"))


def _responses_body(form: Form, messages: tuple[Message, ...]) -> bytes:
    if messages and messages[0].role == "system":
        turns = _renamed(messages[1:], form.system_role)
        instructions = _json.encode(messages[0].content)
        return b'%b,"instructions":%b,"input":%b%b' % (form.head, instructions, _json.encode(turns), form.tail)
    return b'%b,"input":%b%b' % (form.head, _json.encode(_renamed(messages, form.system_role)), form.tail)


def _renamed(messages: tuple[Message, ...], system_role: str) -> list[Message | _Turn]:
    return [_Turn(system_role, turn.content) if turn.role == "system" else turn for turn in messages]


def _settings(model: Model, api: Api) -> dict[str, Any]:
    options = model.options
    settings = _chat_settings(model) if api == "chat" else _responses_settings(model)
    settings |= {"temperature": options.temperature, "top_p": options.top_p}
    chosen = {field: value for field, value in settings.items() if value is not None}
    return chosen | {field: value for field, value in options.extra.items() if field not in RESERVED}


def _chat_settings(model: Model) -> dict[str, Any]:
    options = model.options
    schema = _named_schema(options)
    return {
        family_of(model.name).cap: options.max_tokens,
        "reasoning_effort": effort_of(model),
        "seed": options.seed,
        "stop": list(options.stop) or None,
        "response_format": schema and {"type": "json_schema", "json_schema": schema},
    }


def _responses_settings(model: Model) -> dict[str, Any]:
    effort = effort_of(model)
    schema = _named_schema(model.options)
    # Summaries are asked for only with thinking: some accounts must be verified before they get any.
    summary = {} if effort in (None, "none") else {"summary": "auto"}
    return {
        "max_output_tokens": model.options.max_tokens,
        "reasoning": effort and {"effort": effort, **summary},
        "text": schema and {"format": {"type": "json_schema", **schema}},
    }


def _named_schema(options: Options) -> dict[str, Any] | None:
    """The schema with its fields in the order they were given: models write their answer in that order."""
    if options.json_schema is None:
        return None
    title = _NOT_IN_A_NAME.sub("_", str(options.json_schema.get("title", ""))).strip("_")[:64]
    return {"name": title or "answer", "schema": options.json_schema, "strict": True}


class _Line(msgspec.Struct):
    custom_id: str | None = None
    method: str | None = None
    url: str | None = None
    body: msgspec.Raw = msgspec.Raw()


class _Body(msgspec.Struct):
    model: str | None = None
    stream: Any = None


def read_line(given: bytes) -> ReadyLine:
    """A line of a ready-made batch file; the StudyError names the field at fault."""
    if given.startswith(b"\xef\xbb\xbf"):
        raise StudyError("the file starts with a byte-order mark; save it as plain UTF-8")
    found = _parsed(given, _Line, "the line")
    if not found.custom_id:
        raise StudyError("custom_id: missing; every line needs its own")
    if found.method != "POST":
        raise StudyError(f"method: {_shown(found.method)}; wanted POST")
    if found.url not in _APIS:
        raise StudyError(f"url: {_shown(found.url)}; wanted one of {', '.join(_APIS)}")
    body = bytes(found.body)
    if not body:
        raise StudyError("body: missing; wanted the request as an object")
    asked = _parsed(body, _Body, "body")
    if not asked.model:
        raise StudyError("body.model: missing; wanted the model's name")
    if asked.stream not in (None, False):
        raise StudyError("body.stream: a batch cannot stream; leave it out")
    return ReadyLine(custom_id=found.custom_id, model=_ready_model(asked.model, _APIS[found.url]), body=body)


@lru_cache(maxsize=_MODELS_KEPT)
def _ready_model(name: str, api: Api) -> Model:
    """One object for all lines of a model, so that its form is made once."""
    return Model(provider="openai", name=name, options=Options(api=api))


def _parsed(given: bytes, into: type[T], where: str) -> T:
    try:
        given.decode()  # what msgspec skips it does not check
        return msgspec.json.decode(given, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{where}: {error}") from None


def _shown(value: str | None) -> str:
    return "missing" if value is None else f"'{value}'"
