"""The task `grade`: judges say of each answer how well it keeps to its statement, from 1 to 5."""

from dataclasses import dataclass
from typing import ClassVar

from overnight.tasks._judging.flags import JudgingFlags
from overnight.tasks._judging.judging import Grade
from overnight.tasks._judging.kinds import judged_kind
from overnight.terminal.parameters import Parameter


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


kind = judged_kind(Grade, Flags)
