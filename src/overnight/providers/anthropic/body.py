"""Requests as Anthropic reads them: an Ask's parameters, a line of a batch file, and such a line read back.

What does not change from one question to the next is written once per model, as for every vendor.
"""

import re
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from overnight.core.ask import Ask, Message, Model, Options
from overnight.core.errors import StudyError
from overnight.providers.anthropic.families import (
    OLDER,
    VERSION_FIELD,
    budget_of,
    family_of,
    max_tokens_of,
    sampling,
)
from overnight.providers.anthropic.problems import RESERVED
from overnight.providers.contract import ReadyLine

_MODELS_KEPT = 256
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

T = TypeVar("T")
_json = msgspec.json.Encoder()


class Form(msgspec.Struct, frozen=True, gc=False):
    """The bytes that are the same in every request of one model."""

    model: Model
    head: bytes
    tail: bytes
    prefill: bool


def form_of(model: Model) -> Form:
    settings = _settings(model)
    written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
    return Form(
        model=model,
        head=b'{"model":' + _json.encode(model.name),
        tail=written + b"}",
        prefill=family_of(model.name).prefill,
    )


def encode(form: Form, ask: Ask) -> bytes:
    """The parameters of one question: the same in a batch and live."""
    system, turns = _apart(ask)
    if turns and turns[-1].role == "assistant" and not form.prefill:
        raise StudyError(
            f"item '{ask.item}': the last turn is the assistant's, and {form.model.name} does not go on from there; "
            f"end with a user's turn"
        )
    try:
        spoken = _json.encode(turns)
        told = b',"system":' + _json.encode(system) if system is not None else b""
    except UnicodeEncodeError:
        raise StudyError(f"item '{ask.item}': the text holds half a character, which JSON cannot carry") from None
    return b'%b%b,"messages":%b%b' % (form.head, told, spoken, form.tail)


def line(custom_id: str, body: bytes) -> bytes:
    """One line of a batch file, without its newline."""
    return b'{"custom_id":%b,"params":%b}' % (_json.encode(custom_id), body)


def _apart(ask: Ask) -> tuple[str | None, tuple[Message, ...]]:
    """The system prompt has a place of its own, and there is one of it."""
    messages = ask.messages
    count = next((place for place, turn in enumerate(messages) if turn.role != "system"), len(messages))
    turns = messages[count:]
    if any(turn.role == "system" for turn in turns):
        raise StudyError(f"item '{ask.item}': a system message after the first turn; Anthropic takes them at the start")
    return "\n\n".join(turn.content for turn in messages[:count]) if count else None, turns


def _settings(model: Model) -> dict[str, Any]:
    options = model.options
    form = options.json_schema and {"type": "json_schema", "schema": options.json_schema}
    output = {"effort": _effort(model), "format": form}
    settings: dict[str, Any] = {
        "max_tokens": max_tokens_of(model),
        "stop_sequences": list(options.stop) or None,
        "thinking": _thinking(model),
        "output_config": {field: value for field, value in output.items() if value} or None,
        **sampling(model),
    }
    chosen = {field: value for field, value in settings.items() if value is not None}
    return chosen | {field: value for field, value in options.extra.items() if field not in RESERVED}


def _thinking(model: Model) -> dict[str, Any] | None:
    """None sends nothing: it is unset, or off where that goes without saying."""
    thinking, family = model.options.thinking, family_of(model.name)
    budget = budget_of(model)
    if budget is not None:
        return {"type": "enabled", "budget_tokens": budget}
    if thinking is None or family.thinks == "never":
        return None
    if thinking == "off":
        return {"type": family.off} if family.off else None
    return {"type": "adaptive", "display": "summarized"}


def _effort(model: Model) -> str | None:
    thinking, family = model.options.thinking, family_of(model.name)
    levels = family.thinks in ("adaptive", "unknown") and isinstance(thinking, str) and thinking not in ("on", "off")
    return str(thinking) if levels else None


class _Line(msgspec.Struct):
    custom_id: str | None = None
    params: msgspec.Raw = msgspec.Raw()


class _Params(msgspec.Struct):
    model: str | None = None
    max_tokens: int | None = None
    stream: Any = None
    temperature: Any = None
    top_p: Any = None
    top_k: Any = None

    @property
    def samples(self) -> bool:
        return any(value is not None for value in (self.temperature, self.top_p, self.top_k))


def read_line(given: bytes) -> ReadyLine:
    """A line of a ready-made batch file; the StudyError names the field at fault."""
    if given.startswith(b"\xef\xbb\xbf"):
        raise StudyError("the file starts with a byte-order mark; save it as plain UTF-8")
    found = _parsed(given, _Line, "the line")
    if not found.custom_id:
        raise StudyError("custom_id: missing; every line needs its own")
    if not _ID.fullmatch(found.custom_id):
        raise StudyError(f"custom_id: '{found.custom_id[:80]}'; wanted up to 64 letters, digits, '_' and '-'")
    params = bytes(found.params)
    if not params:
        raise StudyError("params: missing; wanted the request as an object")
    asked = _parsed(params, _Params, "params")
    if not asked.model:
        raise StudyError("params.model: missing; wanted the model's name")
    if asked.max_tokens is None:
        raise StudyError("params.max_tokens: missing; Anthropic wants a limit for every answer")
    if asked.stream not in (None, False):
        raise StudyError("params.stream: a batch cannot stream; leave it out")
    model = _ready_model(asked.model, asked.samples)
    return ReadyLine(custom_id=found.custom_id, model=model, body=params, max_tokens=asked.max_tokens)


@lru_cache(maxsize=_MODELS_KEPT)
def _ready_model(name: str, samples: bool) -> Model:
    """One object for all lines of a model: what is looked up by identity is looked up once."""
    extra = {VERSION_FIELD: OLDER} if samples else {}
    return Model(provider="anthropic", name=name, options=Options(extra=extra))


def _parsed(given: bytes, into: type[T], where: str) -> T:
    try:
        given.decode()  # what msgspec skips it does not check
        return msgspec.json.decode(given, type=into)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"{where}: {error}") from None
