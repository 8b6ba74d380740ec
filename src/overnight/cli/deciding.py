"""`cancel`, `adopt`, `resolve`, `rebuild`: the verbs that put things right."""

from pathlib import Path
from typing import Annotated

import overnight
from overnight.cli.ending import gathered
from overnight.cli.flags import Flags, TrustFlags
from overnight.cli.looking import OneRun
from overnight.core.errors import StudyError
from overnight.core.wording import number_of
from overnight.terminal.parameters import Parameter


def cancel(
    run: Annotated[str, Parameter(help="Name of the run, or the id of one batch.")],
    /,
    *,
    timeout: Annotated[str, Parameter(help="Wait this long for what had finished; default: 1h.", metavar="D")] = "1h",
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Call off a run or a batch, and keep what had finished.

    `overnight run` with the same study asks the rest after all.

    Examples:
      overnight cancel essay-quality
      overnight cancel batch_68f1c0ffee
    """
    with flags.display() as display:
        (done,), code = gathered(
            lambda: [
                overnight.cancel(
                    run, timeout=timeout, emulate=flags.emulate, runs=flags.runs, say=display.say, tell=display.tell
                )
            ]
        )
    if done is not None:
        return max(code, display.close_one(done))
    return display.show({"run": run, "state": "called off"}, f"{run}: called off")


def adopt(
    *provider_and_batch_id: Annotated[
        str, Parameter(help="A provider and the id of a batch; with --shard only the id.")
    ],
    output_file: Annotated[
        Path | None, Parameter(help="A provider's output file that is already here.", metavar="FILE")
    ] = None,
    tracking: Annotated[
        Path | None,
        Parameter(name="--from", help="A tracking file: all the batches that it lists.", metavar="FILE"),
    ] = None,
    token: Annotated[
        str | None,
        Parameter(help="A batch of ours by its token, from the file `sent` of its run's folder.", metavar="TOKEN"),
    ] = None,
    shard: Annotated[
        str | None,
        Parameter(
            help="Decide for a shard that is in doubt or was given up: this batch is its own.", metavar="RUN:SHARD"
        ),
    ] = None,
    raw: Annotated[Path | None, Parameter(help="Also write the provider's bytes to this file.", metavar="FILE")] = None,
    as_name: Annotated[
        str | None, Parameter(name="--as", help="Call the run so; default: adopted-BATCH_ID.", metavar="NAME")
    ] = None,
    by_position: Annotated[
        bool,
        Parameter(help="Gemini's answers without keys: name rows by their places, which nothing in them proves."),
    ] = False,
    once: Annotated[bool, Parameter(help="Take what is there now, and do not wait for the rest.")] = False,
    timeout: Annotated[str, Parameter(help="Stop waiting after this long; default: 24h.", metavar="D")] = "24h",
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Make a run of a batch that was sent elsewhere.

    What the batch has answered so far is kept: partial results are welcome. With --shard, decide which of
    several batches belongs to a run of ours; or, where a shard was given up, that this batch is there after all:
    what its rows may have cost is then no longer presumed, and `overnight resume` collects them.

    Examples:
      overnight adopt openai batch_68f1c0ffee
      overnight adopt openai --output-file output.jsonl
      overnight adopt --from batch_tracking.json
      overnight adopt openai --token abcdefghij234567klmn
      overnight adopt --shard essay-quality:3 batch_68f1c0ffee
    """
    if shard is not None:
        return _adopt_for_shard(shard, provider_and_batch_id, flags)
    provider, batch_id = _provider_and_id(provider_and_batch_id)
    with flags.display() as display:
        done, code = gathered(
            lambda: overnight.adopt(
                provider,
                batch_id,
                output_file=output_file,
                tracking=tracking,
                token=token,
                raw=raw,
                as_name=as_name,
                by_position=by_position,
                once=once,
                timeout=timeout,
                emulate=flags.emulate,
                runs=flags.runs,
                say=display.say,
                tell=display.tell,
            )
        )
    return max(code, display.close(done))


def _provider_and_id(given: tuple[str, ...]) -> tuple[str | None, str | None]:
    if len(given) > 2:
        message = f"adopt: wanted a provider and a batch id, found {' '.join(given)}"
        raise StudyError(message)
    provider, batch_id = (*given, None, None)[:2]
    return provider, batch_id


def _adopt_for_shard(shard: str, given: tuple[str, ...], flags: Flags) -> int:
    run, colon, number = shard.rpartition(":")
    if not colon or not run or not number.isdecimal():
        message = f"--shard {shard}: wanted RUN:SHARD, such as essay-quality:3"
        raise StudyError(message)
    if len(given) != 1:
        message = f"adopt --shard {shard}: name the one batch id that is ours"
        raise StudyError(message)
    decided = overnight.resolve_shard(run, int(number), batch_id=given[0], emulate=flags.emulate, runs=flags.runs)
    return flags.display().show({"run": run, "shard": int(number), "batch_id": given[0]}, decided)


def resolve(
    run: OneRun,
    /,
    *,
    shard: Annotated[int | None, Parameter(help="Number of the shard, as `status` shows it.", metavar="N")] = None,
    none: Annotated[bool, Parameter(help="None of the batches that were found is ours.")] = False,
    forget: Annotated[
        str | None,
        Parameter(help="Batches of this run that its ledger does not know, with commas between: ask their rows again."),
    ] = None,
    flags: Flags = Flags(),  # noqa: B008 - frozen
) -> int:
    """Say that no batch found at the provider is a shard's.

    Its rows go back to the queue and are sent, and paid, with the next `overnight resume`. To keep one of the
    batches instead: `overnight adopt --shard RUN:N BATCH_ID`.

    A ledger that is older than the batches at the providers sends nothing, because their rows would be paid again.
    `--forget BATCH_ID` says that this may be so for one of them; for a batch that nobody lists, give the name of its
    attempt, as the message has it.

    Examples:
      overnight resolve essay-quality --shard 3 --none
      overnight resolve essay-quality --forget batch_abc
    """
    if forget is not None:
        decided = overnight.forget_batch(run, forget, emulate=flags.emulate, runs=flags.runs)
        return flags.display().show({"run": run, "forgotten": forget}, decided)
    if shard is None:
        message = "resolve: name the shard with --shard N, or a batch with --forget BATCH_ID"
        raise StudyError(message)
    if not none:
        message = (
            f"resolve: say --none when no batch is ours, or keep one: overnight adopt --shard {run}:{shard} BATCH_ID"
        )
        raise StudyError(message)
    decided = overnight.resolve_shard(run, shard, emulate=flags.emulate, runs=flags.runs)
    return flags.display().show({"run": run, "shard": shard, "batch_id": None}, decided)


def rebuild(run: OneRun, /, *, flags: Flags = Flags()) -> int:  # noqa: B008 - frozen
    """Read every raw answer again and make the tables anew, offline.

    Today's parsers are used, on the bytes that the provider sent. No key is needed. While another process works
    on the run, what has landed is read and nothing is changed: that process makes the tables when it ends.

    Examples:
      overnight rebuild essay-quality
    """
    with flags.display() as display:
        # Imported late, as the verbs are.
        from overnight.api.tables import rebuilt  # noqa: PLC0415

        done = rebuilt(run, emulate=flags.emulate, runs=flags.runs)
    landed = f"{done.rows - done.pending:,} of {number_of(done.rows, 'row')}"
    text = (
        f"tables made anew, {number_of(done.rows, 'row')}"
        if done.kept
        else f"another process works on the run and makes its tables when it ends; {landed} have landed, and can be "
        f"read: overnight results {run}"
    )
    return display.show(done, f"{run}: {text}")
