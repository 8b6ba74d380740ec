"""Pairs on their way through the engine: a run in a folder of its own, with what a later session needs beside it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from overnight.api import Run, run, submit
from overnight.api.reasking import Reask
from overnight.api.work import go_on_with
from overnight.core.errors import StudyChanged, StudyError
from overnight.core.files import folder_at
from overnight.core.wording import quoted
from overnight.emulation import share_emulator
from overnight.engine.progress import Snapshot
from overnight.ledger.ledger import look_at
from overnight.pairwise._frames import pairs_of, samples_in
from overnight.pairwise._judge import Judge
from overnight.pairwise._rows import judged_rows, raw_lines, with_keys
from overnight.pairwise.registry import PAIRS, Job, Segment, replace_file, segments_of
from overnight.settings import Settings, settings
from overnight.store.run_folder import RunFolder
from overnight.study import Study, differences_from, resolve
from overnight.tasks._pairs.answer_form import AnswerForm
from overnight.tasks._pairs.pairing import Pair, pair_id

RUN = "run"
JUDGE = "judge.json"

Say = Callable[[str], None]
Tell = Callable[[Snapshot], None]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """What the judge is asked about each pair."""

    trait_name: str
    trait_description: str
    prompt_template: str
    tags: tuple[str, str]

    def __post_init__(self) -> None:
        if self.tags[0] not in self.prompt_template:
            raise StudyError(
                f"prompt_template: {quoted(self.tags[0])} does not stand in it, so no judge would know how to answer; "
                "get_prompt_template() shows one that does"
            )


class Judging:
    """A folder with pairs that are being judged."""

    def __init__(self, output_dir: Path, place: Settings | None = None) -> None:
        self.folder = output_dir
        self.place = settings(runs=output_dir) if place is None else place
        self.run = RunFolder(self.place.root / RUN)

    @property
    def judge(self) -> Judge:
        return msgspec.json.decode((self.folder / JUDGE).read_bytes(), type=Judge)

    def is_ours(self) -> bool:
        return self.run.exists() and (self.folder / JUDGE).is_file()

    def segments(self) -> list[Segment]:
        return segments_of(self.folder, self.run)

    def jobs(self) -> list[Job]:
        return [segment.job for segment in self.segments()]

    def prepared(self, pairs: Any, judge: Judge, question: Question, batch: dict[str, int] | None = None) -> Study:
        """The pairs as a study, with what a later session needs written into the folder."""
        frame = with_keys(pairs_of(pairs))
        study = self._study(frame, judge, question, batch or {})
        self._refuse_other_questions(study)
        folder_at(self.folder, "output_dir")
        # Runs of a notebook are many and small: one provider for all rehearsals of a working folder.
        share_emulator(self.place, settings())
        replace_file(self.folder / JUDGE, msgspec.json.encode(judge))
        named = frame.with_columns(pl.Series("item_id", _item_ids(frame), dtype=pl.String))
        named.write_parquet(self.folder / PAIRS)
        return study

    def submit(self, study: Study, say: Say, tell: Tell) -> Run:
        """Send what is not sent yet; the same call again sends nothing twice."""
        return submit(study, runs=self.folder, say=say, tell=tell)

    def ask(self, study: Study, concurrency: int | None, say: Say, tell: Tell) -> Run:
        """Ask live what has no answer yet; what failed before is asked again."""
        again: tuple[Reask, ...] = ("failed",) if self.run.exists() else ()
        live = {} if concurrency is None else {"concurrency": concurrency}
        return run(study, mode="live", live=live, reask=again, runs=self.folder, say=say, tell=tell)

    def _refuse_other_questions(self, study: Study) -> None:
        """Before anything in the folder is touched."""
        if not self.run.exists():
            return
        with look_at(self.run) as view:
            known = view.facts.get("definition")
        changed = [] if known is None else differences_from(known, resolve(study).definition)
        if changed:
            raise StudyChanged(
                f"output_dir: {self.folder} holds other questions ({'; '.join(changed)}); choose another"
            )

    def _study(self, pairs: pl.DataFrame, judge: Judge, question: Question, batch: dict[str, int]) -> Study:
        return Study(
            name=RUN,
            task="compare",
            items=samples_in(pairs),
            id="ID",
            text="text",
            trait={"name": question.trait_name, "description": question.trait_description},
            templates=[{"name": "template", "text": question.prompt_template}],
            pairs={"list": pairs.select("ID1", "ID2"), "order": "given"},
            tags=list(question.tags),
            models=[judge.entry],
            batch=batch or None,
        )

    def work(self, *, interval: float, delay: float, downloads: int, say: Say, tell: Tell) -> Run:
        """One look at everything that is open: collect what has ended, send what is left.

        Downloads that fail are tried so often, with the same delay between as between batches. Rankings are left to
        who asks for them: a notebook has many runs, and fits what it puts together of them.
        """
        how = partial(
            msgspec.structs.replace, once=True, until_sent=False, poll_interval=interval, per_job_delay=delay,
            download_tries=downloads, download_pause=delay, own_tables=False,
        )  # fmt: skip
        return go_on_with(self.run, self.place, how, say=say, tell=tell)

    def judged(self, tags: tuple[str, str]) -> pl.DataFrame:
        """Every pair with its answer so far, in the order in which the pairs were given, and its segment."""
        tables = self.run.tables
        answers = pl.read_parquet(tables / "results.parquet", glob=False).drop("first_id", "second_id", "template")
        tries = (
            pl.read_parquet(tables / "attempts.parquet", glob=False).group_by("request_key", maintain_order=True).last()
        )
        shards = {segment.attempt.shard: segment.job.segment_index for segment in self.segments()}
        pairs = pl.read_parquet(self.folder / PAIRS, glob=False).with_row_index("row")
        joined = (
            pairs.join(answers.select(*_ANSWER), on="item_id", how="left")
            .join(tries.select(*_TRY), on="request_key", how="left")
            .sort("row")
        )
        judged = judged_rows(joined, raw_lines(joined, self.run.path), self.judge, AnswerForm(tags=tags))
        segment = joined["shard"].replace_strict(shards, default=None, return_dtype=pl.Int64)
        return judged.with_columns(segment.alias("segment_index"), joined["status"].alias("status"))


_ANSWER = (
    "item_id", "request_key", "model", "status", "cause", "answer", "thoughts", "input_tokens", "cached_tokens",
    "output_tokens", "reasoning_tokens", "cost",
)  # fmt: skip
_TRY = ("request_key", "shard", "custom_id", "received_at", "detail", "raw_file", "raw_offset")


def _item_ids(pairs: pl.DataFrame) -> list[str]:
    rows = pairs.select("ID1", "ID2", "unordered_occurrence_index").iter_rows()
    return [pair_id(Pair(first, second, occurrence)) for first, second, occurrence in rows]
