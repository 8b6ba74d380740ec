"""`compare`: judges compare samples in pairs; a study from flags."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import overnight
from overnight.cli.asking import Asking, IdColumn, Models, run_name
from overnight.cli.flags import TrustFlags
from overnight.cli.parameters import Parameter
from overnight.cli.sending import SendFlags, send
from overnight.core.errors import StudyError

if TYPE_CHECKING:
    from overnight.study import Study


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Judging:
    """What is judged, on which pairs, and what is said besides the verdict."""

    trait: Annotated[
        str, Parameter(help="overall_quality, organization, or a name of your own; default: overall_quality.")
    ] = "overall_quality"
    description: Annotated[
        str | None, Parameter(help="What a trait of your own means, in a sentence or two.", metavar="TEXT")
    ] = None
    template: Annotated[
        list[str] | None,
        Parameter(
            help="Templates: files, or default, examiner, gaps, impartial, short, steps; default: default.",
            metavar="NAME|FILE...",
            consume_multiple=True,
        ),
    ] = None
    pairs: Annotated[int | None, Parameter(help="Ask only so many pairs; default: all.", metavar="N")] = None
    adaptive: Annotated[bool, Parameter(help="Choose the --pairs in rounds, by the verdicts on those before them.")] = (
        False
    )
    both_orders: Annotated[bool, Parameter(help="Ask every pair in both orders.")] = False
    ties: Annotated[bool, Parameter(help="Let judges call two samples equal.")] = False
    explanation: Annotated[bool, Parameter(help="Ask for a reason.")] = False
    confidence: Annotated[bool, Parameter(help="Ask how sure the judge is.")] = False
    seed: Annotated[int, Parameter(help="Where chance comes in, it begins here; default: 0.", metavar="N")] = 0

    def keys(self) -> dict[str, Any]:
        """As a study writes them."""
        if self.adaptive and self.pairs is None:
            message = "--adaptive: say how many pairs there may be, for instance --pairs 2000"
            raise StudyError(message)
        how = "adaptive" if self.adaptive else "sample"
        chosen = {} if self.pairs is None else {"select": how, "n": self.pairs}
        trait = self.trait if self.description is None else {"name": self.trait, "description": self.description}
        return {
            "trait": trait,
            "templates": self.template,
            "pairs": chosen | ({"reverse": 1.0} if self.both_orders else {}),
            "ties": self.ties,
            "explanation": self.explanation,
            "confidence": self.confidence,
            "seed": self.seed,
        }


def compare(
    samples: Annotated[
        Path, Parameter(help="A csv, tsv, jsonl or parquet file of samples, or a folder of .txt files.", metavar="FILE")
    ],
    /,
    *,
    model: Models,
    judging: Judging = Judging(),  # noqa: B008 - frozen
    name: Annotated[
        str | None, Parameter(help="Name of the run; default: compare- and the file's name.", metavar="NAME")
    ] = None,
    id_column: IdColumn = None,
    text: Annotated[
        str | None, Parameter(help="The column of the texts; default: text, or the only other one.", metavar="COLUMN")
    ] = None,
    asking: Asking = Asking(),  # noqa: B008 - frozen
    sending: SendFlags = SendFlags(),  # noqa: B008 - frozen
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Compare samples in pairs, and rank them.

    Judges see two samples at a time and say which is better on a trait. The same command again goes on where the
    last one ended; more --pairs add to those on record.

    Examples:
      overnight compare essays.csv --model openai/gpt-4.1 --both-orders
      overnight compare essays/ --trait organization --pairs 2000 \\
        --model openai/gpt-4.1 openai/gpt-4.1-mini
      overnight compare essays.csv --pairs 2000 --adaptive --model openai/gpt-4.1
      overnight compare essays.csv --trait Warmth --description "How much the writer cares." \\
        --model openai/gpt-4.1 --template default short
    """
    return send(_study(samples, model, judging, name, id_column, text, asking), sending, flags)


def _study(
    samples: Path,
    models: list[str],
    judging: Judging,
    name: str | None,
    id_column: str | None,
    text: str | None,
    asking: Asking,
) -> "Study":
    written = {
        "name": name or run_name("compare", samples),
        "task": "compare",
        "items": str(samples),
        "id": id_column,
        "text": text,
        "models": [asking.entry(model) for model in models],
        "system": asking.system,
        "replicates": asking.replicates,
        **judging.keys(),
    }
    # What is not given is not written: a study tells an absent key from an empty one.
    return overnight.Study.from_mapping({key: value for key, value in written.items() if value is not None}, "compare")
