"""`run`, `submit`, `resume`: the verbs that send and collect."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import overnight
from overnight.cli.ending import complain, gathered
from overnight.cli.flags import Flags, TrustFlags, above_zero
from overnight.core.errors import Interrupted, OvernightError, StudyError
from overnight.core.exit_codes import DONE, STOPPED
from overnight.terminal.parameters import Parameter

if TYPE_CHECKING:
    from overnight.api import Run
    from overnight.core.stage import Stage
    from overnight.study import Study

StudyFile = Annotated[Path, Parameter(help="The study: a YAML file.")]
AsName = Annotated[
    str | None,
    Parameter(
        name="--as", help="Call the run so; answers of the study's own run that still fit are reused.", metavar="NAME"
    ),
]
Limit = Annotated[
    int | None,
    Parameter(help="Ask a sample of so many rows, spread over all arms; the rest can follow.", metavar="N"),
]
AcceptAccount = Annotated[
    bool, Parameter(help="Go on although the key or address is not the one that sent the batches.")
]
Truth = Annotated[
    Path | None, Parameter(help="With --emulate: what the emulator holds for true, a YAML file.", metavar="FILE")
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PaceFlags:
    """How rows travel and how fast; what is not given is the study's, or learned."""

    mode: Annotated[
        Literal["batch", "live", "auto"] | None,
        Parameter(help="batch, live (calls, now), or auto: batches where there are any.", metavar="MODE"),
    ] = None
    qps: Annotated[
        float | None, Parameter(help="At most so many live calls a second.", validator=above_zero, metavar="N")
    ] = None
    rpm: Annotated[
        float | None, Parameter(help="At most so many live calls a minute.", validator=above_zero, metavar="N")
    ] = None
    tpm: Annotated[
        float | None, Parameter(help="At most so many tokens a minute, live.", validator=above_zero, metavar="N")
    ] = None
    concurrency: Annotated[
        int | None, Parameter(help="So many live calls at once.", validator=above_zero, metavar="N")
    ] = None
    on: Annotated[
        str | None,
        Parameter(
            help="Who makes live calls: ray, or ray:4 for so many actors; default: this process.", metavar="PLACE"
        ),
    ] = None

    def pace(self) -> dict[str, Any]:
        """As the verbs take them."""
        limits = {name: getattr(self, name) for name in ("qps", "rpm", "tpm", "concurrency")}
        live = {name: value for name, value in limits.items() if value is not None}
        return {"mode": self.mode, "live": live, "on": self.on}


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SendFlags(PaceFlags):
    """How a study is sent and waited for."""

    limit: Limit = None
    timeout: Annotated[
        str | None, Parameter(help="Stop waiting after 90s, 10m, 24h ...; the batches go on.", metavar="D")
    ] = None
    as_name: AsName = None
    reask: Annotated[
        list[Literal["failed", "unparsed", "refused", "truncated", "damaged"]] | None,
        Parameter(
            help="Ask rows again that ended as failed, unparsed, refused or truncated, or whose answers are damaged "
            "on disk. Repeatable.",
            metavar="KIND",
        ),
    ] = None
    accept_account: AcceptAccount = False
    truth: Truth = None


