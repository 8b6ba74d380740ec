"""How large a study may be: every question is written, sent and kept, and a plan counts them one by one."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from overnight.core.errors import StudyError
from overnight.core.wording import number_of
from overnight.study.origin import Origin

# More than anybody means. A million questions take a few seconds to plan; these take about a minute.
MOST_QUESTIONS = 10_000_000
MOST_REPLICATES = 100_000


class _Asking(Protocol):
    """The part of a stage that is read here."""

    @property
    def name(self) -> str: ...
    @property
    def of(self) -> str | None: ...
    @property
    def group(self) -> str | None: ...
    @property
    def replicates(self) -> int: ...


def refuse_too_many(questions: int, made_of: str) -> None:
    """`made_of`: what makes so many of them, in words."""
    if questions > MOST_QUESTIONS:
        most = f"a stage asks at most {MOST_QUESTIONS:,}"
        raise StudyError(
            f"{made_of} make {questions:,} questions, and {most}; ask fewer, or cut the study into several"
        )


def check_sizes(stages: Sequence[tuple[_Asking, int, Origin]], items: Mapping[str, int]) -> None:
    """Stages with their number of arms, each after the one whose rows it takes; and how many items each table has.

    What a task asks about several items at once, as pairs, it counts itself.
    """
    asked_about: dict[str, int] = {}
    asked: dict[str, int] = {}
    for stage, arms, origin in stages:
        if stage.of is None:
            subjects, what = items[stage.name], number_of(items[stage.name], "item")
        else:
            subjects = asked_about[stage.of] if stage.group == "item" else asked[stage.of]
            what = f"{number_of(subjects, 'row')} of '{stage.of}'"
        asked_about[stage.name] = subjects
        asked[stage.name] = subjects * arms * stage.replicates
        made_of = f"{what} x {number_of(arms, 'arm')} x {number_of(stage.replicates, 'replicate')}"
        try:
            refuse_too_many(asked[stage.name], made_of)
        except StudyError as error:
            raise origin.error(("replicates",) if stage.replicates > 1 else (), str(error)) from None
