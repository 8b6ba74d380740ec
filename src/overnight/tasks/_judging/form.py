"""The form in which a judge of one answer speaks, and the strict reading of it.

A verdict is an object in JSON: by schema where the provider holds answers to one, else fenced or bare in the text. Two
different verdicts in one text, or none, or one that is not offered, are `unparsed`: nothing is guessed.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from overnight.tasks._json_answers import decoded
from overnight.tasks._prompt_files import prompt_text

UNPARSED = "unparsed"
NONE = "none"
COMPLIANT, NOT_COMPLIANT = "compliant", "not compliant"
GRADES = (1, 2, 3, 4, 5)
_GRADES = {str(grade): grade for grade in GRADES} | {f"{grade}.0": grade for grade in GRADES}

Form = Literal["comply", "grade"]

_FENCED = re.compile(r"```[a-zA-Z]*\s*\n?(.*?)```", re.DOTALL)
# Places in a text where an object may begin that are tried, so that a text of nothing but braces ends.
_MOST_TRIES = 1_000


class Judgement(NamedTuple):
    """What a judge says of an answer: in a word, and as a number that can be averaged."""

    label: str
    score: float | None = None
    confidence: float | None = None
    explanation: str | None = None


class JudgedForm:
    """What is asked for, by the task's name."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._field = "compliant" if form == "comply" else "rating"

    def asked_in(self, text: str, *, structured: bool) -> str:
        """The template with the form at its end; one that names the field in quotes itself stays as it is."""
        if f'"{self._field}"' in text and not structured:
            return text
        return f"{text.rstrip()}\n\n{prompt_text('judged', self._form)}"

    def schema(self) -> dict[str, Any]:
        """The reason comes before the verdict: what is written later rests on what was written before."""
        verdict = {"type": "boolean"} if self._form == "comply" else {"type": "integer", "enum": list(GRADES)}
        fields = {"explanation": {"type": "string"}, self._field: verdict, "confidence": {"type": "number"}}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}

    def read(self, answer: str) -> Judgement:
        objects = [one for one in objects_in(answer) if self._field in one]
        said = {self._verdict(one[self._field]) for one in objects}
        if len(said) != 1:
            return Judgement(UNPARSED)
        label, score = said.pop()
        if score is None:
            return Judgement(UNPARSED)
        return Judgement(label, score, _share(_only(objects, "confidence")), _text(_only(objects, "explanation")))

    def _verdict(self, said: Any) -> tuple[str, float | None]:
        if isinstance(said, str):
            said = {"true": True, "false": False}.get(said.strip().lower(), said.strip())
        if isinstance(said, bool):
            compliance = (COMPLIANT, 1.0) if said else (NOT_COMPLIANT, 0.0)
            return compliance if self._form == "comply" else (UNPARSED, None)
        if self._form == "comply":
            return UNPARSED, None
        grade = _GRADES.get(str(said))
        return (UNPARSED, None) if grade is None else (str(grade), float(grade))


def objects_in(text: str) -> list[dict[str, Any]]:
    """The JSON objects of a text: the text itself, those in fences, or those that stand between other words.

    One that says two things under one name says nothing, and is left out with what it holds.
    """
    whole = _object(text)
    if whole is not None:
        return [whole]
    fenced = [found for part in _FENCED.findall(text) if (found := _object(part)) is not None]
    return fenced or list(_standing_in(text))


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = decoded(text.strip())
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _standing_in(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    at = text.find("{")
    for _ in range(_MOST_TRIES):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            plain = _object(text[at:end])
            if isinstance(found, dict) and plain is not None:
                yield plain
        at = text.find("{", end)


def _only(objects: list[dict[str, Any]], field: str) -> Any:
    """What all of them say; nothing where they differ."""
    first, *others = objects
    said = first.get(field)
    return said if not others or all(one.get(field) == said for one in others) else None


def _share(said: Any) -> float | None:
    """A number from 0 to 1, else nothing."""
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return float(said) if 0 <= said <= 1 else None


def _text(said: Any) -> str | None:
    return said if isinstance(said, str) else None
