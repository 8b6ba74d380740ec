"""The task `comply`: judges say of each answer whether it keeps to its statement."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from overnight.tasks._judging.flags import JudgingFlags
from overnight.tasks._judging.judging import Comply
from overnight.tasks._judging.kinds import judged_kind
from overnight.terminal.parameters import Parameter


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


kind = judged_kind(Comply, Flags)
