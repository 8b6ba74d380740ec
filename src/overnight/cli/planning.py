"""`plan`: what would be sent, and nothing sent but a pilot."""

from pathlib import Path
from typing import Annotated

import overnight
from overnight.cli.flags import TrustFlags, above_zero
from overnight.cli.sending import AsName, Truth
from overnight.core.errors import Interrupted, StudyError
from overnight.core.exit_codes import STOPPED
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
    pilot: Annotated[
        int | None,
        Parameter(
            help="Ask so many rows first, for money, and plan the rest by them; they are kept.",
            metavar="N",
            validator=above_zero,
        ),
    ] = None,
    compare_models: Annotated[
        str | None,
        Parameter(
            help="Price the study with each of these models in place of its own: a,b,c. Cheapest first.",
            metavar="MODELS",
        ),
    ] = None,
    stage: Annotated[
        str | None,
        Parameter(
            help="With --compare-models: the stage whose models are compared; default: the first ones.", metavar="NAME"
        ),
    ] = None,
    as_name: AsName = None,
    truth: Truth = None,
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Show what a study would send: rows, requests, batches, size.

    Nothing is sent and no key is needed, but with --pilot. Requests are counted and cut from the very bytes that
    would travel. Rows that the run has on record already are not counted again. What it costs is told three times:
    about, what is enough in 90% of cases, and at most, where something limits answers. It is counted by the answers
    that have come so far, of this run or of others; --pilot asks some rows first, so that there are any.

    Examples:
      overnight plan study.yaml
      overnight plan study.yaml --show 3
      overnight plan study.yaml --write requests/
      overnight plan study.yaml --pilot 50          ask 50 rows, then plan the rest
      overnight plan study.yaml --compare-models openai/gpt-4.1-nano,gemini/gemini-2.5-flash,anthropic/claude-haiku-4-5
      overnight plan batch.jsonl --provider openai
    """
    if compare_models is not None:
        if any(given is not None for given in (write, limit, pilot, provider)) or show:
            raise StudyError("--compare-models only prices: leave --show, --write, --limit, --pilot and --provider out")
        names = [name.strip() for name in compare_models.split(",") if name.strip()]
        told = overnight.compare_models(
            study, names, stage=stage, as_name=as_name, emulate=flags.emulate, runs=flags.runs
        )
        if all(one.problem for one in told.models):
            more = f" (and {len(told.models) - 1} more)" if len(told.models) > 1 else ""
            raise StudyError(f"--compare-models: {told.models[0].problem}{more}")
        return flags.display().show_comparison(told)
    if stage is not None:
        raise StudyError("--stage goes with --compare-models")
    with flags.display() as display:
        try:
            planned = overnight.plan(
                study,
                provider=provider,
                show=show,
                write=write,
                limit=limit,
                pilot=pilot,
                as_name=as_name,
                emulate=flags.emulate,
                truth=truth,
                runs=flags.runs,
                say=display.say,
                tell=display.tell,
            )
        except Interrupted as stop:
            if not stop.runs:
                raise
            return max(display.close(stop.runs), STOPPED)
    code = display.show_plan(planned)
    return code if planned.pilot is None else max(code, planned.pilot.exit_code)
