"""The task `comply`: judges say of each answer whether it keeps to its statement."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from overnight.study.buckets import StudyBuckets
from overnight.study.origin import Origin
from overnight.study.task_kind import Command, Draft, TaskKind
from overnight.tasks._judging.flags import JudgingFlags
from overnight.tasks._judging.judging import Comply
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
    return draft_judging(Comply, stage, origin, buckets)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Flags(JudgingFlags):
    """Say of each answer whether it keeps to a specification.

    Judges see a statement, an input and an answer at a time. The same command again goes on where the last one
    ended. A config of SpecEval's runs as it is.

    Examples:
      overnight comply --spec rules.jsonl --candidates answers/a answers/b \\
        --model openai/gpt-4.1-mini
      overnight comply --config-file openai_spec_openai_judge.yaml
    """

    task: ClassVar[str] = "comply"
    judge: ClassVar[str] = "compliance"

    compliance_judge_model_name: Annotated[
        str | None, Parameter(help="SpecEval's word for --model.", metavar="MODEL")
    ] = None
    compliance_judge_org: Annotated[
        str | None, Parameter(help="Whose model it is: openai, anthropic, google, together.", metavar="NAME")
    ] = None

    def _judge(self) -> tuple[str | None, str | None]:
        return self.compliance_judge_model_name, self.compliance_judge_org


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
    report=judged_sections,
    command=Command(
        flags=Flags, items_help=None, optional=True, named="the task's, the specification's and the judge's"
    ),
)
