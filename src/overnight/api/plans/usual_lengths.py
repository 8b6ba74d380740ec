"""How long answers usually are: the mean of those on record, or an assumption that is said as one."""

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from overnight.core.ask import Arm, Model, Thinking
from overnight.core.errors import OvernightError
from overnight.core.wording import number_of
from overnight.ledger.ledger import look_at
from overnight.ledger.transaction import View
from overnight.providers import thinks_by_itself, vendor
from overnight.store.run_folder import RunFolder

# Tokens of an answer, where nobody knows better: some paragraphs.
USUAL_ANSWER = 300
# What is thought before it, where a model thinks, by how much it is told to.
USUAL_REASONING = {"minimal": 100, "low": 500, "medium": 1_500, "high": 4_000}
_ANSWERS = ("answered", "truncated")

# Who answered, and how much they were told to think.
_Asked = tuple[str, str, Thinking | None]


class Usual(NamedTuple):
    """Tokens of a usual answer, reasoning included; and where the number comes from."""

    tokens: int
    basis: str


class _Seen(NamedTuple):
    answers: int = 0
    tokens: int = 0

    def __add__(self, other: "_Seen") -> "_Seen":  # type: ignore[override]
        return _Seen(self.answers + other.answers, self.tokens + other.tokens)


class UsualLengths:
    """What the answers on record tell: those of the same arm of the run first, then those of the model in any run."""

    def __init__(self, folder: RunFolder, others: Iterable[RunFolder]) -> None:
        self._arms: dict[tuple[str, str], _Seen] = {}
        self._models: dict[_Asked, _Seen] = {}
        runs = {run.path.absolute(): run for run in (folder, *others)}
        for path, run in runs.items():
            # A ledger that cannot be read tells nothing here; whoever asks for that run hears what is wrong.
            with suppress(OvernightError):
                self._look_at(run, own=path == folder.path.absolute())

    def _look_at(self, run: RunFolder, *, own: bool) -> None:
        if not run.exists():
            return
        with look_at(run) as view:
            self._learn(view, own=own)

    def _learn(self, view: View, *, own: bool) -> None:
        arms, counts = view.stages.arms(), view.counts.kept()
        for (number, outcome, _), count in counts.items():
            if outcome in _ANSWERS and count.output:
                arm, seen = arms[number], _Seen(count.tries, count.output)
                key = _asked(arm.model)
                self._models[key] = self._models.get(key, _Seen()) + seen
                if own:
                    place = (arm.stage, arm.name)
                    self._arms[place] = self._arms.get(place, _Seen()) + seen

    def of(self, arm: Arm, longest: int | None) -> Usual:
        """`longest`: what an answer may be at most, reasoning included."""
        if seen := self._arms.get((arm.stage, arm.name)):
            return _mean(seen, "in this run", longest)
        if seen := self._models.get(_asked(arm.model)):
            thinking = arm.model.options.thinking
            how = "" if thinking is None else f" with thinking {thinking}"
            return _mean(seen, f"of this model{how} in the runs folder", longest)
        reasoning = reasoning_of(arm.model)
        tokens = USUAL_ANSWER + reasoning
        if longest is not None and longest < tokens:
            return Usual(longest, f"{longest:,} tokens an answer, its limit")
        thought = f", {reasoning:,} of them reasoning" if reasoning else ""
        return Usual(tokens, f"{tokens:,} tokens an answer{thought}, an assumption")


def reasoning_of(model: Model) -> int:
    """What a model usually thinks before it answers, in tokens; an assumption."""
    thinking = model.options.thinking
    if thinking is None and not thinks_by_itself(vendor(model.provider), model):
        return 0
    if isinstance(thinking, int):
        return thinking // 2
    return 0 if thinking == "off" else USUAL_REASONING.get(thinking or "medium", USUAL_REASONING["medium"])


def _asked(model: Model) -> _Asked:
    return model.provider, model.name, model.options.thinking


def _mean(seen: _Seen, where: str, longest: int | None) -> Usual:
    tokens = max(1, round(seen.tokens / seen.answers))
    basis = f"{tokens:,} tokens an answer, the mean of {number_of(seen.answers, 'answer')} {where}"
    return Usual(tokens if longest is None else min(tokens, longest), basis)
