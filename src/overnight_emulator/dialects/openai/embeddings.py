"""Embeddings: vectors of texts, as OpenAI writes them, live or in a batch."""

from __future__ import annotations

import struct
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.openai.errors import ApiError
from overnight_emulator.patterns import value_for

_SIZES = {"text-embedding-3-large*": 3_072, "nomic-embed-text*": 768, "default": 1_536}
_MOST_TEXTS = 2_048
_MOST_TOKENS = 8_192


def embed(embedder: Embedder, models: Models, body: Mapping[str, Any]) -> Reply:
    model, texts = str(body.get("model")), texts_of(body)
    size, form = _size(body, model), body.get("encoding_format") or "float"
    if form not in {"float", "base64"}:
        raise _invalid("encoding_format", f"'{form}'. Supported values are: 'float' and 'base64'.")
    data = [
        {"object": "embedding", "index": place, "embedding": _written(embedder.vector(text, model, size), form)}
        for place, text in enumerate(texts)
    ]
    tokens = models.tokens.of(sum(map(len, texts)), model)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Reply(200, {"object": "list", "data": data, "model": model, "usage": usage}, Usage(input_tokens=tokens))


def texts_of(body: Mapping[str, Any]) -> list[str]:
    """The texts that are wanted. Lists of token numbers are taken as texts of their own."""
    given = body.get("input")
    if given is None:
        raise ApiError(400, "Missing required parameter: 'input'.", param="input", code="missing_required_parameter")
    listed = [given] if isinstance(given, str) or _is_tokens(given) else given
    if not isinstance(listed, list) or not listed or len(listed) > _MOST_TEXTS:
        raise _invalid("input", f"wanted a string, or from 1 to {_MOST_TEXTS} of them.")
    for one in listed:
        if not (isinstance(one, str) and one) and not _is_tokens(one):
            raise _invalid("input", "wanted strings that are not empty, or lists of token numbers.")
    return [one if isinstance(one, str) else " ".join(map(str, one)) for one in listed]


def _is_tokens(value: Any) -> bool:
    return (
        isinstance(value, list)
        and 0 < len(value) <= _MOST_TOKENS
        and all(isinstance(one, int) and not isinstance(one, bool) for one in value)
    )


def _size(body: Mapping[str, Any], model: str) -> int:
    largest = value_for(model, _SIZES, otherwise=_SIZES["default"])
    asked = body.get("dimensions")
    if asked is None:
        return largest
    if model.startswith("text-embedding-ada"):
        raise _invalid("dimensions", "this model does not support specifying dimensions.")
    if not isinstance(asked, int) or isinstance(asked, bool) or not 1 <= asked <= largest:
        raise _invalid("dimensions", f"wanted a whole number from 1 to {largest}, got {asked!r}.")
    return asked


def _written(vector: list[float], form: str) -> Any:
    return vector if form == "float" else b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _invalid(param: str, why: str) -> ApiError:
    return ApiError(400, f"Invalid '{param}': {why}", param=param, code="invalid_value")
