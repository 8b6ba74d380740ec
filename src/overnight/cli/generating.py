"""`generate`: one task from flags, without a study file."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

import overnight
from overnight.cli.flags import Flags
from overnight.cli.sending import SendFlags, send
from overnight.core.errors import StudyError

if TYPE_CHECKING:
    from overnight.study import Study


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
    replicates: Annotated[int, Parameter(help="Ask each question so many times; default: 1.", metavar="N")] = 1

    def entry(self, model: str) -> dict[str, Any]:
        """The model as a study writes it; what is not given is left to the provider."""
        thinking = int(self.thinking) if self.thinking and self.thinking.isdecimal() else self.thinking
        options = {"max_tokens": self.max_tokens, "temperature": self.temperature, "thinking": thinking}
        return {"model": model} | {key: value for key, value in options.items() if value is not None}


def generate(
    *,
    items: Annotated[
        Path, Parameter(help="Required: a csv, tsv, jsonl or parquet file, or a folder of .txt files.", metavar="FILE")
    ],
    model: Annotated[
        list[str],
        Parameter(
            help="Required: who is asked, such as openai/gpt-4.1-mini; several are fine.",
            metavar="PROVIDER/MODEL...",
            consume_multiple=True,
        ),
    ],
    prompt: Annotated[
        str | None, Parameter(help="The question; {name} stands for the item's column of that name.", metavar="TEXT")
    ] = None,
    template: Annotated[
        Path | None, Parameter(help="A file that holds the question, instead of --prompt.", metavar="FILE")
    ] = None,
    name: Annotated[
        str | None, Parameter(help="Name of the run; default: generate- and the items' file name.", metavar="NAME")
    ] = None,
    id_column: Annotated[
        str | None, Parameter(name="--id", help="The items' id column; default: ID, id or the first.", metavar="COLUMN")
    ] = None,
    asking: Asking = Asking(),  # noqa: B008 - frozen
    sending: SendFlags = SendFlags(),  # noqa: B008 - frozen
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Ask models about every item of a table: a study from flags.

    The same command again goes on where the last one ended. A changed question needs a new --name, or --as to
    reuse the answers that still fit.

    Examples:
      overnight generate --items fruit.csv --prompt "Describe {text}." \\
        --model openai/gpt-4.1-mini
      overnight generate --items texts/ --template ask.txt --max-tokens 500 \\
        --model openai/gpt-4.1 openai/gpt-4.1-mini
    """
    if (prompt is None) == (template is None):
        message = "generate: wanted one of --prompt and --template"
        raise StudyError(message)
    return send(_study(items, model, prompt, template, name or _run_name(items), id_column, asking), sending, flags)


def _study(
    items: Path,
    models: list[str],
    prompt: str | None,
    template: Path | None,
    name: str,
    id_column: str | None,
    asking: Asking,
) -> "Study":
    written = {
        "name": name,
        "task": "generate",
        "items": str(items),
        "id": id_column,
        "models": [asking.entry(model) for model in models],
        "prompt": prompt,
        "templates": None if template is None else [str(template)],
        "system": asking.system,
        "replicates": asking.replicates,
    }
    # What is not given is not written: a study tells an absent key from an empty one.
    return overnight.Study.from_mapping({key: value for key, value in written.items() if value is not None}, "generate")


def _run_name(items: Path) -> str:
    """From the name of the items' file, without what a run's name may not have."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", items.stem).strip("._-")
    return f"generate-{stem or 'items'}"[:100]
