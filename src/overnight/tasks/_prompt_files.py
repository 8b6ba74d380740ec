"""Texts that ship with the tasks: templates of questions, forms of answers, traits. Each is a file in `prompts/`."""

from functools import cache
from importlib.resources import files

_ENDING = ".txt"


@cache
def prompt_names(folder: str) -> tuple[str, ...]:
    """What there is in a folder of `prompts/`: `default` first, then by name."""
    found = (files(__package__) / "prompts" / folder).iterdir()
    names = (file.name.removesuffix(_ENDING) for file in found if file.name.endswith(_ENDING))
    return tuple(sorted(names, key=lambda name: (name != "default", name)))


@cache
def prompt_text(folder: str, name: str) -> str:
    return (files(__package__) / "prompts" / folder / f"{name}{_ENDING}").read_text(encoding="utf-8")
