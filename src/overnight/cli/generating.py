"""`generate`: one task from flags, without a study file."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import overnight
from overnight.cli.asking import Asking, IdColumn, Models, run_name
from overnight.cli.flags import TrustFlags
from overnight.cli.parameters import Parameter
from overnight.cli.sending import SendFlags, send
from overnight.core.errors import StudyError

if TYPE_CHECKING:
    from overnight.study import Study


def generate(
    *,
    items: Annotated[
        Path, Parameter(help="Required: a csv, tsv, jsonl or parquet file, or a folder of .txt files.", metavar="FILE")
    ],
    model: Models,
    prompt: Annotated[
        str | None, Parameter(help="The question; {name} stands for the item's column of that name.", metavar="TEXT")
    ] = None,
    template: Annotated[
        Path | None, Parameter(help="A file that holds the question, instead of --prompt.", metavar="FILE")
    ] = None,
    name: Annotated[
        str | None, Parameter(help="Name of the run; default: generate- and the items' file name.", metavar="NAME")
    ] = None,
    id_column: IdColumn = None,
    asking: Asking = Asking(),  # noqa: B008 - frozen
    sending: SendFlags = SendFlags(),  # noqa: B008 - frozen
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
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
    return send(
        _study(items, model, prompt, template, name or run_name("generate", items), id_column, asking), sending, flags
    )


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
