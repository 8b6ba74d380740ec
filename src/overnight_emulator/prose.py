"""Free text: short plausible sentences that carry a trace of their question.

Every answer repeats some words of the last user turn and ends in a mark such as `[trace gpt-4.1 3fa9c1d2e0]`, made of
the model's name and a hash of the request. Whoever reads an answer later can tell which question it belongs to.
"""

from __future__ import annotations

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
_WORDS_ECHOED = 6
_LONGEST_ECHO = 120


def prose(chance: Chance, model: str, question: str, digest: bytes, choice: int) -> str:
    opening = chance.pick(_OPENINGS, "opening", digest, choice)
    middle = chance.pick(_MIDDLES, "middle", digest, choice)
    first = chance.number("further", digest, choice)
    more = [_FURTHER[(first + i) % len(_FURTHER)] for i in range(first % 4)]
    sentences = [f'{opening} "{_echo(question)}", {middle}.', *more]
    return " ".join([*sentences, trace(chance, model, digest, choice)])


def trace(chance: Chance, model: str, digest: bytes, choice: int) -> str:
    return f"[trace {model} {chance.hexadecimal(10, 'trace', digest, choice)}]"


def _echo(question: str) -> str:
    words = question[-4 * _LONGEST_ECHO :].split()
    return " ".join(words[-_WORDS_ECHOED:])[-_LONGEST_ECHO:]
