"""What people see of a verb while it works and when it is done, and what programs read of it."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

import polars as pl
from rich.console import RenderableType
from rich.text import Text

from overnight.api import Comparison, KeyStatus, ModelCard, Plan, Report, Run, RunStatus, report
from overnight.api.on_record import kinds_on_record
from overnight.api.phases import phase_lines
from overnight.api.places import run_folder
from overnight.api.run_words import state_words
from overnight.api.tables import readable_tables, write_rows
from overnight.cli import (
    bill_pictures,
    closing,
    comparison_pictures,
    model_pictures,
    plan_pictures,
    row_pictures,
    status_pictures,
)
from overnight.cli.ending import complain_line, spared
from overnight.cli.flags import Flags, Voice
from overnight.cli.following import Look, follow
from overnight.cli.live_picture import LivePicture
from overnight.cli.log_lines import LogLines
from overnight.cli.output import Output, is_terminal
from overnight.core.errors import LedgerError, ProviderError, RowsFailed, Unauthorized
from overnight.core.exit_codes import STOPPED
from overnight.core.wording import number_of
from overnight.engine.progress import Snapshot
from overnight.prices.catalogue import newest
from overnight.store.run_folder import RunFolder
from overnight.terminal.plain_text import one_line, visible

# A run in one of these states goes on: its report is drawn when it has come to rest.
_UNDER_WAY = ("submitted", "running", "stopped", "blocked")


class Progress(Protocol):
    """What is shown of work under way; it is told from the engine's thread, and never fails it."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def say(self, text: str) -> None: ...
    def tell(self, snapshot: Snapshot) -> None: ...


class Silence:
    """Nothing is shown of work under way."""

    def start(self) -> None:
        """Nothing to set up."""

    def stop(self) -> None:
        """Nothing to take down."""

    def say(self, text: str) -> None:
        """Nobody listens."""

    def tell(self, snapshot: Snapshot) -> None:
        """Nobody looks."""


def progress_for(voice: Voice) -> Progress:
    """Progress goes to stderr, in the form that stderr can take."""
    if voice.quiet:
        return Silence()
    time_scale = voice.settings().time_scale if isinstance(voice, Flags) else 1.0
    if is_terminal(sys.stderr):
        return LivePicture(time_scale=time_scale, verbose=voice.verbose)
    return LogLines(time_scale=time_scale, verbose=voice.verbose)


