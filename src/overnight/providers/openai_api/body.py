"""Requests as OpenAI and its look-alikes read them: an Ask's body, a line of a batch file, and such a line read back.

What does not change from one question to the next is written once per model; a question then costs the
encoding of its words and a few joins of bytes.
"""

from collections.abc import Collection
from functools import lru_cache
from typing import Any, Literal, TypeVar

import msgspec

from overnight.core.ask import Ask, Message, Model, Options, messages_json
from overnight.core.errors import StudyError
from overnight.providers.contract import ReadyLine

Api = Literal["chat", "responses"]

PATHS: dict[Api, str] = {"chat": "/v1/chat/completions", "responses": "/v1/responses"}
_APIS: dict[str, Api] = {path: api for api, path in PATHS.items()}
# What Overnight itself writes into a request, or reads back in a fixed form.
RESERVED: frozenset[str] = frozenset({"model", "messages", "input", "instructions", "stream"})
_MODELS_KEPT = 256

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


def encode(form: Form, ask: Ask) -> bytes:
    """The request body of one question."""
    messages = ask.messages
    try:
        if form.responses:
            return _responses_body(form, messages)
        # Our own Message is already OpenAI's where the role keeps its name.
        own = form.system_role == "system" or all(turn.role != "system" for turn in messages)
        turns = messages_json(messages) if own else _json.encode(_renamed(messages, form.system_role))
        return b"".join((form.head, b',"messages":', turns, form.tail))
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


class _Line(msgspec.Struct):
    custom_id: str | None = None
    method: str | None = None
    url: str | None = None
    body: msgspec.Raw = msgspec.Raw()


class _Body(msgspec.Struct):
    model: str | None = None
    stream: Any = None
    max_tokens: Any = None
    max_completion_tokens: Any = None
    max_output_tokens: Any = None

    @property
    def longest(self) -> int | None:
        limits = (self.max_completion_tokens, self.max_output_tokens, self.max_tokens)
        return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


def read_line(given: bytes, provider: str, urls: Collection[str] = tuple(_APIS)) -> ReadyLine:
    """A line of a ready-made batch file; the StudyError names the field at fault. Without `urls`, lines name none."""
    if given.startswith(b"\xef\xbb\xbf"):
        raise StudyError("the file starts with a byte-order mark; save it as plain UTF-8")
    found = _parsed(given, _Line, "the line")
    if not found.custom_id:
        raise StudyError("custom_id: missing; every line needs its own")
    if urls and found.method != "POST":
        raise StudyError(f"method: {_shown(found.method)}; wanted POST")
    if urls and found.url not in urls:
        raise StudyError(f"url: {_shown(found.url)}; wanted one of {', '.join(urls)}")
    body = bytes(found.body)
    if not body:
        raise StudyError("body: missing; wanted the request as an object")
    asked = _parsed(body, _Body, "body")
    if not asked.model:
        raise StudyError("body.model: missing; wanted the model's name")
    if asked.stream not in (None, False):
        raise StudyError("body.stream: a batch cannot stream; leave it out")
    model = _ready_model(provider, asked.model, _APIS.get(found.url or "", "chat"))
    return ReadyLine(custom_id=found.custom_id, model=model, body=body, max_tokens=asked.longest)


@lru_cache(maxsize=_MODELS_KEPT)
def _ready_model(provider: str, name: str, api: Api) -> Model:
    """One object for all lines of a model, so that its form is made once."""
    return Model(provider=provider, name=name, options=Options(api=api))


def _parsed(given: bytes, into: type[T], where: str) -> T:
    try:
        given.decode()  # what msgspec skips it does not check
        return msgspec.json.decode(given, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{where}: {error}") from None


def _shown(value: str | None) -> str:
    return "missing" if value is None else f"'{value}'"
