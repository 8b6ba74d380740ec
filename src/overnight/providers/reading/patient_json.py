"""JSON that is not quite JSON: half characters, a byte-order mark, bytes that are no text; read as far as it goes."""

import json
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
T = TypeVar("T", bound=msgspec.Struct)
_MOST_DIGITS = 100
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def patient_json(line: bytes) -> Any:
    """Bytes that are no text survive as surrogates, so that they can be told apart. Raises one of UNREADABLE."""
    return json.loads(line.strip().removeprefix(_BYTE_ORDER_MARK).decode("utf-8", "surrogateescape"), parse_int=_number)


def _number(digits: str) -> int | float:
    """Python itself refuses to read thousands of digits; so many are more than any count can be."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float("inf")


def whole(value: Any) -> Any:
    """A copy in which half characters are replaced, at any depth."""
    if isinstance(value, str):
        return mended(value)
    if isinstance(value, list):
        return [whole(part) for part in value]
    if isinstance(value, dict):
        return {mended(key): whole(part) for key, part in value.items()}
    return value


def mended(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def readable_id(custom_id: Any) -> str | None:
    """A custom id that can be joined to something, or None."""
    fits = isinstance(custom_id, str) and custom_id and mended(custom_id) == custom_id
    return custom_id if fits else None


def one_line_json(body: bytes) -> bytes | None:
    """The body without the line breaks that JSON allows between its parts; None when it is no JSON."""
    try:
        return msgspec.json.format(body, indent=-1)
    except UNREADABLE:
        return None


def as_text(body: bytes) -> bytes:
    """A body that is no JSON, as a JSON string: what came with status 200 was run, whatever it is."""
    return msgspec.json.encode(body.decode("utf-8", "replace"))


def fitting(body: bytes, kind: type[T]) -> T:
    """An object without those of its fields that are of another kind than they should be. Raises one of UNREADABLE."""
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE:
        parts = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    found = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name in parts:
            with suppress(*UNREADABLE):
                found[field.encode_name] = msgspec.json.decode(parts[field.encode_name], type=field.type)
    return msgspec.convert(found, kind, from_attributes=True)
