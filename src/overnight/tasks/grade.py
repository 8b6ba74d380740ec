"""The task `grade`: judges say of each answer how well it keeps to its statement, from 1 to 5."""

from dataclasses import dataclass
from typing import ClassVar

from overnight.study.buckets import StudyBuckets
from overnight.study.origin import Origin
from overnight.study.task_kind import Command, Draft, TaskKind
from overnight.tasks._judging.flags import JudgingFlags
from overnight.tasks._judging.judging import Grade
from overnight.tasks._judging.settings import JudgingStage, check_judging, draft_judging
from overnight.tasks._specs.tables import (
    JUDGED_TABLES,
    judged_sections,
    judged_summary,
    make_judged_tables,
    missing_judged_table,
)
from overnight.terminal.parameters import Parameter


def draft(stage: JudgingStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    return draft_judging(Grade, stage, origin, buckets)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Flags(JudgingFlags):
    """Grade answers by a specification, from 1 to 5.

    Judges see a statement, an input and an answer at a time. The same command again goes on where the last one
    ended.

    Examples:
      overnight grade --spec rules.jsonl --candidates answers/a answers/b \\
        --model openai/gpt-4.1-mini
    """

    task: ClassVar[str] = "grade"


kind = TaskKind(
    name=Grade.name,
    settings=JudgingStage,
    check=check_judging,
    draft=draft,
    open=Grade.from_spec,
    item_keys=("candidates", "spec"),
    tables=JUDGED_TABLES,
    make_tables=make_judged_tables,
    missing_table=missing_judged_table,
    summary=judged_summary,
    report=judged_sections,
    command=Command(
        flags=Flags, items_help=None, optional=True, named="the task's, the specification's and the judge's"
    ),
)
