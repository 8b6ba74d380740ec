"""How many inputs are wanted, how hard, and how they are looked for."""

from math import ceil

import msgspec

from overnight.tasks._judging.form import GRADES

_EASIEST = max(GRADES)
# An input is as hard as wanted when its difficulty is within one grade of what was asked for.
_ONE_GRADE = 1 / (_EASIEST - 1)


class InputRules(msgspec.Struct, frozen=True, kw_only=True):
    """What of the study's keys decides which inputs are asked for and kept."""

    # Inputs of each statement; None: all that pass.
    n: int | None = 10
    rounds: int = 3
    scenarios: int = 5
    per_scenario: int = 3
    # The share of a writer's earlier scenarios that are asked for more inputs, those nearest the difficulty first.
    selection: float = 0.33
    # From 0, every model keeps to the statement, to 1, every model does the opposite of it.
    difficulty: float = 1.0
    # The highest mean rating that an input may have: 5 lets all pass.
    rating_threshold: float = 5.0
    # Evenly from each grade, instead of those nearest the difficulty.
    uniform: bool = False
    # From this likeness on, two texts count as one.
    likeness: float = 0.7

    @property
    def grade(self) -> float:
        """The difficulty as a grade."""
        return _EASIEST - self.difficulty * (_EASIEST - 1)

    def selected(self, scenarios: int) -> int:
        """How many of so many earlier scenarios are asked for more."""
        return min(scenarios, ceil(scenarios * self.selection))

    def distance(self, difficulty: float) -> float:
        return abs(difficulty - self.difficulty)

    def is_near(self, difficulty: float) -> bool:
        return self.distance(difficulty) <= _ONE_GRADE + 1e-9


def difficulty_of(grade: float) -> float:
    """Of a mean grade: 0 for 5, 1 for 1."""
    return (_EASIEST - grade) / (_EASIEST - 1)
