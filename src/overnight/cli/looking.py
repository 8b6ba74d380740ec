"""`status`, `watch`, `results`, `costs`, `models`, `keys`: the verbs that change nothing."""

from pathlib import Path
from typing import Annotated, Literal

import overnight
from overnight.cli.flags import SHARED, Flags, TrustFlags, Voice, above_zero
from overnight.core.errors import StudyError
from overnight.terminal.parameters import Parameter

AnyRun = Annotated[
    str | None, Parameter(help="Name of the run, or the id of one of its batches (or its beginning); default: all.")
]
OneRun = Annotated[str, Parameter(help="Name of the run.")]


def status(
    run: AnyRun = None,
    /,
    *,
    check: Annotated[
        bool, Parameter(help="Ask the provider once what the open batches are doing. Nothing is fetched or sent.")
    ] = False,
    log: Annotated[bool, Parameter(help="Print the run's audit log as CSV: every event, oldest first.")] = False,
    tracking: Annotated[
        Path | None,
        Parameter(help="Write the batches to this file, as `adopt --from` reads them.", metavar="FILE"),
    ] = None,
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Show how runs stand, from their own records.

    It disturbs nothing and works while another process works on the run. No provider is asked but with `--check`.
    A run is also found by the id of one of its batches, or by how that begins. Many arms are summed by model; `-v`
    shows each of them.

    Examples:
      overnight status
      overnight status essay-quality
      overnight status essay-quality --check
      overnight status batch_68f1c0ffee
      overnight status essay-quality --log > log.csv
      overnight status --tracking batch_tracking.json
    """
    display = flags.display()
    found = overnight.status(run, check=check, emulate=flags.emulate, runs=flags.runs)
    if tracking is not None:
        from overnight.api.status import write_tracking  # noqa: PLC0415 - help needs no tables

        write_tracking(found, tracking)
    if not log:
        return display.show_status(found)
    if len(found) != 1:
        message = f"--log: name one run of {', '.join(one.run for one in found)}"
        raise StudyError(message)
    return display.show_log(overnight.audit_log(found[0].run, emulate=flags.emulate, runs=flags.runs))


def watch(
    run: AnyRun = None,
    /,
    *,
    interval: Annotated[
        float, Parameter(help="Seconds between two looks; default: 5.", metavar="S", validator=above_zero)
    ] = 5.0,
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Follow runs until they are finished.

    It works beside the process that works on them: it reads their own records only and asks no provider. Where
    nobody works on a run, it says so: then `overnight resume` collects, or `overnight status --check` looks once.
    Ctrl-C ends the watching, not the run.

    Examples:
      overnight watch
      overnight watch essay-quality --interval 30
    """
    display = flags.display()
    return display.follow(lambda: overnight.status(run, emulate=flags.emulate, runs=flags.runs), interval)


def results(
    run: OneRun,
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(alias="-o", help="Write all rows to this .parquet, .csv or .jsonl file.", metavar="FILE"),
    ] = None,
    safe_for_spreadsheets: Annotated[
        bool, Parameter(help="With -o FILE.csv: an apostrophe before texts that a spreadsheet would run as formulas.")
    ] = False,
    failed: Annotated[bool, Parameter(help="Only rows that failed, with the provider's own words why.")] = False,
    stage: Annotated[str | None, Parameter(help="Only rows of this stage.", metavar="NAME")] = None,
    table: Annotated[
        str,
        Parameter(
            help="results, or what its task makes: verdicts, rankings, consistency, bias, agreement.", metavar="NAME"
        ),
    ] = "results",
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Show a run's first rows, or write all of them to a file.

    It works while another process works on the run: rows that have not landed yet are pending. Where pairs were
    judged, what the judges said and the ranking it comes to are shown as well. Conversations under pressure can also
    be written as SycoBench does, to a file whose name ends in _analysis.json.

    Examples:
      overnight results essay-quality
      overnight results essay-quality -o answers.csv
      overnight results essay-quality --table rankings -o ranking.csv
      overnight results essay-quality --failed
      overnight results giving-in -o giving-in_analysis.json
    """
    display = flags.display()
    # Imported late: reading tables costs time that `--help` need not pay.
    from overnight.api.tables import export, open_tables  # noqa: PLC0415

    if output is not None and output.suffix == ".json" and export(run, output, emulate=flags.emulate, runs=flags.runs):
        return display.show({"run": run, "output": str(output)}, f"{run}: wrote {output}")
    with open_tables(run, emulate=flags.emulate, runs=flags.runs) as tables:
        frame = tables.scan(table, failed=failed, stage=stage)
        display.warn(tables.note)
        if output is not None:
            return display.write_table(frame, run, table, output, for_spreadsheets=safe_for_spreadsheets)
        if table != "results":
            return display.show_table(frame, run, table)
        return display.show_results(frame, run, tables.path, failed=failed)


def costs(
    run: Annotated[list[str] | None, Parameter(help="Names of runs; default: all.")] = None,
    /,
    *,
    by: Annotated[
        list[Literal["run", "provider", "model", "arm", "stage", "day", "processing"]] | None,
        Parameter(
            help="Sum by run, provider, model, arm, stage, day or processing (batch or live). Repeatable.",
            metavar="WHAT",
        ),
    ] = None,
    reprice: Annotated[
        bool, Parameter(help="Beside it, what the same tokens cost at the prices of today. Nothing is overwritten.")
    ] = False,
    output: Annotated[
        Path | None,
        Parameter(alias="-o", help="Write the table to this .csv, .json, .jsonl or .parquet file.", metavar="FILE"),
    ] = None,
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Show the bill: of a run by stage and arm, of several or all by run.

    In US dollars: the most it could have cost, what is set aside, what it has cost, what is presumed spent, what
    batches saved beside live calls, and what an answer cost. Where no price is known the cost is unknown;
    `prices:` in the study names a file with prices of your own. A run that cannot be read does not hold up the others.

    Examples:
      overnight costs
      overnight costs essay-quality
      overnight costs --by day --by provider
      overnight costs essay-quality --reprice
      overnight costs --by model -o bill.csv
    """
    display = flags.display()
    named = run or []
    wanted: str | list[str] | None = named[0] if len(named) == 1 else named or None
    frame = overnight.costs(wanted, by=by or (), reprice=reprice, emulate=flags.emulate, runs=flags.runs)
    if output is not None:
        from overnight.api.tables import write_table_file  # noqa: PLC0415 - help needs no tables

        write_table_file(frame, output)
    return display.show_costs(frame, named, output)


def models(
    text: Annotated[
        str | None, Parameter(help="Only models with this in their name, such as haiku or openai/gpt-5.")
    ] = None,
    /,
    *,
    provider: Annotated[str | None, Parameter(help="Only models of this provider.", metavar="NAME")] = None,
    voice: Voice = Voice(),  # noqa: B008 - frozen
) -> int:
    """List known models, with their prices and rules.

    For each: what a million tokens cost in dollars, live and in batches, how it thinks, what it refuses, its longest
    answer and its last day, where these are known. Prices are from the list that comes with Overnight, or a newer
    one that is installed. Models that are not listed can be asked all the same.

    Examples:
      overnight models
      overnight models haiku
      overnight models --provider openai --json
    """
    display = voice.display()
    return display.show_models(overnight.models(text, provider=provider))


def keys(
    study: Annotated[Path | None, Parameter(help="A study: show every account that it names, pools included.")] = None,
    /,
    *,
    check: Annotated[
        bool, Parameter(negative="--no-check", help="Ask each provider whether its key works (one free call); default.")
    ] = True,
    emulate: Annotated[
        bool | None,
        Parameter(negative="--no-emulate", group=SHARED, help="Check nothing: a rehearsal needs no key."),
    ] = None,
    voice: Voice = Voice(),  # noqa: B008 - frozen
) -> int:
    """Show which providers have a key here, and whether it works.

    Keys come from the environment or from `.env` in this folder. They are never shown.

    Examples:
      overnight keys
      overnight keys essays.yaml
      overnight keys --no-check
    """
    display = voice.display()
    rehearsal = Flags(emulate=emulate).settings().emulate
    return display.show_keys(overnight.keys(study, check=check and not rehearsal), rehearsal=rehearsal)
