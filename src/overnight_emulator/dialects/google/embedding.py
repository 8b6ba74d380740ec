"""Embeddings as Google writes them: of one content, of several at once, or in a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from overnight_emulator.answers.answering import Models
from overnight_emulator.answers.embedding import Embedder
from overnight_emulator.batches.batch import Usage
from overnight_emulator.batches.rows import Reply
from overnight_emulator.dialects.google.errors import GoogleError
from overnight_emulator.dialects.google.prompts import turns_of

_USUAL_SIZE = 3_072


def content_text(request: Mapping[str, Any]) -> str:
    """The words of the one content of a request."""
    content = request.get("content")
    if not isinstance(content, dict) or not content.get("parts"):
        raise GoogleError(400, "* EmbedContentRequest.content: contents is not specified")
    return "\n".join(turn.text for turn in turns_of({"contents": [content]}))


def embed(embedder: Embedder, models: Models, model: str, request: Mapping[str, Any]) -> Reply:
    text = content_text(request)
    size = request.get("outputDimensionality")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= _USUAL_SIZE):
        raise GoogleError(400, f"Invalid value at 'output_dimensionality': wanted from 1 to {_USUAL_SIZE}.")
    values = embedder.vector(text, model, size or _USUAL_SIZE)
    tokens = models.tokens.of(len(text), model)
    body = {"embedding": {"values": values}, "usageMetadata": {"promptTokenCount": tokens}}
    return Reply(200, body, Usage(input_tokens=tokens))
