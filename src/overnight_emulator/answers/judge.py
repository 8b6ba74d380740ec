"""Judging: decisions drawn by the truth's formulas from what a prompt contains.

- Which of several samples is better: P(i) is proportional to exp(quality / noise), with the position bias added for
  the first; for two samples P(first) = logistic((q1 - q2) / noise + bias).
- Whether an answer complies: the probability that the truth gives its model, drawn once for each answer, so that
  all judges see the same fact.
- Whether a model gave in to an objection: read off its answer, which says so. A number in the name of a field or a tag,
  or a place in a list, counts the answers that do; without one it is the last.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from overnight_emulator.answers.forms import (
    asks_about_violation,
    is_flip,
    is_placing,
    is_scale,
    is_tie,
    is_yes_no,
    seat,
    sign,
)
from overnight_emulator.answers.ideas import asks_about_use, graded, last_idea
from overnight_emulator.answers.prose import Pen
from overnight_emulator.answers.samples import Samples, Trace, traces
from overnight_emulator.patterns import DEFAULT, value_for
from overnight_emulator.truth import ShareByText, Truth

_COMPLIANCE = 0.8
FLIP = 0.1
# `labels[0]`, `REPLY_1`: the first of several.
_NUMBERED = re.compile(r"(?:\[(?P<place>\d{1,4})\]|[_-]?(?P<count>\d{1,4}))$")


class Judge:
    """Fills in the decisions, texts and numbers that one prompt asks for."""

    def __init__(self, truth: Truth, samples: Samples, pen: Pen, prompt: str) -> None:
        self._truth = truth
        self._samples = samples
        self._pen = pen
        self._prompt = prompt

    def decide(self, name: str, alternatives: Sequence[Any]) -> Any:
        """Choose among what is offered, by what it is about."""
        if is_flip(name, alternatives):
            return self._flip(name, alternatives)
        if is_scale(alternatives) and len(alternatives) != len(self._samples.found(self._prompt)):
            return self._score(name, alternatives)
        if is_placing(alternatives):
            return self._place(name, alternatives)
        idea = last_idea(self._prompt)
        if is_yes_no(alternatives) and idea is not None and asks_about_use(name):
            return self._signed(name, alternatives, idea.usable)
        if is_yes_no(alternatives):
            return self._signed(name, alternatives, self._complies() != asks_about_violation(name))
        return self._pick(name, alternatives)

    def text(self, name: str) -> str:
        return f"{self._pen.remark(name)} {self._pen.trace()}"

    def number(self, name: str) -> float:
        return self._draw("number", name)

    def length(self, name: str, alternatives: Sequence[Any]) -> int | None:
        """A list of decisions on giving in has one for each answer that says so of itself."""
        return max(len(self._stances()), 1) if is_flip(name, alternatives) else None

    def _place(self, name: str, alternatives: Sequence[Any]) -> Any:
        ties = [one for one in alternatives if is_tie(one)]
        if ties and self._draw("tie", name) < self._truth.judge.tie:
            return ties[0]
        seats = sorted((one for one in alternatives if seat(one) is not None), key=lambda one: seat(one) or 0)
        return seats[self._winner(len(seats), self._draw("verdict", name))]

    def _winner(self, count: int, draw: float) -> int:
        """Samples that were not found are all equally good; only the bias tells them apart."""
        judge = self._truth.judge
        qualities = [sample.quality for sample in self._samples.found(self._prompt)][:count]
        qualities += [0.0] * (count - len(qualities))
        leads = [quality / judge.noise for quality in qualities]
        leads[0] += judge.position_bias
        weights = [math.exp(lead - max(leads)) for lead in leads]
        reached = 0.0
        for index, weight in enumerate(weights):
            reached += weight / sum(weights)
            if draw < reached:
                return index
        return count - 1

    def _signed(self, name: str, alternatives: Sequence[Any], fact: bool) -> Any:
        fitting = [one for one in alternatives if sign(one) is fact]
        return fitting[int(self._draw("wording", name) * len(fitting))]

    def _score(self, name: str, alternatives: Sequence[Any]) -> Any:
        """The upper half of a scale for what complies, the lower half for what does not."""
        scale = sorted(alternatives, key=int)
        idea = last_idea(self._prompt)
        if idea is not None and self._last_trace() is None:
            return scale[graded(idea.difficulty, len(scale), self._draw("grade", name))]
        half = len(scale) // 2
        fitting = (scale[half:] if self._complies() else scale[:half]) or scale
        return fitting[int(self._draw("score", name) * len(fitting))]

    def _pick(self, name: str, alternatives: Sequence[Any]) -> Any:
        return alternatives[int(self._draw("pick", name) * len(alternatives))]

    def _complies(self) -> bool:
        answered = self._last_trace()
        model = self._pen.model if answered is None else answered.model
        share = share_for(model, self._prompt, self._truth.compliance, _COMPLIANCE)
        idea = last_idea(self._prompt)
        if idea is not None:
            share = 1 - idea.difficulty
        if answered is None:
            return self._draw("complies", "") < share
        return self._pen.chance.share("complies", answered.request) < share

    def _flip(self, name: str, alternatives: Sequence[Any]) -> Any:
        """All judges see the same fact, and the same way in which it is put, but for those that misread."""
        told = self._told(name)
        misread = self._draw("misread", name) < self._truth.judge.misread
        if told is None:
            gave_in = self._draw("gave in", "") < share_for(self._pen.model, self._prompt, self._truth.flip, FLIP)
            return self._signed(name, alternatives, gave_in != misread)
        fitting = [one for one in alternatives if sign(one) is (bool(told.changed) != misread)]
        return fitting[int(self._pen.chance.share("wording of a flip", told.request) * len(fitting))]

    def _told(self, name: str) -> Trace | None:
        """The answer that a decision is about."""
        stances = self._stances()
        numbered = _NUMBERED.search(name)
        if numbered is not None and stances:
            place = int(numbered["place"]) if numbered["place"] else int(numbered["count"]) - 1
            if 0 <= place < len(stances):
                return stances[place]
        return stances[-1] if stances else self._last_trace()

    def _stances(self) -> list[Trace]:
        return [trace for trace in traces(self._prompt) if trace.changed is not None]

    def _last_trace(self) -> Trace | None:
        found = traces(self._prompt)
        return found[-1] if found else None

    def _draw(self, purpose: str, name: str) -> float:
        return self._pen.chance.share(purpose, self._pen.digest, self._pen.choice, name)


def share_of_objection(share: Mapping[str, float], talk: Talk) -> float | None:
    """How often a model whose `flip` goes by texts gives in to what is said to it; None where there is no objection.

    An objection follows an answer; in a first question it is one of the texts that the truth names.
    """
    texts = {text: value for text, value in share.items() if text != DEFAULT}
    found = next((value for text, value in texts.items() if text in talk.last), None)
    if found is None and talk.answered:
        return next((value for text, value in texts.items() if text in talk.whole), share.get(DEFAULT, FLIP))
    return found


class Talk(NamedTuple):
    """A conversation: the user's last words, all of it, and whether the model has answered before."""

    last: str
    whole: str
    answered: bool


def share_for(model: str, prompt: str, settings: Mapping[str, ShareByText], otherwise: float) -> float:
    """By model; where a model has several shares, by the first text that the prompt contains."""
    share = value_for(model, settings, otherwise=otherwise)
    if not isinstance(share, dict):
        return share
    return next((value for text, value in share.items() if text in prompt), share.get(DEFAULT, otherwise))
