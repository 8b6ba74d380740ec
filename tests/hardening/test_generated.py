"""A small sample of what `make hardening` types by the thousand, and what it found at first."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest

from hardening.generated.cases import Case, finding
from hardening.generated.families import FAMILIES

SAMPLE = 12
# Beside a provider of its own each: what was found is enough for every day.
SLOW = ("paid rows", "paid staged rows")
FOUND = {
    "studies": ("study generate prompt = beyond unicode", "study generate templates.0 = long name", "study generate task = long text"),
    "items": ("items.csv is a FIFO", "items.jsonl is a FIFO", "items.parquet is a FIFO", "items.csv is zeros without end", "items.parquet of id long"),
    "verdicts": ("verdicts of ID1 durations ", "verdicts of ID2 lists judge", "verdicts of better_id bytes ", "verdicts of other count structs ", "verdicts.parquet byte 546 0x0", "verdicts.jsonl is memory"),
    "files": (".env is a FIFO", ".env utf-16"),
    "flags": ("plan --show='99999999999'", "adopt --token='24h'", "plan --compare-models='-inf'"),
    "folders": (
        "ledger.db is a FIFO, verify", "ledger.db is a FIFO, status", "raw/ is a file, verify", "tables/results.parquet is a folder, results",
        "tables/results.parquet of zeros, results", "tables/results.parquet flipped at 0/10, results --failed", "event.data = json, verify",
        "event.data = text, status", "arm.definition = text, costs", "attempt.shard = text, verify --json", "fact work = json, resume",
        "result.received_at = huge, verify --json", "event.at = huge, status", "attempt.intended_at = huge, costs",
        "counted.output = path, plan", "counted.output = huge, verify --json", "tables/results.parquet flipped at 3/10, results -o",
        "slot.replicate = huge, rebuild", "fact definition = number as text, overnight.report", "fact definition = mapping of stages, run",
    ),
    "staged folders": (
        "staged: slot.arm of another, overnight.resume", "staged: stage.settings of another, verify --json",
        "staged: counted.output = json, run --as", "staged: counted.tries = huge, overnight.verify", "staged: counted.arm = huge, plan",
        "staged: slot.item = json, overnight.run", "staged: round_closed.left_out = half, run --reask",
        "staged: round_closed.left_out = negative, overnight.run", "staged: tables/flip_agreement.parquet gone, overnight.report",
        "staged: settled.attempt = NULL, overnight.resume", "staged: settled.line = negative, overnight.resume",
        "staged: result.attempt = negative, resume", "staged: shard_done without rows, resume",
        "staged: tables/consistency.parquet is a folder, overnight.resume", "staged: shard.rows = empty, serve",
    ),
    "open folders": ("open: counted.arm of another, resume all",),
    "paid rows": ("paid, half: shard.rows = huge, run", "paid, half: counted.input = huge, run", "paid, live: last row of settled gone, resume", "paid, done: attempt.n = huge, resume"),
    "paid staged rows": ("paid, staged: slot.item of another, run",),
    "calls": (
        "overnight.plan(Study(spec, seed=five thousand digits))", "overnight.plan(Study(compare, items=half a character))",
        "overnight.plan(Study(pressure, stance=long text))", "overnight.plan(Study(rank, deadline=control characters))",
        "overnight.plan(pilot=three)", "overnight.results(stage=control characters)", "overnight.compare_models(stage=long text)",
        "overnight.analysis.cohen_kappa(a=mixed list)", "overnight.analysis.fleiss_kappa(ratings=list inside itself)",
        "overnight.analysis.compute_reverse_consistency(main_results=None)",
        "overnight.pairwise.adaptive_rank_start(judge=mapping of lists)",
        "overnight.pairwise.save_adaptive_session(session_dir=link to itself)",
        "overnight.pairwise.adaptive_rank(api_key=control characters)",
    ),
}  # fmt: skip


@cache
def cases(family: str) -> dict[str, Case]:
    """Made when they are first wanted: some need a whole run."""
    return {case.name: case for case in FAMILIES[family]()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("family", "name"), [(family, name) for family, names in FOUND.items() for name in names])
def test_what_was_found_once_ends_in_one_clear_line(family: str, name: str, tmp_path: Path) -> None:
    assert finding(cases(family)[name], tmp_path) is None


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("number", range(SAMPLE))
@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in SLOW])
def test_malformed_input_ends_in_one_clear_line(family: str, number: int, tmp_path: Path) -> None:
    drawn = random.Random(1).sample(sorted(cases(family)), SAMPLE)[number]
    assert finding(cases(family)[drawn], tmp_path) is None