def run(
    study: StudyFile,
    /,
    *,
    sending: SendFlags = SendFlags(),  # noqa: B008 - frozen
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Send a study and wait for it.

    Rows that are on record are not asked again: the same command goes on where the last one ended, whatever
    ended it. Ctrl-C stops safely; batches that are at the provider go on there.

    Examples:
      overnight run study.yaml
      overnight run study.yaml --emulate            rehearse first, free
      overnight run study.yaml --limit 50           a sample of all arms
      overnight run study.yaml --reask failed       try failed rows again
      overnight run study.yaml --mode live          now, at the full price
    """
    return send(study, sending, flags)


Export = Callable[[Path, "Sequence[Stage]"], Iterator[str]]


def send(study: "Study | Path", sending: SendFlags, flags: Flags, export: Export | None = None) -> int:
    """Send a study, wait, and say what came of it. `export` writes files beside the run's own."""
    with flags.display() as display:
        (done,), code = gathered(
            lambda: [
                overnight.run(
                    study,
                    limit=sending.limit,
                    timeout=sending.timeout,
                    as_name=sending.as_name,
                    reask=sending.reask or (),
                    accept_account=sending.accept_account,
                    **sending.pace(),
                    emulate=flags.emulate,
                    truth=sending.truth,
                    runs=flags.runs,
                    say=display.say,
                    tell=display.tell,
                )
            ]
        )
        if export is not None and (done.path / "tables" / "results.parquet").exists():
            from overnight.study.resolved import resolve  # noqa: PLC0415 - only those who export wait for it

            assert not isinstance(study, Path)
            for line in export(done.path / "tables", resolve(study).stages):
                display.say(line)
    return max(code, display.close_one(done))


def submit(
    studies: Annotated[list[Path], Parameter(help="Studies, or one provider's ready-made .jsonl files.")],
    /,
    *,
    provider: Annotated[
        str | None, Parameter(help="Whose format a ready-made .jsonl file is in.", metavar="NAME")
    ] = None,
    description: Annotated[
        str | None, Parameter(help="A note that the provider keeps with each batch.", metavar="TEXT")
    ] = None,
    to_file: Annotated[
        Path | None, Parameter(help="Put the files of vllm/ models into this folder, for your own GPUs.", metavar="DIR")
    ] = None,
    timeout: Annotated[
        str | None, Parameter(help="Come back after this long; `overnight resume` sends the rest.", metavar="D")
    ] = None,
    as_name: AsName = None,
    limit: Limit = None,
    truth: Truth = None,
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Send, and come back as soon as the provider has everything.

    `overnight resume` collects later. A study that cannot be sent does not hold up the others.

    Examples:
      overnight submit study.yaml
      overnight submit a.yaml b.yaml c.yaml
      overnight submit requests.jsonl --provider openai
      overnight submit study.yaml --to-file batches/
    """
    if to_file is not None:
        os.environ["VLLM_FOLDER"] = str(to_file)
    if as_name is not None and len(studies) > 1:
        message = f"--as {as_name}: names one run, but there are {len(studies)} studies"
        raise StudyError(message)
    sent: list[Run] = []
    troubles: list[OvernightError] = []
    code = DONE
    with flags.display() as display:
        for study in studies:
            try:
                sent.append(
                    overnight.submit(
                        study,
                        provider=provider,
                        description=description,
                        timeout=timeout,
                        as_name=as_name,
                        limit=limit,
                        emulate=flags.emulate,
                        truth=truth,
                        runs=flags.runs,
                        say=display.say,
                        tell=display.tell,
                    )
                )
            except Interrupted as stop:
                sent += stop.runs
                code = STOPPED
                break
            except OvernightError as error:
                troubles.append(error)
    codes = [complain(error, flags) for error in troubles]
    return max(code, display.close(sent), *codes)


def resume(
    run: Annotated[str | None, Parameter(help="Name of the run; all that are not finished when none is given.")] = None,
    /,
    *,
    once: Annotated[bool, Parameter(help="Do what can be done now, and do not wait.")] = False,
    timeout: Annotated[str, Parameter(help="Stop waiting after this long; default: 24h.", metavar="D")] = "24h",
    interval: Annotated[
        float | None,
        Parameter(help="Seconds between two looks; default: the study's, or 60.", validator=above_zero, metavar="S"),
    ] = None,
    accept_account: AcceptAccount = False,
    truth: Truth = None,
    pace: PaceFlags = PaceFlags(),  # noqa: B008 - frozen
    flags: TrustFlags = TrustFlags(),  # noqa: B008 - frozen
) -> int:
    """Go on with a run, or with all that are not finished.

    Collects what the provider has finished, sends what is still to be sent, and asks rows again whose failure
    may pass. The study's file is not needed.

    Examples:
      overnight resume                     everything that is open
      overnight resume essay-quality
      overnight resume --once              for cron: look once, then leave
    """
    with flags.display() as display:
        done, code = gathered(
            lambda: overnight.resume(
                run,
                once=once,
                timeout=timeout,
                interval=interval,
                accept_account=accept_account,
                **pace.pace(),
                emulate=flags.emulate,
                truth=truth,
                runs=flags.runs,
                say=display.say,
                tell=display.tell,
            )
        )
    if not done and not flags.json:
        display.show([], "nothing is open: every run is finished")
        return 0
    return max(code, display.close(done))
