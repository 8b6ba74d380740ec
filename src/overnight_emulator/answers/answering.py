"""The simulated models: what is answered to a prompt, as a pure function of the truth and the prompt.

A dialect turns a request into a Prompt, and the Answer into its own response. The answer depends on the seed and the
request's body alone, never on the order of arrival, the custom id or the attempt.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from overnight_emulator.answers.forms import wanted_forms, wanted_object
from overnight_emulator.answers.ideas import Inventor, listed_texts, shown_list
from overnight_emulator.answers.json_requests import ANY_FIELDS, wanted_schema
from overnight_emulator.answers.judge import FLIP, Judge, Talk, share_of_objection
from overnight_emulator.answers.prose import Pen
from overnight_emulator.answers.samples import Samples
from overnight_emulator.answers.schema import UnusableSchemaError, document
from overnight_emulator.answers.tokens import TokenCount
from overnight_emulator.answers.tools import Call, Offer, Tool
from overnight_emulator.chance import Chance
from overnight_emulator.patterns import ByModel
from overnight_emulator.truth import PlantedCall, Truth

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
    """What somebody said. `files` counts the pictures, documents and sounds that came with it."""

    role: str
    text: str
    files: int = 0


class Prompt(msgspec.Struct, frozen=True):
    """A request to a model, free of any vendor's format. `digest` identifies the body it came from."""

    model: str
    turns: tuple[Turn, ...]
    digest: bytes
    schema: Any = None
    wants_json: bool = False
    max_tokens: int | None = None
    effort: str = "none"
    offer: Offer = Offer()
    stops: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        return sum(turn.files for turn in self.turns)

    @property
    def characters(self) -> int:
        return sum(len(turn.text) for turn in self.turns)

    @property
    def text(self) -> str:
        return "\n".join([turn.text for turn in self.turns])


class Answer(msgspec.Struct, frozen=True):
    """`ending` is stop, length, refusal, content_filter or tool_calls. `output_tokens` includes the reasoning.

    `stopped_by` is the sequence that ended it, of those that the request named.
    """

    text: str
    ending: str
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    calls: tuple[Call, ...] = ()
    stopped_by: str | None = None


class Said(msgspec.Struct, frozen=True):
    """What a model has to say: a text, or calls of tools."""

    text: str
    ending: str = "stop"
    calls: tuple[Call, ...] = ()
    stopped_by: str | None = None

    @property
    def characters(self) -> int:
        called = sum([len(call.name) + len(call.written) for call in self.calls]) if self.calls else 0
        return len(self.text) + called


