"""What every task from flags has: who is asked and how, and the name that the run gets."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from overnight.terminal.parameters import Parameter

Models = Annotated[
    list[str],
    Parameter(
        help="Required: who is asked, such as openai/gpt-4.1-mini; several are fine.",
        metavar="PROVIDER/MODEL...",
        consume_multiple=True,
    ),
]
SomeModels = Annotated[
    list[str] | None,
    Parameter(
        help="Who is asked, such as openai/gpt-4.1-mini; several are fine.",
        metavar="PROVIDER/MODEL...",
        consume_multiple=True,
    ),
]
IdColumn = Annotated[
    str | None, Parameter(name="--id", help="The items' id column; default: ID, id or the first.", metavar="COLUMN")
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Asking:
    """How the models are asked."""

    system: Annotated[str | None, Parameter(help="The system text.", metavar="TEXT")] = None
    max_tokens: Annotated[int | None, Parameter(help="Cut answers at so many tokens.", metavar="N")] = None
    temperature: Annotated[float | None, Parameter(help="From 0 (steady) to 2 (wild).", metavar="X")] = None
    thinking: Annotated[
        str | None, Parameter(help="off, on, minimal, low, medium, high, or a number of tokens.", metavar="V")
    ] = None
    empty: Annotated[
        Literal["allow", "skip"] | None,
        Parameter(
            help="Items with nothing in a column that the question names: ask all the same, or leave them out; "
            "default: such items are refused.",
            metavar="allow|skip",
        ),
    ] = None
    new_model: Annotated[
        bool, Parameter(help="The model's name is right, though it is not known and looks like one that is.")
    ] = False
    replicates: Annotated[int, Parameter(help="Ask each question so many times; default: 1.", metavar="N")] = 1

    def entry(self, model: str) -> dict[str, Any]:
        """The model as a study writes it; what is not given is left to the provider."""
        thinking = int(self.thinking) if self.thinking and self.thinking.isdecimal() else self.thinking
        options = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "thinking": thinking,
            "new": True if self.new_model else None,
        }
        return {"model": model} | {key: value for key, value in options.items() if value is not None}


def run_name(task: str, items: Path) -> str:
    """From the name of the items' file, without what a run's name may not have."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", items.stem).strip("._-")
    return f"{task}-{stem or 'items'}"[:100]
