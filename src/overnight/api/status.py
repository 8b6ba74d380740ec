"""`status`, `watch` and the audit log: what a run's ledger says, without touching it."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import polars as pl

from overnight.api.checking import BatchCheck, check_batches
from overnight.api.notebook.html import (
    OUTCOMES,
    batches_html,
    counts_of,
    money,
    outcomes_text,
    paragraph_html,
    parts_html,
    spent_text,
    table_html,
    title_html,
)
from overnight.api.on_record import stages_on_record
from overnight.api.phases import phase_costs
from overnight.api.places import chosen_runs, folder_of, is_there, run_folder, run_with_batch
from overnight.api.run_state import left_out_text, undecided_text
from overnight.core.arguments import checked
from overnight.core.ask import Arm
from overnight.core.clock import time_text
from overnight.core.errors import OvernightError, StudyError
from overnight.engine.flow.flow import more_follows
from overnight.engine.progress import BatchLine, Priced, batch_line, how_priced
from overnight.ledger.ledger import look_at
from overnight.settings import Settings, settings
from overnight.store.run_folder import RunFolder


class ArmStatus(msgspec.Struct, frozen=True, kw_only=True):
    stage: str
    arm: str
    provider: str
    model: str
    rows: int
    answered: int
    refused: int
    truncated: int
    failed: int
    pending: int


class RunStatus(msgspec.Struct, frozen=True, kw_only=True):
    """A run as its ledger has it. Every row is in exactly one count of its arm."""

    run: str
    path: str
    begun_at: str
    cancelled: bool
    # Whether a process works on it now.
    worked_on: bool = False
    arms: tuple[ArmStatus, ...]
    batches: tuple[BatchLine, ...]
    waiting_shards: int
    causes: dict[str, int]
    # Tries that failed and were made again, by cause.
    asked_again: dict[str, int] = {}
    # Rows that a batch answered though it had been given up for live calls.
    answered_twice: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    # In nano-dollars: what the rows have cost, what is set aside for those on the way, and whether all have prices.
    spent: int = 0
    reserved: int = 0
    # What rows that were run may have cost, where no bill came.
    presumed: int = 0
    priced: Priced = "none"
    # Rows that are not in the groups that later stages were given, in words.
    left_out: tuple[str, ...] = ()
    # Where stages come after others: what each phase has cost, and who moved on to it.
    phases: tuple[str, ...] = ()
    to_do: tuple[str, ...] = ()
    # What the providers say of its open batches, where they were asked.
    checked: tuple[BatchCheck, ...] = ()
    # Why its records cannot be read; nothing else is known of the run then.
    trouble: str | None = None

    def total(self, field: str) -> int:
        return sum(int(getattr(arm, field)) for arm in self.arms)

    def __repr__(self) -> str:
        if self.trouble is not None:
            return f"RunStatus({self.run!r}, {self.trouble})"
        return f"RunStatus({self.run!r}, {self._counts_text()})"

    def _counts_text(self) -> str:
        return outcomes_text({name: self.total(name) for name in OUTCOMES})

    def _repr_html_(self) -> str:
        if self.trouble is not None:
            return title_html(self.run, self.trouble)
        sums: dict[tuple[str, str], list[int]] = {}
        for arm in self.arms:
            own = sums.setdefault((arm.stage, f"{arm.provider}/{arm.model}"), [0] * (1 + len(OUTCOMES)))
            sums[arm.stage, f"{arm.provider}/{arm.model}"] = [
                sum(pair) for pair in zip(own, (arm.rows, *counts_of(arm).values()), strict=True)
            ]
        table = table_html(("stage", "model", "rows", *OUTCOMES), [(*place, *counts) for place, counts in sums.items()])
        aside = f"; {money(self.reserved)} set aside" if self.reserved else ""
        notes = (
            f"{spent_text(self.spent, self.presumed, self.priced)}{aside}",
            *self.phases,
            *self.left_out,
            *self.to_do,
        )
        title = title_html(self.run, self._counts_text())
        return parts_html((title, table, *map(paragraph_html, notes), batches_html(self.batches)))


class Statuses(list[RunStatus]):
    """How several runs stand."""

    def _repr_html_(self) -> str:
        if len(self) == 1:
            return self[0]._repr_html_()
        lines = [
            (
                one.run,
                *((one.total(name) for name in ("rows", *OUTCOMES)) if one.trouble is None else ("",) * 6),
                spent_text(one.spent, one.presumed, one.priced) if one.trouble is None else one.trouble,
                one.begun_at,
            )
            for one in self
        ]
        return table_html(("run", "rows", *OUTCOMES, "cost", "begun"), lines)


@checked
def status(
    run: str | Path | None = None,
    *,
    check: bool = False,
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> Statuses:
    """How one run stands, the run of a batch id (or of its beginning), or all runs.

    `check` asks the providers once what they say of the open batches; nothing is fetched, sent or put on record.
    """
    place = settings(runs=runs, emulate=emulate)
    found = _statuses(run, place)
    if not check:
        return found
    return Statuses(msgspec.structs.replace(one, checked=check_batches(_folder(one, place), place)) for one in found)


def _folder(status: RunStatus, place: Settings) -> RunFolder:
    """The run that this tells of: it may lie anywhere, unless a database keeps it."""
    named = folder_of(status.run, place)
    return named if named.path == Path(status.path) else RunFolder(Path(status.path))


def _statuses(run: str | Path | None, place: Settings) -> Statuses:
    if isinstance(run, str) and not is_there(run, place):
        found = run_with_batch(run, place)
        if found is not None:
            return Statuses([status_of(found[0])])
    if run is not None:
        return Statuses(status_of(folder) for folder in chosen_runs(run, place))
    return Statuses(_status_or_trouble(folder) for folder in chosen_runs(None, place))


def _status_or_trouble(folder: RunFolder) -> RunStatus:
    """One damaged ledger keeps nobody from the other runs."""
    try:
        return status_of(folder)
    except OvernightError as error:
        return RunStatus(
            run=folder.name, path=str(folder.path), begun_at="", cancelled=False, arms=(), batches=(),
            waiting_shards=0, causes={}, trouble=str(error),
        )  # fmt: skip


def status_of(folder: RunFolder) -> RunStatus:
    with look_at(folder) as view, view.at_one_moment():
        counts = view.counts.outcomes()
        known = view.stages.arms()
        everything = view.attempts.everything()
        carried = {attempt.shard for attempt in everything if attempt.state != "closed"}
        names = {number: arm.name for number, arm in known.items()}
        causes: dict[str, int] = {}
        for (_, _, cause), count in counts.items():
            if cause is not None:
                causes[cause] = causes.get(cause, 0) + count
        sums, money = view.counts.tokens(), view.spending.by_stage()
        return RunStatus(
            run=folder.name,
            path=str(folder.path),
            begun_at=time_text(float(view.facts.get("begun_at") or 0)),
            cancelled=folder.called_off,
            worked_on=folder.worked_on,
            arms=tuple(_arm_status(number, arm, counts) for number, arm in known.items()),
            batches=tuple(batch_line(attempt, names[attempt.arm]) for attempt in everything),
            waiting_shards=len(view.shards.waiting(carried)),
            causes=dict(sorted(causes.items())),
            asked_again=view.counts.asked_again(),
            answered_twice=view.counts.answered_twice(),
            spent=sum(balance.settled for balance in money.values()),
            reserved=sum(balance.reserved for balance in money.values()),
            presumed=sum(balance.presumed for balance in money.values()),
            priced=how_priced(len(known), len({arm for arm, _ in view.spending.prices()})),
            input_tokens=sums[0],
            output_tokens=sums[1],
            left_out=tuple(map(left_out_text, view.threads.left_out())),
            phases=tuple(phase.text for phase in phase_costs(view)),
            to_do=tuple(
                undecided_text(folder.name, attempt.shard, attempt.candidates)
                for attempt in everything
                if attempt.state == "stuck"
            ),
        )


def _arm_status(number: int, arm: Arm, counts: dict[tuple[int, str, str | None], int]) -> ArmStatus:
    own = {
        outcome: sum(
            count for (found_arm, found, _), count in counts.items() if (found_arm, found) == (number, outcome)
        )
        for outcome in ("answered", "refused", "truncated", "failed", "pending")
    }
    return ArmStatus(
        stage=arm.stage, arm=arm.name, provider=arm.model.provider, model=arm.model.name, rows=sum(own.values()), **own
    )


def write_tracking(found: Sequence[RunStatus], path: Path) -> None:
    """The batches of runs in the form that `adopt` takes from a tracking file."""
    entries = []
    for run in found:
        arms = {arm.arm: arm for arm in run.arms}
        for batch in run.batches:
            if batch.batch_id is None:
                continue
            arm = arms[batch.arm]
            created = None if batch.submitted_at is None else time_text(batch.submitted_at)
            fields = {"provider": arm.provider, "batch_id": batch.batch_id, "model": arm.model, "created": created}
            entries.append({**fields, "status": batch.status or batch.state, "run": run.run})
    content = msgspec.json.format(msgspec.json.encode({"batches": entries}), indent=4) + b"\n"
    try:
        path.write_bytes(content)
    except OSError as error:
        raise StudyError(f"--tracking {path}: cannot write: {error.strerror or error}") from error


def unfinished(folder: RunFolder) -> bool:
    """Whether anything of the run is still open."""
    with look_at(folder) as view:
        open_attempts = any(attempt.state != "closed" for attempt in view.attempts.everything())
        pending = any(outcome == "pending" and count for (_, outcome, _), count in view.counts.outcomes().items())
        pending = pending or more_follows(view, stages_on_record(view))
    return open_attempts or (pending and not folder.called_off)


@checked
def watch(
    run: str | Path, *, interval: float = 5.0, emulate: bool | None = None, runs: str | Path | None = None
) -> Iterator[RunStatus]:
    """The run's status now and whenever it may have changed, until it is finished. Works beside `run`."""
    folder = run_folder(run, settings(runs=runs, emulate=emulate))
    while True:
        yield status_of(folder)
        if not unfinished(folder):
            return
        time.sleep(interval)


@checked
def audit_log(run: str | Path, *, emulate: bool | None = None, runs: str | Path | None = None) -> pl.DataFrame:
    """Everything that was ever noted about the run, oldest first."""
    folder = run_folder(run, settings(runs=runs, emulate=emulate))
    with look_at(folder) as view:
        entries = view.attempts.log()
    return pl.DataFrame(
        [(number, time_text(at), kind, shard, n, token, data) for number, at, kind, shard, n, token, data in entries],
        schema={
            "event": pl.Int64,
            "at": pl.String,
            "kind": pl.String,
            "shard": pl.Int64,
            "attempt": pl.Int64,
            "token": pl.String,
            "data": pl.String,
        },
        orient="row",
    )
