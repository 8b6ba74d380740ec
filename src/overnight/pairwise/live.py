"""Pairs judged at once, call by call, where there is no time for a batch; with the same ledger behind it."""

import sys
import tempfile
from pathlib import Path
from typing import Any, Self

import msgspec
import polars as pl

from overnight.api.keys import key_of
from overnight.api.notebook.cell import cell_progress
from overnight.core.arguments import checked
from overnight.core.errors import StudyError
from overnight.engine.progress import Snapshot
from overnight.pairwise._exports import results_table, write_csv
from overnight.pairwise._frames import pairs_of
from overnight.pairwise._judge import judge_of
from overnight.pairwise._judging import Judging, Question
from overnight.pairwise._rows import RAW, failed_rows
from overnight.tasks._pairs.answer_form import TAGS

_BAR = 40


class LiveResults(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Judged pairs, the pairs without a winner, and why they have none."""

    results: pl.DataFrame
    failed_pairs: pl.DataFrame
    failed_attempts: pl.DataFrame


@checked
def llm_compare_pair(
    ID1: str,  # noqa: N803 - as everybody calls it
    text1: str,
    ID2: str,  # noqa: N803
    text2: str,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str,
    backend: str = "openai",
    **options: Any,
) -> pl.DataFrame:
    """One pair, judged now: one row."""
    pair = [{"ID1": ID1, "text1": text1, "ID2": ID2, "text2": text2}]
    asked = (model, trait_name, trait_description, prompt_template, backend)
    judged = submit_llm_pairs(pair, *asked, verbose=False, progress=False, **options).results
    return judged.select(*RAW, *(name for name in ("raw_response",) if name in judged.columns))


@checked
def submit_llm_pairs(
    pairs: Any,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str,
    backend: str = "openai",
    verbose: bool = True,
    status_every: int = 100,
    save_path: str | Path | None = None,
    parallel: bool = True,
    workers: int | None = None,
    *,
    progress: bool = True,
    tag_prefix: str = TAGS[0],
    tag_suffix: str = TAGS[1],
    api_key: str | None = None,
    **options: Any,
) -> LiveResults:
    """Ask a judge about every pair, live. With `save_path`, the same call again asks only what has no answer yet.

    `save_path` is a CSV file; the run lies beside it in a folder of the same name. As many calls run at once as the
    provider allows, at most `workers`; one after the other with `parallel=False`. `verbose` says what happens, and how
    far it is after every `status_every` pairs; `progress` draws a bar, in a terminal or in a notebook's cell.
    """
    if workers is not None and workers < 1:
        raise StudyError(f"workers: {workers} is less than 1")
    if save_path is not None and not Path(save_path).name:
        raise StudyError("save_path: wanted the name of a CSV file, found none")
    frame, tags = pairs_of(pairs), (tag_prefix, tag_suffix)
    folder = Path(tempfile.mkdtemp(prefix="overnight-")) if save_path is None else Path(save_path).with_suffix(".live")
    judging = Judging(folder)
    question = Question(
        trait_name=trait_name, trait_description=trait_description, prompt_template=prompt_template, tags=tags
    )
    judge = judge_of(backend, model, options, tags=tags)
    study = judging.prepared(frame, judge, question)
    with key_of(judge.backend, api_key), Voice(status_every, verbose=verbose, progress=progress) as voice:
        judging.ask(study, workers if parallel else 1, voice.say, voice.tell)
    judged = judging.judged(tags)
    settled = judged.filter(pl.col("status") != "pending")
    found = results_table(settled)
    if save_path is not None:
        write_csv(found, Path(save_path))
    lost = judged["better_id"].is_null()
    return LiveResults(results=found, failed_pairs=frame.filter(lost), failed_attempts=failed_rows(settled))


class Voice:
    """What is said while pairs are judged: messages, a line each time so many have come, and a bar that grows."""

    def __init__(self, every: int, *, verbose: bool, progress: bool) -> None:
        self._every = max(every, 1)
        self._verbose = verbose
        self._told = 0
        self._cell = cell_progress() if progress else None
        self._terminal = progress and self._cell is None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._cell is not None:
            self._cell.end()
        if self._terminal:
            self._write("\n")

    def say(self, text: str) -> None:
        if self._verbose:
            self._write(f"{text}\n")

    def tell(self, snapshot: Snapshot) -> None:
        if self._cell is not None:
            self._cell.tell(snapshot)
        if self._terminal:
            share = snapshot.settled / max(snapshot.total, 1)
            full = round(share * _BAR)
            self._write(f"\r[{'=' * full}{' ' * (_BAR - full)}] {share:4.0%}")
        if snapshot.settled // self._every > self._told:
            self._told = snapshot.settled // self._every
            self.say(f"{snapshot.settled:,} of {snapshot.total:,} pairs, {snapshot.failed:,} failed")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()
