"""`generate`: one task from flags, without a study file."""

import re
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

import overnight
from overnight.cli.flags import Flags
from overnight.cli.sending import SendFlags, send
from overnight.core.errors import StudyError


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
        str | None,
        Parameter(name="--id", help="The items' id column; default: ID, id, or the first.", metavar="COLUMN"),
    ] = None,
    system: Annotated[str | None, Parameter(help="The system text.", metavar="TEXT")] = None,
    max_tokens: Annotated[int | None, Parameter(help="Cut answers at so many tokens.", metavar="N")] = None,
    temperature: Annotated[float | None, Parameter(help="From 0 (steady) to 2 (wild).", metavar="X")] = None,
    thinking: Annotated[
        str | None,
        Parameter(help="off, on, minimal, low, medium, high, or a number of tokens.", metavar="V"),
    ] = None,
    replicates: Annotated[int, Parameter(help="Ask each question so many times; default: 1.", metavar="N")] = 1,
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
    options: dict[str, Any] = {
        "max_tokens": max_tokens,
        "temperature": temperature,
        "thinking": int(thinking) if thinking and thinking.isdecimal() else thinking,
    }
    given = {key: value for key, value in options.items() if value is not None}
    study = overnight.Study.from_mapping(
        {
            "name": name or _run_name(items),
            "task": "generate",
            "items": str(items),
            "id": id_column,
            "models": [{"model": one, **given} for one in model],
            "prompt": prompt,
            "templates": None if template is None else [str(template)],
            "system": system,
            "replicates": replicates,
        },
        "generate",
    )
    return send(study, sending, flags)


def _run_name(items: Path) -> str:
    """From the name of the items' file, without what a run's name may not have."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", items.stem).strip("._-")
    return f"generate-{stem or 'items'}"[:100]