class Models:
    """All simulated models of one truth."""

    def __init__(self, truth: Truth) -> None:
        self.truth = truth
        self._chance = Chance(truth.seed)
        self._planted = [(re.compile(pattern), planted) for pattern, planted in truth.answer_with.items()]
        self._samples = Samples(truth.qualities, self._chance)
        self._flip = ByModel(truth.flip, FLIP)
        self.tokens = TokenCount(truth.tokens_per_character, truth.tokens_per_file)

    def answer(self, prompt: Prompt, choice: int = 0) -> Answer:
        """`choice` counts the answers when several are wanted for one prompt."""
        limit = math.inf if prompt.max_tokens is None else prompt.max_tokens
        thinking = 0 if prompt.effort == "none" else int(min(self._thinking(prompt, choice), limit))
        said = self._outcome(prompt, choice)
        spoken = self.tokens.of(said.characters, prompt.model)
        if thinking + spoken > limit:
            # A call that is cut off cannot be made: of it nothing is left.
            room = 0 if said.calls else self.tokens.characters(int(limit) - thinking, prompt.model)
            said = Said(said.text[:room], "length")
            spoken = self.tokens.of(said.characters, prompt.model)
        return Answer(
            said.text,
            said.ending,
            self.input_tokens(prompt.turns, prompt.model),
            self._cached(prompt),
            thinking + spoken,
            thinking,
            said.calls,
            said.stopped_by,
        )

    def input_tokens(self, turns: Sequence[Turn], model: str) -> int:
        """What a prompt comes to, with all that goes along with its words."""
        characters, files = 0, 0
        for turn in turns:
            characters += len(turn.text)
            files += turn.files
        return self.tokens.of(characters, model) + self.tokens.of_files(files, model)

    def full_text(self, prompt: Prompt, choice: int = 0) -> str:
        """What the model has to say, before any limit, refusal or filter."""
        text = prompt.text
        planted = self._planted_answer(text)
        if isinstance(planted, str):
            return planted
        pen = self._pen(prompt, choice)
        if prompt.schema is not None:
            judge = self._judge(pen, text)
            author = Inventor(self.truth.ideas, judge, pen, text) if listed_texts(prompt.schema) else judge
            return msgspec.json.encode(document(prompt.schema, author)).decode()
        if prompt.wants_json:
            return msgspec.json.encode(self._any_object(prompt, pen, text)).decode()
        shape = wanted_object(text)
        if shape is not None:
            filled = msgspec.json.encode(_filled(self._judge(pen, text), shape)).decode()
            return f"{pen.remark('verdict')} {pen.trace()}\n```json\n{filled}\n```"
        listed = shown_list(text)
        if listed is not None:
            author = Inventor(self.truth.ideas, self._judge(pen, text), pen, text)
            return msgspec.json.encode(document(listed, author)).decode()
        forms = wanted_forms(text)
        if forms:
            judge = self._judge(pen, text)
            chosen = [f"{form.before}{judge.decide(form.name, form.alternatives)}{form.after}" for form in forms]
            return "\n".join([f"{pen.remark('verdict')} {pen.trace()}", *chosen])
        asked = wanted_schema("\n".join(_instructions(prompt))) if "json" in text.lower() else None
        if asked is not None:
            return msgspec.json.encode(document(asked, self._judge(pen, text))).decode()
        last = _last_words(prompt)
        return pen.answer(last, self._changed(prompt, last, text), polite=self.truth.answers.polite)

    def _any_object(self, prompt: Prompt, pen: Pen, text: str) -> dict[str, Any]:
        """An object of the shape that a prompt shows, if it shows one."""
        judge = self._judge(pen, text)
        shape = wanted_object(text)
        if shape is not None:
            return _filled(judge, shape)
        shown = wanted_schema("\n".join(_instructions(prompt)))
        found = document(shown, judge) if shown is not None and shown.get("properties") != ANY_FIELDS else None
        return found if isinstance(found, dict) and found else {"answer": pen.answer(_last_words(prompt))}

    def _judge(self, pen: Pen, text: str) -> Judge:
        return Judge(self.truth, self._samples, pen, text)

    def _changed(self, prompt: Prompt, last: str, text: str) -> bool | None:
        """Whether this answer gives in to an objection; None when there is none."""
        answered = _follows_an_answer(prompt)
        flip = self._flip[prompt.model]
        if isinstance(flip, dict):
            share = share_of_objection(flip, Talk(last, text, answered))
        else:
            share = flip if answered else None
        return None if share is None else self._chance.share("changes mind", prompt.digest) < share

    def _outcome(self, prompt: Prompt, choice: int) -> Said:
        shares = self.truth.answers
        said = self._said(prompt, choice)
        if not shares.any:
            return said
        draw = self._chance.share("outcome", prompt.digest, choice)
        if draw < shares.refused:
            return Said(self._refusal(prompt, choice), "refusal")
        if draw < shares.refused + shares.filtered:
            return Said("", "content_filter")
        if draw < shares.refused + shares.filtered + shares.truncated:
            return Said(said.text[: len(said.text) // 2], "length")
        return said

    def _said(self, prompt: Prompt, choice: int) -> Said:
        """A call where there is one to make, else a text, up to the first sequence that ends it."""
        call = self._call(prompt, choice) if prompt.offer.tools else None
        if call is not None:
            return Said("", "tool_calls", (call,))
        text = self.full_text(prompt, choice)
        if not prompt.stops:
            return Said(text)
        places = [(text.find(stop), stop) for stop in prompt.stops if stop and stop in text]
        if not places:
            return Said(text)
        place, stop = min(places)
        return Said(text[:place], stopped_by=stop)

    def _call(self, prompt: Prompt, choice: int) -> Call | None:
        planted = self._planted_answer(prompt.text)
        if isinstance(planted, PlantedCall) and prompt.offer.choice != "none":
            tool = prompt.offer.find(planted.call)
            if tool is not None and not _answered(prompt):
                return Call(tool.name, planted.arguments, self._mark(prompt, choice))
        eager = self._chance.share("calls a tool", prompt.digest, choice) < self.truth.answers.calls
        chosen = prompt.offer.chosen(_last_words(prompt), answered=_answered(prompt), eager=eager)
        if chosen is None:
            return None
        return Call(chosen.name, self._arguments(prompt, chosen, choice), self._mark(prompt, choice))

    def _arguments(self, prompt: Prompt, tool: Tool, choice: int) -> Any:
        pen = self._pen(prompt, choice)
        if tool.takes_text:
            return pen.remark(tool.name)
        if not tool.schema:
            return {}
        arguments = document(tool.schema, self._judge(pen, prompt.text))
        if not isinstance(arguments, dict):
            raise UnusableSchemaError(f"the parameters of '{tool.name}' are no object")
        return arguments

    def _planted_answer(self, text: str) -> str | PlantedCall | None:
        """What the truth wants said to this prompt, with the groups of its pattern filled in."""
        for pattern, planted in self._planted:
            found = pattern.search(text)
            if found is not None:
                return _expanded(found, planted)
        return None

    def _pen(self, prompt: Prompt, choice: int) -> Pen:
        return Pen(self._chance, prompt.model, prompt.digest, choice)

    def _mark(self, prompt: Prompt, choice: int) -> str:
        return self._chance.hexadecimal(24, "tool call", prompt.digest, choice)

    def _refusal(self, prompt: Prompt, choice: int) -> str:
        """In a conversation it holds out against whatever was said."""
        if not _follows_an_answer(prompt):
            return _REFUSAL
        return f"{_REFUSAL} {self._pen(prompt, choice).trace(changed=False)}"

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


def _filled(judge: Judge, shape: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    """An object that a prompt has shown, field by field."""
    return {name: _value(judge, name, values) for name, values in shape.items()}


def _value(judge: Judge, name: str, values: tuple[Any, ...]) -> Any:
    """Decided, written, or a number from 0 to 1."""
    if len(values) > 1:
        return judge.decide(name, values)
    return judge.text(name) if isinstance(values[0], str) else round(judge.number(name), 3)


def _last_words(prompt: Prompt) -> str:
    """The text of the last user turn, or of the tool that has answered since."""
    for turn in reversed(prompt.turns):
        if turn.role in {"user", "tool"}:
            return turn.text
    return ""


def _follows_an_answer(prompt: Prompt) -> bool:
    return "assistant" in [turn.role for turn in prompt.turns]


def _instructions(prompt: Prompt) -> list[str]:
    """Where somebody may say what form an answer is to have."""
    return [*(turn.text for turn in prompt.turns if turn.role in {"system", "developer"}), _last_words(prompt)]


def _answered(prompt: Prompt) -> bool:
    """Whether a tool was the last to speak."""
    return bool(prompt.turns) and prompt.turns[-1].role == "tool"


def _expanded(found: re.Match[str], planted: str | PlantedCall) -> str | PlantedCall:
    if isinstance(planted, str):
        return found.expand(planted)
    filled = {
        name: found.expand(value) if isinstance(value, str) else value for name, value in planted.arguments.items()
    }
    return PlantedCall(planted.call, filled)
