"""Finding the samples of a prompt: the texts that the truth gives a quality, and answers of simulated models.

Samples are found by their own text and nothing else, whatever the wording of the template around them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from overnight_emulator.answers.prose import TRACE
from overnight_emulator.chance import Chance
from overnight_emulator.patterns import value_for

_WORD = re.compile(r"\w+")
_ANCHOR_WITHIN = 300


class Sample(msgspec.Struct, frozen=True):
    place: int
    quality: float


class Trace(msgspec.Struct, frozen=True):
    """The mark of a simulated answer: by whom, to which request, and whether it gave in to an objection."""

    place: int
    model: str
    request: str
    changed: bool | None


class Samples:
    """Where the texts of a prompt are and how good each is, in the order in which they stand."""

    def __init__(self, qualities: Mapping[str, float], chance: Chance) -> None:
        self._qualities = qualities
        self._chance = chance
        self._short: list[str] = []
        self._by_anchor: dict[str, list[tuple[int, str]]] = {}
        for text in qualities:
            anchor = _anchor(text)
            if anchor is None:
                self._short.append(text)
            else:
                self._by_anchor.setdefault(anchor.group(), []).append((anchor.start(), text))

    def found(self, prompt: str) -> list[Sample]:
        planted = self._planted(prompt)
        return planted if len(planted) >= 2 else [self._answered(trace) for trace in traces(prompt)]

    def _planted(self, prompt: str) -> list[Sample]:
        """Where one text lies within another, the longer one counts."""
        kept: list[Sample] = []
        reached = 0
        for start, text in sorted(self._places(prompt), key=lambda place: (place[0], -len(place[1]))):
            if start >= reached:
                kept.append(Sample(start, self._qualities[text]))
                reached = start + len(text)
        return kept

    def _places(self, prompt: str) -> Iterator[tuple[int, str]]:
        for text in self._short:
            for found in re.finditer(re.escape(text), prompt):
                yield found.start(), text
        if self._by_anchor:
            for word in _WORD.finditer(prompt):
                for offset, text in self._by_anchor.get(word.group(), ()):
                    start = word.start() - offset
                    if start >= 0 and prompt.startswith(text, start):
                        yield start, text

    def _answered(self, trace: Trace) -> Sample:
        """An answer is as good as its model is said to be; else a hash of it decides, as if drawn at random."""
        fallback = self._chance.between(-1, 1, "quality", trace.request)
        return Sample(trace.place, value_for(trace.model, self._qualities, otherwise=fallback))


def traces(prompt: str) -> list[Trace]:
    return [
        Trace(mark.start(), mark["model"], mark["request"], {"changed": True, "kept": False}.get(mark["stance"] or ""))
        for mark in TRACE.finditer(prompt)
    ]


def _anchor(text: str) -> re.Match[str] | None:
    """The longest word near the beginning, rare enough to be looked up; those at the ends may be parts of words."""
    inner = list(_WORD.finditer(text[:_ANCHOR_WITHIN]))[1:-1]
    return max(inner, key=lambda word: len(word.group()), default=None)
