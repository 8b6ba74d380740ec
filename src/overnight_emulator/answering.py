"""The simulated models: what is answered to a prompt, as a pure function of the truth and the prompt.

A dialect turns a request into a Prompt, and the Answer into its own response. The answer depends on the seed and the
request's body alone, never on the order of arrival, the custom id or the attempt.
"""

from __future__ import annotations

import math
import re
from typing import Any

import msgspec

from overnight_emulator.chance import Chance
from overnight_emulator.forms import wanted_forms, wanted_object
from overnight_emulator.judge import Judge, Said, changes_mind
from overnight_emulator.prose import Pen
from overnight_emulator.samples import Samples
from overnight_emulator.schema import document
from overnight_emulator.tokens import TokenCount
from overnight_emulator.truth import Truth

_CACHEABLE_TOKENS = 1_024
_CACHE_STEP = 128
_CACHE_HITS = 0.8
# The least and the most that a model thinks, in tokens, by the effort asked for.
_EFFORTS = {
    "none": (0, 0),
    "minimal": (8, 32),
    "low": (32, 160),
    "medium": (128, 640),
    "high": (512, 2_048),
    "xhigh": (1_024, 4_096),
    "max": (2_048, 8_192),
}
EFFORTS = tuple(_EFFORTS)
_REFUSAL = "I'm sorry, but I can't help with that."


class Turn(msgspec.Struct, frozen=True):
    role: str
    text: str


class Prompt(msgspec.Struct, frozen=True):
    """A request to a model, free of any vendor's format. `digest` identifies the body it came from."""

    model: str
    turns: tuple[Turn, ...]
    digest: bytes
    schema: Any = None
    wants_json: bool = False
    max_tokens: int | None = None
    effort: str = "none"

    @property
    def characters(self) -> int:
        return sum(len(turn.text) for turn in self.turns)

    @property
    def text(self) -> str:
        return "\n".join(turn.text for turn in self.turns)


class Answer(msgspec.Struct, frozen=True):
    """`ending` is stop, length, refusal or content_filter. `output_tokens` includes the reasoning."""

    text: str
    ending: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int


class Models:
    """All simulated models of one truth."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._chance = Chance(truth.seed)
        self._planted = [(re.compile(pattern), text) for pattern, text in truth.answer_with.items()]
        self._samples = Samples(truth.qualities, self._chance)
        self.tokens = TokenCount(truth.tokens_per_character)

    def answer(self, prompt: Prompt, choice: int = 0) -> Answer:
        """`choice` counts the answers when several are wanted for one prompt."""
        limit = math.inf if prompt.max_tokens is None else prompt.max_tokens
        thinking = int(min(self._thinking(prompt, choice), limit))
        text, ending = self._outcome(prompt, choice)
        if thinking + self.tokens.of(len(text), prompt.model) > limit:
            text, ending = text[: self.tokens.characters(int(limit) - thinking, prompt.model)], "length"
        return Answer(
            text,
            ending,
            input_tokens=self.tokens.of(prompt.characters, prompt.model),
            cached_tokens=self._cached(prompt),
            output_tokens=thinking + self.tokens.of(len(text), prompt.model),
            reasoning_tokens=thinking,
        )

    def full_text(self, prompt: Prompt, choice: int = 0) -> str:
        """What the model has to say, before any limit, refusal or filter."""
        text = prompt.text
        for pattern, planted in self._planted:
            found = pattern.search(text)
            if found is not None:
                return found.expand(planted)
        pen = Pen(self._chance, prompt.model, prompt.digest, choice)
        judge = Judge(self._truth, self._samples, pen, text)
        if prompt.schema is not None:
            return msgspec.json.encode(document(prompt.schema, judge)).decode()
        if prompt.wants_json:
            return msgspec.json.encode({"answer": pen.answer(_last_words(prompt))}).decode()
        shape = wanted_object(text)
        if shape is not None:
            filled = {name: _filled(judge, name, values) for name, values in shape.items()}
            return f"{pen.remark('verdict')} {pen.trace()}\n```json\n{msgspec.json.encode(filled).decode()}\n```"
        forms = wanted_forms(text)
        if forms:
            chosen = [f"{form.before}{judge.decide(form.name, form.alternatives)}{form.after}" for form in forms]
            return "\n".join([f"{pen.remark('verdict')} {pen.trace()}", *chosen])
        return pen.answer(_last_words(prompt), self._changed(prompt, text), polite=self._truth.answers.polite)

    def _changed(self, prompt: Prompt, text: str) -> bool | None:
        """Whether this answer gives in to an objection; None when there is none."""
        answered = any(turn.role == "assistant" for turn in prompt.turns)
        said = Said(_last_words(prompt), text, answered)
        return changes_mind(self._truth, self._chance, prompt.model, said, prompt.digest)

    def _outcome(self, prompt: Prompt, choice: int) -> tuple[str, str]:
        shares = self._truth.answers
        text = self.full_text(prompt, choice)
        if not shares.any:
            return text, "stop"
        draw = self._chance.share("outcome", prompt.digest, choice)
        if draw < shares.refused:
            return self._refusal(prompt, choice), "refusal"
        if draw < shares.refused + shares.filtered:
            return "", "content_filter"
        if draw < shares.refused + shares.filtered + shares.truncated:
            return text[: len(text) // 2], "length"
        return text, "stop"

    def _refusal(self, prompt: Prompt, choice: int) -> str:
        """In a conversation it holds out against whatever was said."""
        if not any(turn.role == "assistant" for turn in prompt.turns):
            return _REFUSAL
        return f"{_REFUSAL} {Pen(self._chance, prompt.model, prompt.digest, choice).trace(changed=False)}"

    def _thinking(self, prompt: Prompt, choice: int) -> int:
        least, most = _EFFORTS[prompt.effort]
        return round(self._chance.between(least, most, "thinking", prompt.digest, choice)) if most else 0

    def _cached(self, prompt: Prompt) -> int:
        """A long opening that is the same for many requests (the instructions) is usually found in the cache."""
        opening = prompt.turns[0] if prompt.turns else None
        if opening is None or opening.role not in {"system", "developer"}:
            return 0
        tokens = self.tokens.of(len(opening.text), prompt.model)
        if tokens < _CACHEABLE_TOKENS or self._chance.share("cache", prompt.digest) >= _CACHE_HITS:
            return 0
        return tokens - tokens % _CACHE_STEP


def _filled(judge: Judge, name: str, values: tuple[Any, ...]) -> Any:
    """One field of an object that a prompt has shown: decided, written, or a number from 0 to 1."""
    if len(values) > 1:
        return judge.decide(name, values)
    return judge.text(name) if isinstance(values[0], str) else round(judge.number(name), 3)


def _last_words(prompt: Prompt) -> str:
    """The text of the last user turn."""
    return next((turn.text for turn in reversed(prompt.turns) if turn.role == "user"), "")
