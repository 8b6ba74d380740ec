"""`report`: a run as one page to read, drawn from its own records."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.api.on_record import stages_on_record
from overnight.api.phases import phase_costs
from overnight.api.places import run_folder
from overnight.api.run_state import left_out_text
from overnight.api.tables import readable_tables
from overnight.api.work import Run
from overnight.core.arguments import checked
from overnight.core.ask import Arm, thinking_text
from overnight.core.attempt import Attempt
from overnight.core.errors import StudyError
from overnight.core.stage import Stage
from overnight.emulation.endpoints import REHEARSAL
from overnight.ledger.ledger import look_at
from overnight.ledger.raw import RawFiles
from overnight.ledger.transaction import View
from overnight.reporting.building import Built, build
from overnight.reporting.files import write_figures
from overnight.reporting.parts import Section, Source
from overnight.reporting.run_facts import BatchFacts, RunFacts, StageFacts
from overnight.reporting.run_sections import labels_of
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.study.identity import definition_on_record
from overnight.study.task_registry import task_kind, task_names
from overnight.tables.costs import COLUMNS, cost_rows

# A notebook's cell holds a page up to this size; a larger one is opened in a browser.
_IN_A_CELL = 2_000_000
_HASH = 16


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A report that was written: its page, what it found, and the files of its figures where they were asked for."""

    path: Path
    findings: tuple[str, ...]
    figures: tuple[Path, ...] = ()

    def _repr_html_(self) -> str:
        """The page in a notebook's cell, kept apart from the notebook's own."""
        size = self.path.stat().st_size
        if size > _IN_A_CELL:
            return f"<p>{escape(str(self.path))} ({size / 1e6:.1f} MB): open it in a browser.</p>"
        page = escape(self.path.read_text(encoding="utf-8"), quote=True)
        frame = 'sandbox="allow-scripts allow-downloads" style="width:100%;height:640px;border:1px solid #ccc"'
        return f'<iframe srcdoc="{page}" title="report" {frame}></iframe>'


@checked
def report(
    run: Run | str | Path,
    *,
    output: str | Path | None = None,
    figures: str | Path | None = None,
    png: bool = False,
    emulate: bool | None = None,
    runs: str | Path | None = None,
) -> Report:
    """Draw a run's report: one HTML file in its folder, or at `output`. The same records give the same bytes.

    `figures` is a folder for each figure as SVG and CSV; `png` adds PNG files (the extra `png`).
    """
    place = settings(runs=runs, emulate=emulate)
    folder = run.folder if isinstance(run, Run) else run_folder(run, place)
    if png and figures is None:
        message = "--png goes with --figures DIR: it says how figures are written there"
        raise StudyError(message)
    built = draw_report(folder)
    path = folder.report if output is None else Path(output)
    if output is None:
        folder.keep_report(built.html.encode())
    else:
        _write(path, built.html)
    files = [] if figures is None else write_figures(built.figures, Path(figures), png=png)
    return Report(path=path, findings=tuple(built.findings), figures=tuple(files))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        message = f"-o {path}: cannot write: {error.strerror or error}"
        raise StudyError(message) from error


def draw_report(folder: RunFolder) -> Built:
    """From the tables and the ledger as they are; nothing is written."""
    results = folder.tables_to_read() / "results.parquet"
    if not results.is_file():
        raise StudyError(f"run '{folder.name}' has no tables yet: overnight rebuild {folder.name}")
    with look_at(folder) as view, RawFiles(folder.files, view.files.paths()) as raw, readable_tables():
        stages = stages_on_record(view)
        facts = _facts(view, folder, stages)
        own = _own_sections(folder.tables, stages, _items(view, raw, stages))
        return build(facts, pl.scan_parquet(results, glob=False), own)


def drawn_sections(folder: RunFolder) -> list[Section]:
    """What the run's tasks draw of it, without what every run has."""
    with look_at(folder) as view, RawFiles(folder.files, view.files.paths()) as raw, readable_tables():
        stages = stages_on_record(view)
        return list(_own_sections(folder.tables_to_read(), stages, _items(view, raw, stages)))


def _items(view: View, raw: RawFiles, stages: tuple[Stage, ...]) -> Callable[[str, str], Mapping[str, Any]]:
    numbers = {stage.name: stage.id for stage in stages}
    return lambda stage, name: view.items.fields(raw.read, numbers[stage], name)


def _own_sections(tables: Path, stages: tuple[Stage, ...], item: Any) -> Iterator[Section]:
    for name in dict.fromkeys(stage.task.name for stage in stages):
        if name in task_names():
            own = [stage for stage in stages if stage.task.name == name]
            yield from task_kind(name).report(Source(tables=tables, stages=own, item=item))


