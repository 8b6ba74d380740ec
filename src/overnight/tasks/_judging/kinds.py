"""The kinds of task that hold answers to a statement one by one: alike in all but what is asked for."""

from functools import partial

from overnight.study.task_kind import Command, TaskKind
from overnight.tasks._judging.flags import JudgingFlags
from overnight.tasks._judging.judging import Judging
from overnight.tasks._judging.settings import JudgingStage, check_judging, differences, draft_one_by_one
from overnight.tasks._specs.tables import (
    JUDGED_TABLES,
    judged_sections,
    judged_summary,
    make_judged_tables,
    missing_judged_table,
)


def command_of(flags: type[JudgingFlags]) -> Command:
    return Command(flags=flags, items_help=None, optional=True, named="the task's, the specification's and the judge's")


def judged_kind(task: type[Judging], flags: type[JudgingFlags]) -> TaskKind:
    return TaskKind(
        name=task.name,
        settings=JudgingStage,
        check=check_judging,
        draft=partial(draft_one_by_one, task),
        open=task.from_spec,
        item_keys=("candidates", "spec"),
        beside_key="prompts",
        fixed=("prompts",),
        differences=differences,
        holds_tables=(("prompt_files",),),
        tables=JUDGED_TABLES,
        make_tables=make_judged_tables,
        missing_table=missing_judged_table,
        summary=judged_summary,
        report=judged_sections,
        command=command_of(flags),
    )
