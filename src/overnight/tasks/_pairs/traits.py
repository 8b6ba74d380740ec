"""Traits that samples are judged by: those that ship with the task, by name."""

import msgspec

from overnight.core.errors import UnknownName, nearest
from overnight.core.wording import quoted
from overnight.tasks._prompt_files import prompt_names, prompt_text


class Trait(msgspec.Struct, frozen=True):
    """As a prompt names and describes it."""

    name: str
    description: str


def trait_names() -> tuple[str, ...]:
    return prompt_names("traits")


def known_trait(name: str) -> Trait:
    known = trait_names()
    if name not in known:
        raise UnknownName(f"unknown trait {quoted(name)}{nearest(name, known)} (known: {', '.join(known)})")
    title, _, description = prompt_text("traits", name).partition("\n")
    return Trait(title, description.strip())
