"""Prompts as a study: each is a row of its own, named by its place, so that no answer can move to another."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overnight.core.errors import WrongArgument
from overnight.core.wording import found_text, number_of
from overnight.study import Study
from overnight.tasks._specs.speceval_flags import run_name

# What SpecEval calls the text of a prompt, where a prompt is a mapping with more in it.
TEXT = "input_text"
_LONGEST_MODEL = 60
_DIGITS = 16

Conversation = list[dict[str, str]]


def conversations(
    prompts: Sequence[str | Mapping[str, Any]], systems: Sequence[str | None] | None
) -> list[Conversation]:
    """What is asked, in the order of the prompts."""
    if not prompts:
        raise WrongArgument("prompts: the list is empty")
    if systems is not None and len(systems) != len(prompts):
        counts = f"{number_of(len(systems), 'text')} for {number_of(len(prompts), 'prompt')}"
        raise WrongArgument(f"system_prompts: {counts}; wanted one for each, or None where a prompt has none")
    texts = [_text(prompt, place) for place, prompt in enumerate(prompts)]
    return [
        [*([{"role": "system", "content": system}] if system else []), {"role": "user", "content": text}]
        for text, system in zip(texts, systems or [None] * len(texts), strict=True)
    ]


def _text(prompt: str | Mapping[str, Any], place: int) -> str:
    text = prompt.get(TEXT) if isinstance(prompt, Mapping) else prompt
    where = f"prompts[{place}]" if isinstance(prompt, str) else f"prompts[{place}].{TEXT}"
    if not isinstance(text, str):
        raise WrongArgument(f"{where}: wanted text, found {found_text(text)}")
    if not text.strip():
        raise WrongArgument(f"{where}: the text is empty")
    return text


def batch_study(asked: Sequence[Conversation], called: str, entry: Mapping[str, Any], pace: Mapping[str, Any]) -> Study:
    """The same prompts to the same model are the same run, whoever asks: that is what its name is made of."""
    # That a name is no typing error changes no answer.
    telling = {name: value for name, value in entry.items() if name != "new"}
    question = msgspec.json.encode({"of": called, "model": telling, "asked": asked}, order="sorted")
    model = run_name("batch", called)[:_LONGEST_MODEL]
    items = [{"id": str(place), "messages": one} for place, one in enumerate(asked)]
    written = {
        "name": f"{model}-{hashlib.sha256(question).hexdigest()[:_DIGITS]}",
        "task": "generate",
        "items": items,
        "id": "id",
        "messages": "messages",
        "models": [dict(entry)],
        **pace,
    }
    return Study.from_mapping(written, "generate_batch")
