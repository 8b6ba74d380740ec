"""What is said to a model to make it give in, and what is asked: the shipped texts, which a study's own replace."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import msgspec

from overnight.core.template import Template
from overnight.study.prompts import TemplateEntry
from overnight.tasks._prompt_files import prompt_text

Design = Literal["escalation", "types", "prompts", "cold_start"]
Stance = Literal["safety", "factual"]
DESIGNS: tuple[str, ...] = get_args(Design)
STANCES: tuple[str, ...] = get_args(Stance)

CONTROL = "control"
# What stands for the question itself in a text of ours or of the user's.
QUESTION = "question"
# Question sets that ship with the task: `items: safety_questions`.
QUESTION_SETS = tuple(f"{stance}_questions" for stance in STANCES)
USUAL_LEVELS = 3


class Named(msgspec.Struct, frozen=True):
    name: str
    text: str


class Phrases(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is said by us in a stage: one list of turns for each arm's template."""

    design: Design = "escalation"
    stance: Stance = "safety"
    # Escalation: what is said at each level. Otherwise: what each type says.
    levels: list[str] = []
    types: list[Named] = []
    # Neutral re-asks, in turn; empty without a control.
    neutral: list[str] = []

    @property
    def names(self) -> tuple[str, ...]:
        """The templates of the arms: what is pressed with, and the control."""
        pressed = [one.name for one in self.types] or [self.design]
        return (*pressed, CONTROL) if self.neutral else tuple(pressed)

    @property
    def turns(self) -> int:
        """How often a model is pressed after its first answer."""
        if self.design == "cold_start":
            return 0
        return len(self.levels) if self.design == "escalation" else 1

    def said(self, name: str, prompt: str | None) -> list[Template]:
        """The user's further turns in an arm, in order. `prompt` is the question's own, where each has one."""
        if name == CONTROL:
            return [Template(self.neutral[turn % len(self.neutral)], CONTROL) for turn in range(self.turns)]
        if self.design == "escalation":
            return [Template(text, f"level {level}") for level, text in enumerate(self.levels, 1)]
        if self.design == "types":
            return [Template(one.text, name) for one in self.types if one.name == name]
        return [] if prompt is None else [_Literal(prompt)]

    def opening(self, name: str) -> Template:
        """The first turn of an arm: the question, or the question with the pressure in it."""
        asked = next((one.text for one in self.types if one.name == name), None) if self.turns == 0 else None
        return Template(asked or f"{{{QUESTION}}}", name)

    def templates(self) -> list[Template]:
        """All texts that may name a column, each once."""
        fixed = [Template(text, f"level {level}") for level, text in enumerate(self.levels, 1)]
        fixed += [Template(one.text, one.name) for one in self.types]
        return [*fixed, *(Template(text, CONTROL) for text in self.neutral)]


class _Literal(Template):
    """A text from the user's table: braces in it are its own."""

    __slots__ = ()

    def __init__(self, text: str) -> None:
        super().__init__("", "prompt")
        self.text = text

    def render(self, fields: Mapping[str, Any]) -> str:  # noqa: ARG002 - nothing is filled in
        return self.text


def phrases(
    design: Design,
    stance: Stance,
    levels: int | list[str] | None,
    types: Sequence[str | TemplateEntry] | None,
    control: bool | list[str],
) -> Phrases:
    """What a study says, and the shipped texts for what it leaves open."""
    neutral = control if isinstance(control, list) else lines("neutral") if control else []
    known = shipped_types(stance, cold=design == "cold_start")
    chosen: list[Named] = []
    if design in {"types", "cold_start"}:
        listed: Sequence[str | TemplateEntry] = list(known) if types is None else types
        chosen = [Named(one, known[one]) if isinstance(one, str) else Named(one.name, one.text) for one in listed]
    texts: list[str] = []
    if design == "escalation":
        count = USUAL_LEVELS if levels is None else levels
        texts = count if isinstance(count, list) else lines(f"{stance}_levels")[:count]
    return Phrases(design=design, stance=stance, levels=texts, types=chosen, neutral=list(neutral))


def lines(name: str) -> list[str]:
    return [line for line in prompt_text("pressure", name).splitlines() if line.strip()]


def shipped_types(stance: Stance, *, cold: bool = False) -> dict[str, str]:
    pairs = (line.partition(": ") for line in lines(f"{stance}_{'cold' if cold else 'types'}"))
    return {name: text for name, _, text in pairs}


def shipped_questions(name: str) -> list[dict[str, str]]:
    """A question set as a study would write it in place."""
    if name == "factual_questions":
        return list(csv.DictReader(io.StringIO(prompt_text("questions", "factual"))))
    texts = prompt_text("questions", "safety").splitlines()
    return [{"id": f"s{number:02d}", QUESTION: text} for number, text in enumerate(filter(str.strip, texts), 1)]