def _facts(view: View, folder: RunFolder, stages: tuple[Stage, ...]) -> RunFacts:
    definition = view.facts.get("definition")
    hashes = {"study (what defines its questions)": _mark(hashlib.sha256(definition.encode())) if definition else ""}
    for name in ("results.parquet", "costs.parquet"):
        with (folder.tables / name).open("rb") as table:  # as it goes by: of a million rows it is forty megabytes
            hashes[f"tables/{name}"] = _mark(hashlib.file_digest(table, "sha256"))
    return RunFacts(
        name=folder.name,
        # By where it was sent, too: a copy of the folder may lie anywhere.
        rehearsal=".rehearsal" in folder.path.resolve().parts
        or any(account.place == REHEARSAL for account in view.accounts.everything().values()),
        version=version("overnight"),
        stages=[
            StageFacts(
                name=stage.name,
                task=stage.task.name,
                version=stage.task.version,
                of=stage.of,
                arms=[_arm(arm) for arm in stage.arms],
                items=count or None,
                items_hash=f"SHA-256 {mark[:_HASH]}" if count else "",
            )
            for stage in stages
            for count, mark in [view.items.mark(stage.id)]
        ],
        definition=None if definition is None else definition_on_record(definition),
        hashes={what: value for what, value in hashes.items() if value},
        batches=list(batch_facts(view)),
        left_out=[
            *(text for phase in phase_costs(view) for text in phase.moved_on),
            *(left_out_text(one) for one in view.threads.left_out()),
        ],
        asked_again=view.counts.asked_again(),
        costs=_costs(view, folder),
        shared=_shared(view),
    )


def _costs(view: View, folder: RunFolder) -> pl.DataFrame:
    """The bill as the tables have it; from the rows, which takes a look at each of them, where the tables are older."""
    if view.facts.tables_made():
        known = pl.read_parquet(folder.tables / "costs.parquet", glob=False)
        if known.schema == pl.Schema(COLUMNS):
            return known
    return pl.DataFrame(list(cost_rows(view)), schema=COLUMNS, orient="row")


def _shared(view: View) -> int:
    kept = view.facts.get("shared") or "0"
    return int(kept) if kept.isdecimal() and kept.isascii() else 0


def _mark(digest: "hashlib._Hash") -> str:
    return f"SHA-256 {digest.hexdigest()[:_HASH]}"


def _arm(arm: Arm) -> dict[str, str]:
    options = msgspec.to_builtins(arm.model.options)
    form = {"json_schema": "given"} if options.pop("json_schema", None) is not None else {}
    options.pop("thinking", None)
    told = ", ".join(f"{name} {value}" for name, value in sorted((options | form).items()))
    thinking = thinking_text(arm.model.options.thinking)
    return {
        "template": arm.template,
        "provider": arm.model.provider,
        "model": arm.model.name,
        "thinking": "" if thinking == "default" else thinking,
        "direction": "" if arm.direction == "forward" else arm.direction,
        "options": told,
    }


def batch_facts(view: View) -> Iterator[BatchFacts]:
    """What was sent, oldest first. What is still under way lasts until the last thing that is on record."""
    log = view.attempts.log()
    latest = max((entry.at for entry in log), default=0.0)
    closed = {(entry.shard, entry.n): entry.at for entry in log if entry.kind == "closed"}
    accounts = view.accounts.everything()
    names = {number: account.provider for number, account in accounts.items()}
    known = view.stages.arms()
    labels = labels_of([(arm.stage, arm.name) for arm in known.values()])
    for attempt in view.attempts.everything():
        if attempt.submitted_at is None:
            continue
        end = attempt.ended_at or closed.get((attempt.shard, attempt.n)) or latest
        root = view.accounts.root(attempt.account)
        alike = sorted({view.accounts.root(number) for number, name in names.items() if name == names.get(root)})
        provider = names.get(root, "made elsewhere")
        yield BatchFacts(
            name=_batch_name(attempt, labels[known[attempt.arm].stage, known[attempt.arm].name]),
            account=provider if len(alike) < 2 else f"{provider}, account {alike.index(root) + 1}",
            begin=attempt.submitted_at,
            end=max(end, attempt.submitted_at),
            rows=attempt.rows,
            state=attempt.state,
            live=attempt.live,
        )


def _batch_name(attempt: Attempt, arm: str) -> str:
    """`3 gpt-4.1`, `3 gpt-4.1, try 2`, `3 gpt-4.1, live`."""
    again = f", try {attempt.n}" if attempt.n > 1 else ""
    return f"{attempt.shard} {arm}{again}{', live' if attempt.live else ''}"
