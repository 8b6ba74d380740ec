"""The task `rank`: judges compare the answers of two candidates at a time, on every statement and input they share."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import msgspec

from overnight.study.buckets import StudyBuckets
from overnight.study.origin import Origin
from overnight.study.task_kind import Draft, TaskKind
from overnight.tasks._judging.answer_pairs import FORM, Rank
from overnight.tasks._judging.flags import JudgingFlags
from overnight.tasks._judging.kinds import command_of
from overnight.tasks._judging.settings import JudgingStage, check_judging, differences, draft_judging, read_judges
from overnight.tasks._pairs.questions import SAMPLES
from overnight.tasks._pairs.tables import pair_summary
from overnight.tasks._specs.tables import RANK_TABLES, make_rank_tables, missing_rank_table, rank_sections
from overnight.terminal.parameters import Parameter

_ORDERS = ("forward", "reverse")


def check(stage: JudgingStage, origin: Origin) -> None:
    check_judging(stage, origin)
    if stage.group not in {None, "item"}:
        raise origin.error(("group",), "rank compares all answers to one input; write `group: item` or leave it out")
    if stage.candidates is not None and len(stage.candidates) == 1:
        raise origin.error(("candidates",), "rank compares candidates, and there is one only")


def draft(stage: JudgingStage, origin: Origin, buckets: StudyBuckets | None) -> Draft:
    if stage.of is not None:
        stage = msgspec.structs.replace(stage, group="item")
    given = (*SAMPLES, "members", "missing")
    judges = read_judges(stage, origin, buckets, FORM.schema(), given=given, directions=_ORDERS, grouped=True)

    return draft_judging(Rank, judges, stage, origin)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Flags(JudgingFlags):
    """Rank candidates by a specification, two answers at a time.

    Judges see a statement, an input and two answers at a time: every two candidates, in both orders, on every input
    they share. The same command again goes on where the last one ended. A config of SpecEval's runs as it is.

    Examples:
      overnight rank --spec rules.jsonl --candidates answers/a answers/b answers/c \\
        --model openai/gpt-4.1-mini anthropic/claude-haiku-4-5
      overnight rank --config-file openai_ranking_config.yaml
    """

    task: ClassVar[str] = "rank"
    judge: ClassVar[str] = "ranking"

    ranking_judge_model_name: Annotated[str | None, Parameter(help="SpecEval's word for --model.", metavar="MODEL")] = (
        None
    )
    ranking_judge_org: Annotated[
        str | None, Parameter(help="Whose model it is: openai, anthropic, google, together.", metavar="NAME")
    ] = None

    def _judge(self) -> tuple[str | None, str | None]:
        return self.ranking_judge_model_name, self.ranking_judge_org


kind = TaskKind(
    name=Rank.name,
    settings=JudgingStage,
    check=check,
    draft=draft,
    open=Rank.from_spec,
    item_keys=("candidates", "spec"),
    beside_key="prompts",
    fixed=("prompts",),
    differences=differences,
    holds_tables=(("prompt_files",),),
    tables=RANK_TABLES,
    make_tables=make_rank_tables,
    missing_table=missing_rank_table,
    summary=pair_summary,
    report=rank_sections,
    command=command_of(Flags),
)
