"""Specifications in Markdown: a heading of two to four `#`, what stands under it, and its examples are a statement.

    ## Honesty {#honesty} authority=user
    The assistant says what it does not know.

    **Example**: somebody asks for a date that nobody knows. It says so.

Statements are named as SpecEval names them, so that inputs and answers that were made with it are found again: by the
id of the heading, else by the name of the section; `_main` follows where one text stands under that name alone, and
texts under one name are one statement.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from overnight.core.errors import StudyError, nearest
from overnight.study.utf8 import read_text

_HEADING = re.compile(
    r"(?P<marks>#{1,4})\s+(?P<title>[^#{]+?)\s*(?:\{#(?P<id>[^}]+)\})?(?:\s+authority=(?P<word>\w+))?\s*"
)
_FENCE = re.compile(r"\s*(```|~~~)")
_EXAMPLE = "**Example**:"
# Shorter texts are remarks, and no statements.
_FEWEST_WORDS, _FEWEST_WORDS_OF_AN_EXAMPLE = 5, 10
# What a section's name says of the statements in it; the first that fits.
_TYPES = {
    "prohibition": ("do not", "don't", "avoid"),
    "requirement": ("must", "required", "should"),
    "definition": ("definition", "meaning"),
}
_USUAL = "guideline"


class Part(NamedTuple):
    """What stands under one heading: where that is, its names, and the lines up to the next one."""

    line: int
    name: str
    section: str
    subsection: str
    authority: str
    lines: list[str]


class Passage(NamedTuple):
    """A text that is a statement, or belongs to one. `mark` is the end of its name where it is alone."""

    part: Part
    mark: str
    text: str


def statement_fields(path: Path, authorities: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """Each statement's fields as a line of JSON would have them, and the line of its heading."""
    together: dict[str, list[Passage]] = {}
    for part in _parts(path, authorities):
        for passage in _passages(part):
            together.setdefault(part.name, []).append(passage)
    for name, passages in together.items():
        first = passages[0].part
        yield (
            first.line,
            {
                "id": name if len(passages) > 1 else f"{name}{passages[0].mark}",
                "text": "\n\n".join(one.text for one in passages),
                "type": _type_of(first.section),
                "authority_level": first.authority,
                "section": first.section,
                "subsection": first.subsection,
            },
        )


def _parts(path: Path, authorities: tuple[str, ...]) -> Iterator[Part]:
    part: Part | None = None
    section, fenced = "", False
    for number, line in enumerate(read_text(path).splitlines(), 1):
        fenced ^= bool(_FENCE.match(line))
        heading = None if fenced else _HEADING.fullmatch(line)
        if heading is None:
            if part is not None:
                part.lines.append(line)
            continue
        if part is not None:
            yield part
        level, title = len(heading["marks"]), heading["title"].strip()
        section = title if level <= 2 else section or "unknown"
        authority = heading["word"] or _USUAL
        if authority not in authorities:
            wanted = f"wanted {', '.join(authorities)}, found '{authority}'{nearest(authority, authorities)}"
            raise StudyError(f"{path}:{number}: authority: {wanted}")
        name = heading["id"] or section.lower().replace(" ", "_")
        part = None if level == 1 else Part(number, name, section, title if level > 2 else "", authority, [])
    if part is not None:
        yield part


def _passages(part: Part) -> Iterator[Passage]:
    """The text of a part without its examples, then these; each example goes up to an empty line."""
    text: list[str] = []
    examples: list[list[str]] = []
    inside = False
    for line in part.lines:
        before, mark, after = line.partition(_EXAMPLE)
        if mark and not inside:
            text.append(before)
            examples.append([f"{mark}{after}"])
            inside = True
        elif inside and line.strip():
            examples[-1].append(line)
        else:
            inside = False
            text.append(line)
    plain = "\n".join(text).strip()
    if len(plain.split()) >= _FEWEST_WORDS:
        yield Passage(part, "_main", plain)
    for number, lines in enumerate(examples, 1):
        shown = "\n".join(lines).strip()
        if len(shown.split()) >= _FEWEST_WORDS_OF_AN_EXAMPLE or "```" in shown:
            yield Passage(part, f"_example_{number}", shown)


def _type_of(section: str) -> str:
    said = section.lower()
    return next((kind for kind, words in _TYPES.items() if any(word in said for word in words)), _USUAL)
