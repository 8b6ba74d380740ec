"""The form in which a judge of two samples answers, and the strict reading of it.

Where the provider holds answers to a JSON schema, the answer is an object; elsewhere the verdict stands in tags. An
answer that names two samples, or none, or one that is not there, is `unparsed`: nothing is guessed.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Literal

import msgspec

from overnight.tasks._json_answers import decoded
from overnight.tasks._prompt_files import prompt_text

Verdict = Literal["first", "second", "tie", "none", "unparsed"]

TAGS = ("<BETTER_SAMPLE>", "</BETTER_SAMPLE>")
_SEATS: dict[str, Verdict] = {"SAMPLE_1": "first", "SAMPLE_2": "second", "TIE": "tie", "NONE": "none"}
# Other words for NONE, which judges write although they are asked for it.
_CANNOT_TELL = ("N/A", "UNSURE")
_EXPLANATION = ("<EXPLANATION>", "</EXPLANATION>")
_CONFIDENCE = ("<CONFIDENCE>", "</CONFIDENCE>")


class Reading(msgspec.Struct, frozen=True, gc=False):
    """What an answer says."""

    verdict: Verdict
    confidence: float | None = None
    explanation: str | None = None


class AnswerForm(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for beside the verdict, and the tags around a verdict that is not in JSON."""

    ties: bool = False
    # Whether a judge may say that it cannot tell, or that the question does not apply: no tie, and no guess.
    none: bool = False
    explanation: bool = False
    confidence: bool = False
    tags: tuple[str, str] = TAGS

    def is_in(self, text: str) -> bool:
        """Whether a template asks for the tags itself."""
        return self.tags[0] in text

    def asked_in(self, text: str, *, structured: bool) -> str:
        """The template with the form at its end; one that has tags of its own stays as it is."""
        if self.is_in(text):
            return text
        kind = "json" if structured else "tags"
        parts = [kind, f"{kind}_tie" if self.ties else f"{kind}_no_tie"]
        parts += [f"{kind}_{extra}" for extra in ("none", "explanation", "confidence") if getattr(self, extra)]
        return f"{text.rstrip()}\n\n{''.join(prompt_text('answers', part) for part in parts)}"

    def schema(self) -> dict[str, Any]:
        """The reason comes before the verdict: what is written later rests on what was written before."""
        seats = [seat for seat, verdict in _SEATS.items() if self._offers(verdict)]
        fields: dict[str, Any] = {"better_sample": {"type": "string", "enum": seats}}
        if self.explanation:
            fields = {"explanation": {"type": "string"}} | fields
        if self.confidence:
            fields["confidence"] = {"type": "number"}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}

    def read(self, answer: str, *, structured: bool) -> Reading:
        return self._read_json(answer) if structured else self._read_tags(answer)

    def _read_tags(self, answer: str) -> Reading:
        seats = {self._seat(name) for name in _between(self.tags, answer)}
        verdict = seats.pop() if len(seats) == 1 else "unparsed"
        return Reading(verdict, _share(_only(_CONFIDENCE, answer)), _only(_EXPLANATION, answer))

    def _read_json(self, answer: str) -> Reading:
        try:
            said = decoded(answer)
        except ValueError:
            return Reading("unparsed")
        if not isinstance(said, dict):
            return Reading("unparsed")
        explanation = said.get("explanation")
        return Reading(
            self._seat(said.get("better_sample")),
            _share(said.get("confidence")),
            explanation if isinstance(explanation, str) else None,
        )

    def _seat(self, named: Any) -> Verdict:
        seat = _seat_named(named) if isinstance(named, str) else "unparsed"
        return seat if self._offers(seat) else "unparsed"

    def _offers(self, verdict: Verdict) -> bool:
        return self.ties if verdict == "tie" else verdict != "none" or self.none


# Judges write the same few words again and again.
@lru_cache(maxsize=100)
def _seat_named(text: str) -> Verdict:
    said = text.strip().upper().replace(" ", "_")
    return "none" if said in _CANNOT_TELL else _SEATS.get(said, "unparsed")


def _between(tags: tuple[str, str], answer: str) -> Iterator[str]:
    """What stands between the tags, wherever they stand. One walk, however many never end."""
    opening, closing = (re.compile(re.escape(tag), re.IGNORECASE) for tag in tags)
    at = 0
    while (begun := opening.search(answer, at)) and (ended := closing.search(answer, begun.end())):
        yield answer[begun.end() : ended.start()].strip()
        at = ended.end()


def _only(tags: tuple[str, str], answer: str) -> str | None:
    found = set(_between(tags, answer))
    return found.pop() if len(found) == 1 else None


def _share(said: Any) -> float | None:
    """A number from 0 to 1, else nothing."""
    if said is None or isinstance(said, bool) or not isinstance(said, (int, float, str)):
        return None
    try:
        share = float(said)
    except (ValueError, OverflowError):
        return None
    return share if 0 <= share <= 1 else None
