"""Templates of questions, as several tasks have them: in files, in place, or shipped; and system texts."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from overnight.core.errors import nearest
from overnight.core.template import Template
from overnight.study.arms import Branch
from overnight.study.origin import Origin, Route
from overnight.study.utf8 import read_text

# Votes of a template's second listing begin here: replicates that are added later never meet them.
_VOTES_OF_A_LISTING = 1_000_000


class TemplateEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A template written in the study itself, under a name of its own."""

    name: str
    text: str


class Templates(NamedTuple):
    """Templates by name, in the order they were listed, and the place of each."""

    texts: dict[str, Template]
    routes: dict[str, Route]

    @property
    def by_place(self) -> dict[Route, Template]:
        return {self.routes[name]: template for name, template in self.texts.items()}

    @property
    def definition(self) -> dict[str, dict[str, object]]:
        """What defines them: the texts themselves, and which votes are whose."""
        votes = vote_starts(self.texts)
        return {name: {"text": one.text, "votes_from": votes[name]} for name, one in self.texts.items()}


def check_templates(listed: Sequence[str | TemplateEntry] | None, origin: Origin) -> None:
    """Everything that can be known without opening a file."""
    if listed is not None and not listed:
        raise origin.error(("templates",), "the list is empty")
    for index, entry in enumerate(listed or ()):
        route: Route = ("templates", index)
        if isinstance(entry, TemplateEntry):
            check_text(entry.name, origin, (*route, "name"))
            check_text(entry.text, origin, (*route, "text"))
        else:
            check_text(entry, origin, route)


def check_text(text: str, origin: Origin, route: Route) -> None:
    if not text.strip():
        raise origin.error(route, "the text is empty")


def read_templates(
    listed: Sequence[str | TemplateEntry], origin: Origin, shipped: Mapping[str, str] | None = None
) -> Templates:
    """`shipped` are the templates that the task brings, by name."""
    found = Templates({}, {})
    for index, entry in enumerate(listed):
        route: Route = ("templates", index)
        template = _read_template(entry, origin, route, shipped or {})
        if template.name in found.texts:
            way_out = "give one of them another with {name: ..., text: ...}"
            raise origin.error(route, f"two templates are called '{template.name}'; {way_out}")
        found.texts[template.name] = template
        found.routes[template.name] = route
    return found


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
    check_text(text, origin, route)
    return Template(text, path.stem)


def refuse_file_name(text: str, origin: Origin, route: Route, way_out: str) -> None:
    """A file's name sent as the question itself would cost as much as the right one."""
    name = text.strip()
    if "\n" not in name and name.endswith((".txt", ".md")) and " " not in name:
        raise origin.error(route, f"'{name}' would be sent as it stands; {way_out.format(name=name)}")


def vote_starts(templates: Mapping[str, Template]) -> dict[str, int]:
    """The same text under another name is another vote: each listing of a text has numbers of its own."""
    listed: dict[str, int] = {}
    starts: dict[str, int] = {}
    for name, template in templates.items():
        copy = listed.get(template.text, 0)
        listed[template.text] = copy + 1
        starts[name] = copy * _VOTES_OF_A_LISTING
    return starts


class Systems(NamedTuple):
    """The system text of each arm that has one, by the arm's name; and each by its place in the study."""

    by_arm: dict[str, Template]
    by_place: dict[Route, Template]


def read_systems(branches: Sequence[Branch], written: str | None) -> Systems:
    """The stage's own text, unless the model has one for itself."""
    found = Systems({}, {})
    common = None if written is None else Template(written, "system")
    for branch in branches:
        route: Route = ("system",)
        template = common
        if branch.system is not None:
            route = (branch.key, branch.entry, "system")
            template = found.by_place.get(route) or Template(branch.system, "system")
        if template:
            found.by_place[route] = template
            found.by_arm[branch.arm.name] = template
    return found
