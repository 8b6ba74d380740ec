"""The task `comply`: judges say of each answer whether it keeps to its statement."""

from overnight.study.buckets import StudyBuckets
from overnight.study.origin import Origin
from overnight.study.task_kind import Draft, TaskKind
from overnight.tasks._judging import Comply
from overnight.tasks._judging_settings import JudgingStage, check_judging, draft_judging
from overnight.tasks._spec_tables import JUDGED_TABLES, judged_summary, make_judged_tables, missing_judged_table


def draft(stage: JudgingStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    return draft_judging(Comply, stage, origin, buckets)


kind = TaskKind(
    name=Comply.name,
    settings=JudgingStage,
    check=check_judging,
    draft=draft,
    open=Comply.from_spec,
    item_keys=("candidates", "spec"),
    tables=JUDGED_TABLES,
    make_tables=make_judged_tables,
    missing_table=missing_judged_table,
    summary=judged_summary,
)
