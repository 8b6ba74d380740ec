"""Requests as Google reads them: an Ask's body, a line of a batch file, and such a line read back.

What does not change from one question to the next is written once per model; a question then costs the
encoding of its words and a few joins of bytes.
"""

from functools import lru_cache
from typing import Any, Literal

import msgspec

from overnight.core.ask import Ask, Message, Model, Options
from overnight.core.errors import StudyError
from overnight.providers.contract import ReadyLine
from overnight.providers.google_api.families import family_of, thinking_config
from overnight.providers.google_api.schema import UnwritableSchemaError, smaller

IdField = Literal["key", "custom_id"]

# What Overnight itself writes into a request.
RESERVED: frozenset[str] = frozenset({"model", "contents", "systemInstruction", "system_instruction"})
_MODELS_KEPT = 256
_ROLES = {"assistant": "model", "user": "user"}

_json = msgspec.json.Encoder()


class Form(msgspec.Struct, frozen=True, gc=False):
    """The bytes that are the same in every request of one model."""

    tail: bytes


def form_of(model: Model, *, imported: bool = False) -> Form:
    """`imported`: for a provider that reads its input through an importer of tables."""
    extra = {field: value for field, value in model.options.extra.items() if field not in RESERVED}
    config = _generation_config(model, imported=imported)
    config |= {**extra.pop("generation_config", {}), **extra.pop("generationConfig", {})}
    settings = extra | ({"generationConfig": config} if config else {})
    written = b"".join(b",%b:%b" % (_json.encode(key), _json.encode(settings[key])) for key in sorted(settings))
    return Form(written + b"}")


def encode(form: Form, ask: Ask) -> bytes:
    """The request body of one question."""
    system = [{"text": turn.content} for turn in ask.messages if turn.role == "system"]
    contents = [_content(turn) for turn in ask.messages if turn.role != "system"]
    try:
        head = b'{"systemInstruction":{"parts":%b},' % _json.encode(system) if system else b"{"
        return b'%b"contents":%b%b' % (head, _json.encode(contents), form.tail)
    except UnicodeEncodeError:
        raise StudyError(f"item '{ask.item}': the text holds half a character, which JSON cannot carry") from None


def line(id_field: IdField, custom_id: str, body: bytes) -> bytes:
    """One line of a batch file, without its newline."""
    return b'{"%b":%b,"request":%b}' % (id_field.encode(), _json.encode(custom_id), body)


def with_model(name: str, body: bytes) -> bytes:
    """The body of one question, with the model it is for; `read_line` takes it out again."""
    return b'{"model":%b,%b' % (_json.encode(f"models/{name}"), body.removeprefix(b"{"))


def _content(turn: Message) -> dict[str, Any]:
    return {"role": _ROLES[turn.role], "parts": [{"text": turn.content}]}


def _generation_config(model: Model, *, imported: bool) -> dict[str, Any]:
    options = model.options
    settings = {
        "maxOutputTokens": options.max_tokens,
        "temperature": options.temperature,
        "topP": options.top_p,
        "seed": options.seed,
        "stopSequences": list(options.stop) or None,
        "thinkingConfig": thinking_config(model),
        **_schema_settings(model, imported=imported),
    }
    return {field: value for field, value in settings.items() if value is not None}


def _schema_settings(model: Model, *, imported: bool) -> dict[str, Any]:
    schema = model.options.json_schema
    if schema is None:
        return {}
    as_json = {"responseMimeType": "application/json"}
    if family_of(model.name).json_schema and not imported:
        return as_json | {"responseJsonSchema": schema}
    try:
        return as_json | {"responseSchema": smaller(schema)}
    except UnwritableSchemaError:  # refused by `problems` before anything is sent
        return as_json


class _Line(msgspec.Struct):
    key: str | None = None
    custom_id: str | None = None
    request: dict[str, Any] | None = None


def read_line(given: bytes, provider: str, id_field: IdField) -> ReadyLine:
    """A line of a ready-made batch file; the StudyError names the field at fault."""
    if given.startswith(b"\xef\xbb\xbf"):
        raise StudyError("the file starts with a byte-order mark; save it as plain UTF-8")
    try:
        found = msgspec.json.decode(given, type=_Line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise StudyError(f"the line: {error}") from None
    custom_id = found.key if id_field == "key" else found.custom_id
    if not custom_id:
        raise StudyError(f"{id_field}: missing; every line needs its own")
    if not found.request or not found.request.get("contents"):
        raise StudyError("request: missing, or without contents; wanted a generateContent request")
    request = dict(found.request)
    name = request.pop("model", None)
    if not isinstance(name, str) or not name:
        raise StudyError(f"request.model: missing; write the model to ask, as in {provider}'s models/gemini-2.5-flash")
    return ReadyLine(
        custom_id=custom_id,
        model=_ready_model(provider, name.rsplit("/", 1)[-1]),
        body=_json.encode(request),
        max_tokens=_longest(request),
    )


def _longest(request: dict[str, Any]) -> int | None:
    config = request.get("generationConfig") or request.get("generation_config")
    known = config if isinstance(config, dict) else {}
    limit = known.get("maxOutputTokens", known.get("max_output_tokens"))
    return limit if isinstance(limit, int) and limit > 0 else None


@lru_cache(maxsize=_MODELS_KEPT)
def _ready_model(provider: str, name: str) -> Model:
    """One object for all lines of a model, so that its form is made once."""
    return Model(provider=provider, name=name, options=Options())
