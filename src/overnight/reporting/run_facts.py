"""What is known of a run beside its tables: plain values, taken from its ledger by whoever may look into it."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import polars as pl


class StageFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    task: str
    # Of the task: its answers' meaning changes with it.
    version: str
    of: str | None
    arms: Sequence[Mapping[str, str]]
    # How many items it was given, and a short hash of all of them; None for requests that were made elsewhere.
    items: int | None = None
    items_hash: str = ""


class BatchFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt that was sent: a batch, or a slice of live calls. Times are seconds since 1970."""

    name: str
    account: str
    begin: float
    end: float
    rows: int
    state: str
    live: bool


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    rehearsal: bool
    version: str
    stages: Sequence[StageFacts]
    # What defines the questions, as the study had it; None for requests that were made elsewhere.
    definition: Mapping[str, Any] | None
    # Short hashes, by what they are of.
    hashes: Mapping[str, str]
    batches: Sequence[BatchFacts]
    # Sentences about rows that later stages were not given.
    left_out: Sequence[str]
    # Failed tries that were made again, by cause.
    asked_again: Mapping[str, int]
    costs: pl.DataFrame
    # Rows that took the answer of another row that asks the same.
    shared: int = 0
