"""Prompt templates and traits: those that come with Overnight, and those registered in this session."""

from pathlib import Path
from typing import NamedTuple

from overnight.core.arguments import checked
from overnight.core.errors import StudyError, UnknownName, nearest
from overnight.core.files import text_file
from overnight.core.template import Template
from overnight.core.wording import quoted
from overnight.tasks._pairs.answer_form import AnswerForm
from overnight.tasks._pairs.questions import PLACES
from overnight.tasks._pairs.traits import known_trait
from overnight.tasks._prompt_files import prompt_names, prompt_text

_REGISTERED: dict[str, str] = {}


class TraitDescription(NamedTuple):
    """A trait as prompts say it."""

    name: str
    description: str


@checked
def trait_description(
    name: str = "overall_quality", custom_name: str | None = None, custom_description: str | None = None
) -> TraitDescription:
    """A built-in trait by its name, or one of your own."""
    if custom_description is not None:
        return TraitDescription(custom_name or "Custom trait", custom_description)
    trait = known_trait(name)
    return TraitDescription(trait.name, trait.description)


@checked
def set_prompt_template(template: str | None = None, file: str | Path | None = None) -> str:
    """The default template, or one of your own from a text or a file, checked."""
    if template is None and file is None:
        return get_prompt_template("default")
    text = template if template is not None else _read(file)
    missing = [place for place in PLACES if f"{{{place}}}" not in text]
    if missing:
        raise StudyError(f"template: {', '.join(f'{{{place}}}' for place in missing)} must stand in it")
    return text


def _read(file: str | Path | None) -> str:
    return text_file(Path(file or ""), "file")


@checked
def get_prompt_template(name: str = "default") -> str:
    """A template by its name, whole: with the form that the answer is to have."""
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name in prompt_names("compare"):
        return AnswerForm().asked_in(prompt_text("compare", name), structured=False)
    known = (*prompt_names("compare"), *_REGISTERED)
    raise UnknownName(f"unknown template {quoted(name)}{nearest(name, known)} (known: {', '.join(known)})")


@checked
def register_prompt_template(
    name: str, template: str | None = None, file: str | Path | None = None, overwrite: bool = False
) -> str:
    """Give a template a name for the rest of this session."""
    if template is None and file is None:
        raise StudyError("register_prompt_template: wanted template or file")
    if name in prompt_names("compare"):
        raise StudyError(f"name: '{name}' comes with Overnight; choose another")
    if name in _REGISTERED and not overwrite:
        raise StudyError(f"name: '{name}' is registered already; overwrite=True replaces it")
    _REGISTERED[name] = set_prompt_template(template, file)
    return _REGISTERED[name]


@checked
def remove_prompt_template(name: str, quiet: bool = False) -> bool:
    """Forget a registered template; whether there was one."""
    if name in prompt_names("compare"):
        raise StudyError(f"name: '{name}' comes with Overnight and cannot be removed")
    if name not in _REGISTERED and not quiet:
        raise UnknownName(f"no template {quoted(name)} is registered{nearest(name, _REGISTERED)}")
    return _REGISTERED.pop(name, None) is not None


@checked
def list_prompt_templates(include_builtin: bool = True, include_registered: bool = True) -> list[str]:
    builtin = prompt_names("compare") if include_builtin else ()
    return sorted({*builtin, *(_REGISTERED if include_registered else ())})


@checked
def build_prompt(template: str, trait_name: str, trait_desc: str, text1: str, text2: str) -> str:
    """The template with trait and samples put in, all at once: what is put in is never looked at again."""
    return Template(template).render(dict(zip(PLACES, (trait_name, trait_desc, text1, text2), strict=True)))
