"""`plan`: what would be sent, and nothing sent."""

from pathlib import Path
from typing import Annotated

import overnight
from overnight.cli.flags import TrustFlags, above_zero
from overnight.cli.sending import AsName
from overnight.terminal.parameters import Parameter


def plan(
    study: Annotated[Path, Parameter(help="The study: a YAML file; or a ready-made provider file (.jsonl).")],
    /,
    *,
    provider: Annotated[
        str | None, Parameter(help="Whose format a ready-made .jsonl file has.", metavar="NAME")
    ] = None,
    show: Annotated[
        int, Parameter(help="Print so many requests, just as the provider would see them.", metavar="N")
    ] = 0,
    write: Annotated[
        Path | None, Parameter(help="Write the provider's own files into this new folder.", metavar="DIR")
    ] = None,
    limit: Annotated[
        int | None,
        Parameter(help="Plan a sample of so many rows, as `run --limit` does.", metavar="N", validator=above_zero),
    ] = None,
    as_name: AsName = None,
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Show what a study would send: rows, requests, batches, size.

    Nothing is sent and no key is needed. Requests are counted and cut from the very bytes that would travel;
    tokens are an estimate from them. Rows that the run has on record already are not counted again. What it costs
    is told twice: about, with answers of a usual length, and at most, where something limits answers.

    Examples:
      overnight plan study.yaml
      overnight plan study.yaml --show 3
      overnight plan study.yaml --write requests/
      overnight plan batch.jsonl --provider openai
    """
    with flags.display() as display:
        planned = overnight.plan(
            study,
            provider=provider,
            show=show,
            write=write,
            limit=limit,
            as_name=as_name,
            emulate=flags.emulate,
            runs=flags.runs,
        )
    return display.show_plan(planned)
