"""What is asked: an inline prompt, templates in files or in place, or a column of messages; and the system text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from overnight.core.errors import nearest
from overnight.core.template import Template
from overnight.study.origin import Origin, Route
from overnight.study.utf8 import read_text
from overnight.tasks.generate import turn_templates

_WAYS = ("prompt", "templates", "messages")


class TemplateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A template written in the study itself, under a name of its own."""

    name: str
    text: str


class Asked(Protocol):
    """The part of a study that is read here."""

    @property
    def prompt(self) -> str | None: ...
    @property
    def templates(self) -> Sequence[str | TemplateEntry] | None: ...
    @property
    def messages(self) -> str | None: ...
    @property
    def system(self) -> str | None: ...
    @property
    def turns(self) -> Sequence[str] | None: ...


class Prompts(NamedTuple):
    """Templates by name, in the order they were listed, each with its place; none with a column of messages."""

    templates: dict[str, Template]
    routes: dict[str, Route]
    messages: str | None
    system: Template | None
    turns: tuple[Template, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The first part of the arms' names."""
        return tuple(self.templates) or ("messages",)


def check_prompts(asked: Asked, origin: Origin, *, needed: bool = True) -> None:
    """Everything that can be known without opening a file. `needed`: the task brings no templates of its own."""
    given = [way for way in _WAYS if getattr(asked, way) is not None]
    if needed and len(given) != 1:
        found = " and ".join(given) or "none of them"
        raise origin.error((), f"wanted one of `prompt`, `templates` and `messages`, found {found}")
    if asked.templates is not None and not asked.templates:
        raise origin.error(("templates",), "the list is empty")
    if asked.turns is not None and not asked.turns:
        raise origin.error(("turns",), "the list is empty")
    if asked.messages is not None and not asked.messages.strip():
        raise origin.error(("messages",), "wanted the name of a column")
    for route, text in _texts(asked):
        _check_text(text, origin, route)


def _texts(asked: Asked) -> list[tuple[Route, str]]:
    texts: list[tuple[Route, str]] = [
        ((field,), text) for field in ("prompt", "system") if (text := getattr(asked, field)) is not None
    ]
    for index, entry in enumerate(asked.templates or ()):
        if isinstance(entry, TemplateEntry):
            texts += [(("templates", index, "name"), entry.name), (("templates", index, "text"), entry.text)]
        else:
            texts.append((("templates", index), entry))
    return texts + [(("turns", index), text) for index, text in enumerate(asked.turns or ())]


def _check_text(text: str, origin: Origin, route: Route) -> None:
    if not text.strip():
        raise origin.error(route, "the text is empty")


def read_prompts(asked: Asked, origin: Origin, shipped: Mapping[str, str] | None = None) -> Prompts:
    """`shipped` are the templates that the task brings, by name: `default` is used where none is listed."""
    known = shipped or {}
    templates: dict[str, Template] = {}
    routes: dict[str, Route] = {}
    if asked.prompt is not None:
        _refuse_file_name(asked.prompt, origin, ("prompt",), "to use a file write templates: [{name}]")
        templates["prompt"] = Template(asked.prompt)
        routes["prompt"] = ("prompt",)
    for index, entry in enumerate(asked.templates or ("default",) * bool(known)):
        route: Route = ("templates", index)
        template = _read_template(entry, origin, route, known)
        if template.name in templates:
            way_out = "give one of them another with {name: ..., text: ...}"
            raise origin.error(route, f"two templates are called '{template.name}'; {way_out}")
        templates[template.name] = template
        routes[template.name] = route
    system = None if asked.system is None else Template(asked.system, "system")
    for index, text in enumerate(asked.turns or ()):
        _refuse_file_name(text, origin, ("turns", index), "turns are written in place")
    return Prompts(templates, routes, asked.messages, system, turn_templates(asked.turns or ()))


def _read_template(entry: str | TemplateEntry, origin: Origin, route: Route, shipped: Mapping[str, str]) -> Template:
    if isinstance(entry, TemplateEntry):
        return Template(entry.text, entry.name)
    if entry in shipped:
        return Template(shipped[entry], entry)
    path = origin.path(entry, route)
    if not path.is_file():
        way_out = "a text in place is written {name: ..., text: ...}"
        there = f"{nearest(entry, shipped)} (shipped: {', '.join(shipped)})" if shipped else ""
        raise origin.error(route, f"{path}: no such file{there}; {way_out}")
    text = read_text(path)
    _check_text(text, origin, route)
    return Template(text, path.stem)


def _refuse_file_name(text: str, origin: Origin, route: Route, way_out: str) -> None:
    """A file's name sent as the question itself would cost as much as the right one."""
    name = text.strip()
    if "\n" not in name and name.endswith((".txt", ".md")) and " " not in name:
        raise origin.error(route, f"'{name}' would be sent as it stands; {way_out.format(name=name)}")
