"""Providers' output files, read as they are: one row for each answer, with its verdict and its tokens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.core.files import text_file
from overnight.core.result import Result
from overnight.pairwise._foreign_pairs import foreign_pairs, pair_names, pairs_of_row
from overnight.pairwise._rows import RAW, SEATS, Envelope, envelope_of
from overnight.providers import vendor
from overnight.tasks._pairs.answer_form import TAGS, AnswerForm


@checked
def parse_openai_batch_output(
    path: str | Path, tag_prefix: str = TAGS[0], tag_suffix: str = TAGS[1], *, pairs: Any = None
) -> pl.DataFrame:
    """An output or error file of an OpenAI batch. With `pairs`, rows are joined to them by their custom ids."""
    return _parsed("openai", Path(path), (tag_prefix, tag_suffix), pairs)


@checked
def parse_anthropic_batch_output(
    path: str | Path, tag_prefix: str = TAGS[0], tag_suffix: str = TAGS[1], *, pairs: Any = None
) -> pl.DataFrame:
    """The results of an Anthropic message batch."""
    return _parsed("anthropic", Path(path), (tag_prefix, tag_suffix), pairs)


@checked
def parse_gemini_batch_output(
    path: str | Path, tag_prefix: str = TAGS[0], tag_suffix: str = TAGS[1], *, pairs: Any = None
) -> pl.DataFrame:
    """The responses file of a Gemini batch; rows are found by their keys."""
    return _parsed("gemini", Path(path), (tag_prefix, tag_suffix), pairs)


def _parsed(provider: str, path: Path, tags: tuple[str, str], pairs: Any) -> pl.DataFrame:
    decode = vendor(provider).format.decode
    keyed = None if pairs is None else foreign_pairs(pairs, "pairs")
    names = {} if keyed is None else pair_names(keyed)
    form = AnswerForm(tags=tags)
    rows = []
    for line in _objects(path):
        found = decode(line)
        ids: dict[str, Any] = {}
        if keyed is not None and found.custom_id is not None:
            places = pairs_of_row(found.custom_id, names)
            if not places:
                raise StudyError(f"pairs: the row '{found.custom_id}' could be no pair; give the pairs that were asked")
            ids = keyed.row(places[0], named=True)
        rows.append(_row(found.custom_id, found.result, line, form, ids.get("ID1"), ids.get("ID2")))
    return pl.DataFrame(rows, schema=RAW, orient="row")


def _objects(path: Path) -> Iterator[bytes]:
    """One JSON object after another; also where they are broken into several lines, as examples often are."""
    text = text_file(path, "path")
    decoder, at = json.JSONDecoder(strict=False), 0
    while (at := _next(text, at)) < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            raise StudyError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
        yield msgspec.json.encode(value)
        at = end


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _row(
    name: str | None, result: Result | None, line: bytes, form: AnswerForm, first: str | None, second: str | None
) -> dict[str, Any]:
    told = envelope_of(line)
    if result is None:
        return {"custom_id": name, **_plain(told), "error_message": "the row cannot be read"}
    verdict = form.read(result.answer or "", structured=False).verdict if result.outcome == "answered" else "none"
    seat, position = SEATS.get(verdict, (None, None))
    usage = result.usage
    return {
        "custom_id": name,
        "ID1": first,
        "ID2": second,
        "model": _model(line),
        **_plain(told),
        "error_message": result.detail if result.outcome == "failed" else None,
        "thoughts": result.thoughts,
        "content": result.answer,
        "better_sample": seat,
        "better_id": {1: first, 2: second}.get(position or 0),
        "prompt_tokens": usage.input,
        "prompt_cached_tokens": usage.cached,
        "completion_tokens": usage.output,
        "reasoning_tokens": usage.reasoning,
        "total_tokens": None if usage.input is None or usage.output is None else usage.input + usage.output,
    }


def _plain(told: Envelope) -> dict[str, Any]:
    return msgspec.structs.asdict(told)


_MODEL_PLACES = (
    ("response", "body", "model"),
    ("result", "message", "model"),
    ("response", "modelVersion"),
    ("result", "response", "modelVersion"),
)


def _model(line: bytes) -> str | None:
    """Wherever the provider says it."""
    document = json.loads(line)
    for steps in _MODEL_PLACES:
        value: Any = document
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
            value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str):
            return value
    return None
