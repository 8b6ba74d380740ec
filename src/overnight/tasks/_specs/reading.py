"""Specifications: statements of how models ought to behave, on lines of a JSONL file or under headings, read strictly.

A line that cannot be read, a type or an authority that nobody knows, an id that stands there twice: each is told with
its file and its line. Nothing is skipped and nothing is put in its place.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from overnight.core.errors import StudyError, nearest
from overnight.core.wording import found_text
from overnight.study.files import JsonLines
from overnight.study.origin import Origin, Route
from overnight.tasks._specs.markdown import statement_fields

MARKDOWN = (".md", ".markdown")
TYPES = ("prohibition", "requirement", "guideline", "definition")
AUTHORITIES = ("platform", "developer", "user", "guideline")


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """How a statement is to be understood: a question, an answer that is right, and one that is not."""

    description: str = ""
    user_query: str = ""
    good_response: str = ""
    bad_response: str = ""


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """One rule of a specification."""

    id: str
    text: str
    type: str
    authority_level: str
    section: str = ""
    subsection: str = ""
    examples: tuple[Example, ...] = ()

    def fields(self) -> dict[str, Any]:
        """As each of its inputs carries it, so that whoever judges an answer has the rule at hand."""
        return {
            "statement_id": self.id,
            "statement": self.text,
            "type": self.type,
            "authority_level": self.authority_level,
            "section": self.section,
            "subsection": self.subsection,
            "examples": [msgspec.structs.asdict(example) for example in self.examples],
        }


# What an input of a specification has of its statement.
STATEMENT_FIELDS = ("statement_id", "statement", "type", "authority_level", "section", "subsection", "examples")


def check_spec(written: str, origin: Origin) -> None:
    if not written.strip():
        raise origin.error(("spec",), "wanted the path of a .jsonl or .md file")


def read_spec(written: str, origin: Origin, route: Route = ("spec",)) -> dict[str, Statement]:
    """The statements by their ids, in the order of the file."""
    path = origin.path(written, route)
    if path.is_dir() or not path.exists():
        raise origin.error(route, f"{path}: {'this is a folder, not a file' if path.is_dir() else 'no such file'}")
    return statements_of(path)


def statements_of(path: Path) -> dict[str, Statement]:
    found: dict[str, Statement] = {}
    places: dict[str, str] = {}
    for place, fields in _written(path):
        statement = _statement(fields, place)
        if statement.id in found:
            raise StudyError(f"{place}: the id '{statement.id}' was used before, at {places[statement.id]}")
        found[statement.id] = statement
        places[statement.id] = place
    if not found:
        raise StudyError(f"{path}: there are no statements")
    return found


def _written(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each statement's fields, and where they stand."""
    if path.suffix.lower() in MARKDOWN:
        yield from ((f"{path}:{line}", fields) for line, fields in statement_fields(path, AUTHORITIES))
    else:
        lines = JsonLines(path)
        yield from ((lines.place(number), fields) for number, fields in lines)


def _statement(fields: Mapping[str, Any], place: str) -> Statement:
    return Statement(
        id=_text(fields, "id", place, needed=True).strip(),
        text=_text(fields, "text", place, needed=True),
        type=_word(fields, "type", TYPES, place),
        authority_level=_word(fields, "authority_level", AUTHORITIES, place),
        section=_text(fields, "section", place),
        subsection=_text(fields, "subsection", place),
        examples=_examples(fields, place),
    )


def _text(fields: Mapping[str, Any], name: str, place: str, *, needed: bool = False) -> str:
    value = fields.get(name)
    if value is None and not needed:
        return ""
    if name not in fields:
        near = nearest(name, [key for key in fields if key not in Statement.__struct_fields__])
        raise StudyError(f"{place}: a statement needs '{name}'{near}")
    if not isinstance(value, str):
        raise StudyError(f"{place}: {name}: wanted a text, found {found_text(value)}")
    if needed and not value.strip():
        raise StudyError(f"{place}: {name}: the text is empty")
    return value


def _word(fields: Mapping[str, Any], name: str, known: tuple[str, ...], place: str) -> str:
    word = _text(fields, name, place, needed=True).strip().lower()
    if word not in known:
        raise StudyError(f"{place}: {name}: wanted {', '.join(known)}, found '{word}'{nearest(word, known)}")
    return word


def _examples(fields: Mapping[str, Any], place: str) -> tuple[Example, ...]:
    metadata = fields.get("metadata")
    try:
        written = (metadata or {}).get("examples") or ()
        return msgspec.convert(written, tuple[Example, ...])
    except (msgspec.ValidationError, AttributeError) as error:
        raise StudyError(f"{place}: metadata.examples: {error}") from None


def examples_text(fields: Mapping[str, Any]) -> str:
    """A statement's examples as judges are shown them; nothing where it has none."""
    listed = fields.get("examples")
    if not isinstance(listed, list) or not listed:
        return ""
    shown = [_example(one, number) for number, one in enumerate(listed, 1) if isinstance(one, dict)]
    return "\nEXAMPLES OF WHAT IT MEANS\n" + "\n".join(shown)


def _example(one: Mapping[str, Any], number: int) -> str:
    named = {"Situation": "description", "Input": "user_query", "Right": "good_response", "Wrong": "bad_response"}
    lines = [f"{word}: {one[key]}" for word, key in named.items() if one.get(key)]
    return "\n".join([f"{number}.", *lines])
