"""The last word on a run: what came of it, where it is, and what to type next."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.table import Table
from rich.text import Text

from overnight.api import Run
from overnight.cli.words import OUTCOMES, causes_text, money_text, outcomes_text, tokens_text
from overnight.core.money import DOLLAR
from overnight.terminal.plain_text import one_line

_STYLES = {
    "done": "green",
    "submitted": "green",
    "running": "yellow",
    "stopped": "yellow",
    "cancelled": "yellow",
    "rows failed": "red",
    "undecided": "red",
    "held up": "red",
    "over budget": "red",
    "blocked": "red",
}


def headline(run: Run, message: str) -> Text:
    """`fruit: all rows are settled`; several lines when there is more than one thing to decide."""
    lines = [one_line(line) for line in message.splitlines()]
    return Text("\n".join(f"{run.name}: {line}" for line in lines), style=_STYLES[run.state])


def details(
    run: Run, causes: Mapping[str, int], next_command: str, report: Path | None = None, phases: Sequence[str] = ()
) -> Table:
    """Rows by outcome with their causes, tokens, phases, and where the table and the report are."""
    snapshot = run.snapshot
    why = f" ({causes_text(causes)})" if causes else ""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim")
    grid.add_column(overflow="fold")
    grid.add_row("  rows", outcomes_text(snapshot) + why)
    grid.add_row("  tokens", tokens_text(snapshot.input_tokens, snapshot.output_tokens))
    grid.add_row("  cost", money_text(snapshot.spent, snapshot.priced, snapshot.presumed))
    for phase in phases:
        grid.add_row("  phases", one_line(phase))
    grid.add_row("  table", str(run.path / "tables" / "results.parquet"))
    if report is not None:
        grid.add_row("  report", str(report))
    if run.state == "done":
        grid.add_row("  next", next_command)
    return grid


def document(
    run: Run, message: str, causes: Mapping[str, int], report: Path | None = None, phases: Sequence[str] = ()
) -> dict[str, Any]:
    """The same for programs."""
    snapshot = run.snapshot
    return {
        "run": run.name,
        "path": str(run.path),
        "state": run.state,
        "message": message,
        "exit_code": run.exit_code,
        "rows": {"total": snapshot.total} | {outcome: getattr(snapshot, outcome) for outcome in OUTCOMES},
        "causes": dict(causes),
        "input_tokens": snapshot.input_tokens,
        "output_tokens": snapshot.output_tokens,
        "cost": None if snapshot.priced == "none" else snapshot.spent / DOLLAR,
        "presumed": None if snapshot.priced == "none" else snapshot.presumed / DOLLAR,
        "phases": list(phases),
        "batches": msgspec.to_builtins(snapshot.batches),
        "results": str(run.path / "tables" / "results.parquet"),
        "report": None if report is None else str(report),
    }
