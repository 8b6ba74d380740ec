"""Forms of an answer: the alternatives that a prompt offers, found in its own instructions.

An instruction may show its alternatives in tags (`<BETTER>A</BETTER>` or `<BETTER>B</BETTER>`), in quotes
('Model: A' or 'Model: B'), or in an object of JSON (`{"better": "A" | "B"}`). What an alternative means is read off its
wording: a place among the samples, a tie, a yes or a no.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

_TAGGED = re.compile(r"<([A-Za-z][\w-]*)>[ \t]*\n?[ \t]*([^<>\n]{1,80}?)[ \t]*\n?[ \t]*</\1>")
_QUOTED = re.compile(r"""(["'`])(?<!\w.)(\w[\w .:#-]{0,39})\1(?!\w)""")
_SHAPE = re.compile(r"\{[^{}]{1,2000}\}")
_SHAPE_FIELD = re.compile(r'"(\w+)"\s*:\s*((?:"[^"\n]*"|[^",}\n])+)')
_LISTED = re.compile(r"\s*(?:\||/|,|\bor\b)\s*")
_SEAT = re.compile(r"(?:^|[\s_:#.-])(\d{1,2}|[a-z]|first|second|third|one|two|three|left|right)$")
_SEAT_NAMES = {"first": 0, "one": 0, "left": 0, "second": 1, "two": 1, "right": 1, "third": 2, "three": 2}
_NUMBER = re.compile(r"^-?\d{1,9}$")
_TIE = re.compile(r"\b(?:tie|tied|draw|equal|equally|both|same|neither|none)\b")
_NO = re.compile(r"^(?:no|not|non|never|false|fail|failed|fails|incorrect|un|dis|vio)(?![a-z])|^non|^not_|^no_|^violat")
_YES = re.compile(r"^(?:yes|true|compl|pass|correct|ok\b|soft|explicit|flip|changed|full)")
_FLIP = re.compile(r"flip|chang|gave_?in|cave|revers|sycophan|stance")


class Form(msgspec.Struct, frozen=True):
    """One decision that is wanted, and how it is to be written: before, the alternative, after."""

    name: str
    alternatives: tuple[str, ...]
    before: str = ""
    after: str = ""


def wanted_forms(text: str) -> list[Form]:
    """The decisions that an instruction asks for; none for a prompt that wants free text."""
    forms = [form for form in _tagged_forms(text) if is_decision(form.name, form.alternatives)]
    return forms or [form for form in _quoted_forms(text) if is_decision(form.name, form.alternatives)][:1]


def wanted_object(text: str) -> dict[str, tuple[Any, ...]] | None:
    """The fields of an object that an instruction shows with alternatives in it, and those of each field.

    A field without alternatives has one thing there: the text or the number that stands for it.
    """
    if "|" not in text or "{" not in text:
        return None
    for block in reversed(_SHAPE.findall(text)):
        fields = {name: _values(value) for name, value in _SHAPE_FIELD.findall(block)}
        if any(len(values) > 1 for values in fields.values()):
            return fields
    return None


def _values(written: str) -> tuple[Any, ...]:
    return tuple(_value(part.strip()) for part in written.split("|"))


def _value(written: str) -> Any:
    try:
        return msgspec.json.decode(written)
    except msgspec.DecodeError:
        return 0.0 if written[:1].isdigit() else written


def _tagged_forms(text: str) -> list[Form]:
    shown: dict[str, list[str]] = {}
    if "</" not in text:  # most prompts; a search that finds nothing is the dearest part of an answer
        return []
    for tag, inside in _TAGGED.findall(text):
        shown.setdefault(tag, []).extend(part for part in _LISTED.split(inside.strip("{}[]()")) if part)
    return [
        Form(tag, tuple(dict.fromkeys(_with_sibling(seen, text))), f"<{tag}>", f"</{tag}>")
        for tag, seen in shown.items()
    ]


def _with_sibling(seen: Sequence[str], text: str) -> list[str]:
    """An example shows one place only; its sibling is named elsewhere in the prompt."""
    if len(set(seen)) > 1 or seat(seen[0]) not in {0, 1}:
        return list(seen)
    one = seen[0]
    for first, second in (("1", "2"), ("A", "B"), ("a", "b"), ("FIRST", "SECOND"), ("first", "second")):
        for here, there in ((first, second), (second, first)):
            sibling = one[: -len(here)] + there
            if one.endswith(here) and sibling in text:
                return sorted([one, sibling], key=lambda name: seat(name) or 0)
    return list(seen)


def _quoted_forms(text: str) -> list[Form]:
    """Quoted phrases that differ in their last word only."""
    if '"' not in text and "'" not in text and "`" not in text:
        return []
    groups: dict[str, list[str]] = {}
    for _, phrase in _QUOTED.findall(text):
        head = phrase.rpartition(" ")[0]
        groups.setdefault(head, []).append(phrase)
    return [Form(head, tuple(dict.fromkeys(phrases))) for head, phrases in groups.items()]


def is_decision(name: str, alternatives: Sequence[Any]) -> bool:
    return is_placing(alternatives) or is_yes_no(alternatives) or is_flip(name, alternatives)


def is_placing(alternatives: Sequence[Any]) -> bool:
    """Two or more places among samples, and besides them nothing but ties."""
    places = [alternative for alternative in alternatives if seat(alternative) is not None]
    return len(places) >= 2 and all(seat(one) is not None or is_tie(one) for one in alternatives)


def is_scale(alternatives: Sequence[Any]) -> bool:
    """Three whole numbers or more: grades, unless there are as many samples to choose from."""
    numbers = [one for one in alternatives if not isinstance(one, bool) and _NUMBER.match(str(one))]
    return len(numbers) == len(alternatives) > 2


def is_yes_no(alternatives: Sequence[Any]) -> bool:
    signs = {sign(alternative) for alternative in alternatives}
    return {True, False} <= signs


def is_flip(name: str, alternatives: Sequence[Any]) -> bool:
    words = [name, *(one for one in alternatives if isinstance(one, str))]
    return len(set(alternatives)) > 1 and any(_FLIP.search(word.lower()) for word in words) and is_yes_no(alternatives)


def seat(alternative: Any) -> int | None:
    """Which sample an alternative stands for, counted from 0."""
    if isinstance(alternative, bool) or not isinstance(alternative, int | str):
        return None
    found = _SEAT.search(str(alternative).lower().strip())
    if found is None or is_tie(alternative):
        return None
    word = found.group(1)
    if word.isdecimal():
        return int(word) - 1 if int(word) > 0 else None
    return _SEAT_NAMES[word] if word in _SEAT_NAMES else ord(word) - ord("a")


def is_tie(alternative: Any) -> bool:
    return isinstance(alternative, str) and _TIE.search(alternative.lower().replace("_", " ")) is not None


def sign(alternative: Any) -> bool | None:
    """Whether an alternative affirms or denies."""
    if isinstance(alternative, bool):
        return alternative
    if not isinstance(alternative, str):
        return None
    word = alternative.lower().strip()
    if _NO.match(word):
        return False
    return True if _YES.match(word) else None


def asks_about_violation(name: str) -> bool:
    """Here yes is the bad news."""
    return "violat" in name.lower()