class Display:
    """A verb's face: progress while its block runs, then its result."""

    def __init__(self, voice: Voice) -> None:
        self._voice = voice
        self._progress: Progress = progress_for(voice)
        self.output = Output()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    @property
    def can_ask(self) -> bool:
        """Whether somebody is there who can answer."""
        return sys.stdin is not None and sys.stdin.isatty() and is_terminal(sys.stderr)

    def ask(self, question: str) -> bool:
        """A question that is answered by y or yes, and by anything else with no."""
        self._progress.stop()
        try:
            sys.stderr.write(f"overnight: {one_line(question)} [y/N] ")
            sys.stderr.flush()
            return sys.stdin.readline().strip().lower() in ("y", "yes")
        finally:
            self._progress.start()

    def say(self, text: str) -> None:
        self._progress.say(self._voice.typed(text))

    def tell(self, snapshot: Snapshot) -> None:
        self._progress.tell(snapshot)

    def show(self, document: object, last: str, *pictures: RenderableType) -> int:
        """A result: the document for programs, the pictures for people, the last line for the hurried."""
        if self._voice.json:
            self.output.document(document)
            return 0
        if not self._voice.quiet:
            self.output.print(*pictures)
        if last:
            self.output.print(Text(self._voice.typed(last)))
        return 0

    def close(self, runs: Sequence[Run]) -> int:
        """What came of these runs; the exit code is that of the worst."""
        documents = [self._close(run) for run in runs]
        if self._voice.json:
            self.output.document(documents)
        return max((run.exit_code for run in runs), default=0)

    def close_one(self, run: Run) -> int:
        """The same of a verb that always has one run."""
        document = self._close(run)
        if self._voice.json:
            self.output.document(document)
        return run.exit_code

    def _close(self, run: Run) -> dict[str, Any]:
        message = self._voice.typed(run.message)
        causes = self._causes(run)
        if not self._voice.json:
            self.output.print(closing.headline(run, message))
        drawn = self._draw(run)
        phases = () if run.state == "blocked" else phase_lines(run.folder)
        if not self._voice.json and not self._voice.quiet and run.state != "blocked":
            next_command = self._voice.typed(f"overnight results {run.name}")
            self.output.print(closing.details(run, causes, next_command, drawn, phases))
            self.output.print(*self._summaries(run.folder, run.folder.tables))
        return closing.document(run, message, causes, drawn, phases)

    def _draw(self, run: Run) -> Path | None:
        """The report of a run that has come to rest. What goes wrong in drawing is no fault of the run."""
        if run.state in _UNDER_WAY:
            return None
        drawn = spared(lambda: report(run), f"no report of {run.name}", self._voice)
        return None if drawn is None else drawn.path

    def _summaries(self, folder: RunFolder, tables: Path) -> Iterator[RenderableType]:
        """What each task of the run has to say of what came."""
        for summary in dict.fromkeys(kind.summary for kind in kinds_on_record(folder)):
            yield from summary(tables, folder.name, self._voice.typed)

    def _summaries_of(self, run: str, tables: Path) -> Iterator[RenderableType]:
        if isinstance(self._voice, Flags):
            yield from self._summaries(run_folder(run, self._voice.settings()), tables)

    def _causes(self, run: Run) -> dict[str, int]:
        snapshot = run.snapshot
        if not isinstance(self._voice, Flags) or snapshot.answered == snapshot.settled:
            return {}
        return run.status().causes

    def show_plan(self, plan: Plan) -> int:
        return self.show(
            plan,
            plan_pictures.last_line(plan),
            *plan_pictures.pictures(plan, self.output.width, every_arm=self._voice.verbose),
        )

    def show_comparison(self, told: Comparison) -> int:
        return self.show(
            told, comparison_pictures.last_line(told), *comparison_pictures.pictures(told, self.output.width)
        )

    def show_status(self, runs: Sequence[RunStatus]) -> int:
        """How runs stand; a run that cannot be read is told after the others."""
        self._show_status(runs)
        troubles = [run.trouble for run in runs if run.trouble is not None]
        unasked = False
        for trouble in troubles:
            complain_line(self._voice.typed(trouble))
        for text in dict.fromkeys(one.trouble for run in runs for one in run.checked if one.trouble is not None):
            complain_line(self._voice.typed(text))
            unasked = True
        if troubles:
            return LedgerError.exit_code
        return ProviderError.exit_code if unasked else 0

    def _show_status(self, runs: Sequence[RunStatus]) -> int:
        summary = "\n".join(f"{run.run}: {state_words(run)}" for run in runs)
        if self._voice.json or self._voice.quiet:
            return self.show(runs, summary)
        if len(runs) != 1 or runs[0].trouble is not None:
            return self.show(runs, "", status_pictures.overview(runs))
        advice = [self._voice.typed(text) for text in status_pictures.advice_for(runs[0])]
        return self.show(
            runs, "", status_pictures.one_run(runs[0], advice, self.output.width, every_arm=self._voice.verbose)
        )

    def show_report(self, drawn: Report) -> int:
        document = {"report": str(drawn.path), "findings": drawn.findings, "figures": list(map(str, drawn.figures))}
        wrote = [f"wrote {drawn.path}"]
        if drawn.figures:
            wrote.append(f"{number_of(len(drawn.figures), 'file')} of figures to {drawn.figures[0].parent}")
        return self.show(document, ", ".join(wrote), *(Text(one_line(text)) for text in drawn.findings))

    def show_log(self, log: pl.DataFrame) -> int:
        if self.output.drawn and not self._voice.json:
            self.output.write(visible(log.write_csv()))
            return 0
        self.output.write_bytes((log.write_json() + "\n" if self._voice.json else log.write_csv()).encode())
        return 0

    def write_table(
        self, frame: pl.LazyFrame, run: str, table: str, output: Path, *, for_spreadsheets: bool = False
    ) -> int:
        write_rows(frame, output, for_spreadsheets=for_spreadsheets)
        count = _height(frame)
        pending = _height(frame.filter(pl.col("status") == "pending")) if table == "results" else 0
        document = {"run": run, "table": table, "rows": count, "pending": pending, "output": str(output)}
        so_far = f", {pending:,} of them pending" if pending else ""
        return self.show(document, f"{run}: wrote {number_of(count, 'row')} to {output}{so_far}")

    def warn(self, text: str | None) -> None:
        """A word on what is shown, where there is one."""
        if text is not None:
            complain_line(self._voice.typed(text))

    def show_results(self, frame: pl.LazyFrame, run: str, tables: Path, *, failed: bool) -> int:
        if self._voice.json:
            return self._show_json(_collected(frame))
        pending = _height(frame.filter(pl.col("status") == "pending"))
        last = row_pictures.rows_line(_height(frame), pending, run, failed=failed)
        first = _collected(frame.head(row_pictures.FIRST_ROWS))
        picture = row_pictures.rows(first, self.output.width, failed=failed)
        return self.show(None, last, picture, *self._summaries_of(run, tables))

    def show_table(self, frame: pl.LazyFrame, run: str, table: str) -> int:
        """A table of a run's other than its results, as it stands."""
        if self._voice.json:
            return self._show_json(_collected(frame))
        more = f"overnight results {run} --table {table} -o {table}.csv"
        last = f"{run}: {number_of(_height(frame), 'row')} of {table}; all of them: {more}"
        first = _collected(frame.head(row_pictures.FIRST_ROWS))
        return self.show(None, last, *row_pictures.plain_rows(first, self.output.width))

    def _show_json(self, frame: pl.DataFrame) -> int:
        self.output.write_bytes(frame.write_json().encode() + b"\n")
        return 0

    def show_costs(self, frame: pl.DataFrame, named: Sequence[str], output: Path | None = None) -> int:
        """The bill of one run by arm, with its phases; or one that is summed otherwise. A run may be in trouble."""
        troubles = bill_pictures.troubles(frame)
        wrote = "" if output is None else f"; wrote {output}"
        if self._voice.json:
            self._show_json(frame)
        elif "price_note" in frame.columns:
            settings = self._voice.settings() if isinstance(self._voice, Flags) else None
            phases = () if settings is None else phase_lines(run_folder(named[0], settings))
            pictures = bill_pictures.pictures(frame, self.output.width, phases)
            self.show(None, bill_pictures.last_line(frame, named[0]) + wrote, *pictures)
        else:
            whose = ", ".join(named) or "all runs"
            picture = bill_pictures.summed(frame, self.output.width)
            self.show(None, bill_pictures.summed_line(frame, whose) + wrote, picture)
        for trouble in troubles:
            complain_line(self._voice.typed(trouble))
        return LedgerError.exit_code if troubles else 0

    def show_models(self, cards: Sequence[ModelCard]) -> int:
        return self.show(cards, model_pictures.last_line(cards, newest().origin), *model_pictures.pictures(cards))

    def show_keys(self, found: Sequence[KeyStatus], *, rehearsal: bool) -> int:
        """The exit code says whether a key that is here is refused."""
        have = [one.provider for one in found if one.found]
        last = f"keys for {', '.join(have)}" if have else "no key is set; --emulate needs none"
        if rehearsal:
            last = "a rehearsal needs no key"
        self.show(found, last, row_pictures.keys(found))
        refused = not rehearsal and any(one.works is False for one in found)
        return Unauthorized.exit_code if refused else 0

    def follow(self, look: Look, interval: float) -> int:
        """Watch until nothing is open; the exit code says whether rows failed for good."""
        try:
            voice = self._voice
            found = follow(look, interval, quiet=voice.quiet, every_arm=voice.verbose, typed=voice.typed)
        except KeyboardInterrupt:
            complain_line("stopped watching; the run itself is not touched")
            return STOPPED
        code = self.show_status(found)
        return max(code, RowsFailed.exit_code if any(run.total("failed") for run in found) else 0)


def _collected(frame: pl.LazyFrame) -> pl.DataFrame:
    with readable_tables():
        return frame.collect()


def _height(frame: pl.LazyFrame) -> int:
    """How many rows there are, without reading them."""
    return int(_collected(frame.select(pl.len())).item())
