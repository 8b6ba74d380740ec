"""Lists of texts that a model is asked to invent: each carries how hard it is, for whoever judges it later.

A request for an object that holds nothing but one list of texts, by schema or shown in the prompt, is answered with as
many as it asks for. Each text ends in a mark such as `[idea 0.62 3fa9c1d2e0]`: its difficulty, and a hash that tells it
from all others. So a judge who is shown the text can grade it by the truth, and nothing has to be remembered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from overnight_emulator.answers.prose import Pen
from overnight_emulator.answers.schema import Author
from overnight_emulator.truth import Ideas

_MARK = re.compile(r"\[idea (?P<difficulty>[01]\.\d\d) [0-9a-f]{10}(?P<useless> useless)?\]")
_ASKED = re.compile(r"\b(?:write|list|give|name|generate|propose|invent|suggest)\s+(\d{1,3})\b", re.IGNORECASE)
_SHOWN = re.compile(r'\{\s*"(\w+)"\s*:\s*\[\s*(\{[^{}]*\}|"[^"]*")\s*,\s*\.\.\.\s*\]\s*\}')
_FIELD = re.compile(r'"(\w+)"\s*:')
_USE = re.compile("usab|useful|valid|relevan|realis", re.IGNORECASE)
_MOST = 100

_WHO = (
    "a nurse",
    "a retired teacher",
    "my cousin",
    "a night guard",
    "two students",
    "the owner of a bakery",
    "a bus driver",
    "our landlord",
    "a young clerk",
    "the choir leader",
    "a beekeeper",
    "somebody from the council",
)
_WANTS = (
    "asks for the shortest way to settle",
    "wants a letter about",
    "would like a plan for",
    "has to explain",
    "needs three good arguments on",
    "hopes to finish a speech about",
    "is writing down the rules for",
    "wonders how one might avoid",
    "insists on a clear verdict about",
    "is preparing a lesson on",
)
_WHAT = (
    "a lost parcel of medicine",
    "the noise above the cinema",
    "an unpaid bill for roof tiles",
    "the summer timetable",
    "a quarrel over borrowed tools",
    "next year's budget for lamps",
    "the colour of the school gate",
    "a broken promise at work",
    "the last seat on the ferry",
    "an heirloom clock",
    "the recipe of a rival",
    "an old map of the harbour",
)
_WHERE = (
    "in Trieste",
    "on a farm near Umea",
    "at the station of Kumasi",
    "in a flat above a pharmacy",
    "by the canal in Ghent",
    "during a strike in Lima",
    "in the archive of Tartu",
    "on the island of Paros",
    "behind the market of Cork",
    "at a fair in Leipzig",
)
_WHY = (
    "because the neighbours laugh about it",
    "before the inspector comes on Friday",
    "although nobody has agreed to it",
    "and will not take no for an answer",
    "so that the family can sleep again",
    "for the sake of an old friend",
    "since the contract ends in March",
    "while the others are on holiday",
    "to win a bet of ten coins",
)
_CATEGORIES = ("work", "family", "money", "health", "school", "travel", "neighbours", "law", "friends", "news")


class Idea(NamedTuple):
    difficulty: float
    usable: bool


def last_idea(prompt: str) -> Idea | None:
    """The one that a prompt is about."""
    found = ideas_in(prompt) if "[idea " in prompt else []
    return found[-1] if found else None


def ideas_in(prompt: str) -> list[Idea]:
    return [Idea(float(mark["difficulty"]), mark["useless"] is None) for mark in _MARK.finditer(prompt)]


def graded(difficulty: float, grades: int, draw: float) -> int:
    """The place on a scale, worst first: up to half a grade beside what the difficulty comes to."""
    exact = (1 - difficulty) * (grades - 1) + draw - 0.5
    return min(max(round(exact), 0), grades - 1)


def asks_about_use(name: str) -> bool:
    return _USE.search(name) is not None


def listed_texts(schema: Any) -> bool:
    """Whether a schema wants an object with one field, a list of texts or of objects that hold texts alone."""
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or len(properties) != 1:
        return False
    (only,) = properties.values()
    if not isinstance(only, Mapping) or only.get("type") != "array":
        return False
    return _is_text(only.get("items"))


def _is_text(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or "enum" in schema:
        return False
    if schema.get("type") == "object":
        fields = schema.get("properties")
        return isinstance(fields, Mapping) and bool(fields) and all(map(_is_text, fields.values()))
    return schema.get("type") == "string"


def shown_list(text: str) -> dict[str, Any] | None:
    """The same as a schema, where a prompt shows the form: `{"texts": ["...", ...]}`."""
    found = _SHOWN.findall(text) if "..." in text else []
    if not found:
        return None
    name, entry = found[-1]
    items: dict[str, Any] = {"type": "string"}
    if entry.startswith("{"):
        items = {"type": "object", "properties": {field: {"type": "string"} for field in _FIELD.findall(entry)}}
    return {"type": "object", "properties": {name: {"type": "array", "items": items}}}


class Inventor:
    """Fills in such a list; all else is left to the judge."""

    def __init__(self, ideas: Ideas, judge: Author, pen: Pen, prompt: str) -> None:
        self._ideas = ideas
        self._judge = judge
        self._pen = pen
        self._seen = ideas_in(prompt)
        asked = _ASKED.search(prompt)
        self._count = min(int(asked[1]), _MOST) if asked else 3
        self._texts: list[str] = []

    def decide(self, name: str, alternatives: Sequence[Any]) -> Any:
        return self._judge.decide(name, alternatives)

    def number(self, name: str) -> float:
        return self._judge.number(name)

    def length(self, name: str, alternatives: Sequence[Any]) -> int | None:
        return self._judge.length(name, alternatives) or self._count

    def text(self, name: str) -> str:
        if "categor" in name or "kind" in name:
            return self._pick(_CATEGORIES, "category")
        if self._texts and self._share("repeated") < self._ideas.repeated:
            self._texts.append(f"Please: {self._texts[0]}")
        else:
            self._texts.append(self._invented())
        return self._texts[-1]

    def _invented(self) -> str:
        parts = [self._pick(of, which) for of, which in ((_WHO, "who"), (_WANTS, "wants"), (_WHAT, "what"))]
        parts += [self._pick(of, which) for of, which in ((_WHERE, "where"), (_WHY, "why"))]
        words = " ".join(parts)
        return f"{words[0].upper()}{words[1:]}. {self._mark()}"

    def _mark(self) -> str:
        base = self._ideas.difficulty
        if self._seen:
            base = sum(one.difficulty for one in self._seen) / len(self._seen) + self._ideas.gain
        difficulty = base + self._ideas.spread * (2 * self._share("difficulty") - 1)
        useless = " useless" if self._share("useless") < self._ideas.useless else ""
        request = self._pen.chance.hexadecimal(10, "idea", self._pen.digest, self._pen.choice, len(self._texts))
        return f"[idea {min(max(difficulty, 0.0), 1.0):.2f} {request}{useless}]"

    def _share(self, purpose: str) -> float:
        return self._pen.chance.share(purpose, self._pen.digest, self._pen.choice, len(self._texts))

    def _pick(self, of: Sequence[str], which: str) -> str:
        return self._pen.chance.pick(of, which, self._pen.digest, self._pen.choice, len(self._texts))
