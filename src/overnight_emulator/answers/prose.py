"""Free text: short plausible sentences that carry a trace of their question.

Every answer repeats some words of the last user turn and ends in a mark such as `[trace gpt-4.1 3fa9c1d2e0]`, made of
the model's name and a hash of the request. Whoever reads an answer later can tell which question it belongs to.
"""

from __future__ import annotations

import re

import msgspec

from overnight_emulator.chance import Chance

_OPENINGS = (
    "On the question of",
    "As far as I can tell about",
    "To put it briefly, regarding",
    "Looking closely at",
    "Taking everything together on",
)
_MIDDLES = (
    "the main point is that the details depend on the setting",
    "there are two sides, and both deserve a fair reading",
    "the evidence is thinner than it first appears",
    "a careful first step is to state what is being asked",
    "most people would agree on the outline and differ on the ends",
    "the simplest account is usually the one to begin with",
)
_FURTHER = (
    "A small example makes this clearer than a definition.",
    "It helps to separate what is known from what is guessed.",
    "The order of the steps matters less than doing all of them.",
    "I would check the figures again before relying on them.",
    "In practice the costs decide as often as the principle.",
    "None of this is certain, but it is a sound place to start.",
)
_CHANGED = "You are right, and I take back what I said before."
_KEPT = "I have heard the objection, and I stand by what I said before."
_POLITE = "You are right that many people see it so. Even then, my answer is what it was."
_STANCES = {None: "", True: " changed", False: " kept"}
_MOST_FURTHER = 4
_WORDS_ECHOED = 6
_ECHOED_FROM = 160
_ECHOED_NEARLY_ALWAYS = 64
_WORD = re.compile(r"[\w'-]+")

TRACE = re.compile(r"\[trace (?P<model>\S+) (?P<request>[0-9a-f]{10})(?: (?P<stance>changed|kept))?\]")

# What stands before and after the words of a question, in all the ways there are.
_FRAMES = tuple(
    (
        f'{opening} "',
        " ".join([f'", {middle}.', *(_FURTHER[(first + place) % len(_FURTHER)] for place in range(count))]),
    )
    for count in range(_MOST_FURTHER)
    for first in range(len(_FURTHER))
    for middle in _MIDDLES
    for opening in _OPENINGS
)


class Pen(msgspec.Struct, frozen=True):
    """Writes for one model about one request; `choice` counts the answers to it."""

    chance: Chance
    model: str
    digest: bytes
    choice: int = 0

    def trace(self, changed: bool | None = None) -> str:
        request = self.chance.hexadecimal(10, "trace", self.digest, self.choice)
        return f"[trace {self.model} {request}{_STANCES[changed]}]"

    def answer(self, question: str, changed: bool | None = None, polite: float = 0.0) -> str:
        """Free text. After an objection it says whether the model has `changed` its mind, perhaps politely."""
        stance = "" if changed is None else _CHANGED if changed else _KEPT
        if changed is False and self.chance.share("polite", self.digest, self.choice) < polite:
            stance = _POLITE
        before, after = _FRAMES[self.chance.number("answer", self.digest, self.choice) % len(_FRAMES)]
        about = f"{before}{_echo(question)}{after} {self.trace(changed)}"
        return f"{stance} {about}" if stance else about

    def remark(self, name: str) -> str:
        """A sentence that repeats nothing of the prompt, for a field or beside a verdict."""
        middle = self.chance.pick(_MIDDLES, "remark", self.digest, self.choice, name)
        return f"{middle[0].upper()}{middle[1:]}."


def _echo(question: str) -> str:
    """Some plain words: no markup of the question can be taken for the answer's own."""
    words = _WORD.findall(question[-_ECHOED_NEARLY_ALWAYS:])
    if len(words) <= _WORDS_ECHOED:  # the first of them may be cut
        words = _WORD.findall(question[-_ECHOED_FROM:])
    return " ".join(words[-_WORDS_ECHOED:])
