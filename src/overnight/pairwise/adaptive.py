"""Adaptive ranking in notebooks: pairs are chosen in rounds by the verdicts on those before, until the order is sure
enough.

A session is a folder: what was asked, and the run with every choice, verdict and dollar. It is saved at every step,
so that whoever loads it goes on where it was, in this process or another.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from shutil import copytree
from typing import Any, Literal

import msgspec
import polars as pl

from overnight.api import Run, run
from overnight.api.keys import key_of
from overnight.core.arguments import checked
from overnight.core.errors import StudyError, WrongArgument
from overnight.core.files import folder_at
from overnight.emulation import share_emulator
from overnight.pairwise._judge import Judge, judge_of
from overnight.pairwise._judging import Question
from overnight.pairwise.adaptive_logs import item_log, round_log, step_log
from overnight.pairwise.live import Voice
from overnight.pairwise.registry import replace_file
from overnight.pairwise.samples import read_samples_df
from overnight.pairwise.templates import get_prompt_template
from overnight.settings import settings
from overnight.store.run_folder import RunFolder
from overnight.study import Study
from overnight.tasks._pairs.answer_form import TAGS

_RUN = "adaptive"
_SESSION, _SAMPLES = "session.json", "samples.parquet"
# Comparisons of each sample, where nobody says how many pairs there may be.
_EACH = 20

Mode = Literal["live", "batch"]


class _Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What a session is, beside its samples."""

    judge: Judge
    question: Question
    pairs: dict[str, Any]
    mode: Mode


class AdaptiveSession:
    """A folder with an adaptive ranking, finished or under way."""

    @checked
    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._kept = _read_session(self.folder)

    def __repr__(self) -> str:
        return f"AdaptiveSession({str(self.folder)!r})"

    @property
    def run(self) -> RunFolder:
        return RunFolder(settings(runs=self.folder).root / _RUN)

    @property
    def tables(self) -> Path:
        return self.run.tables

    def table(self, name: str) -> pl.DataFrame:
        path = self.tables / f"{name}.parquet"
        if not path.exists():
            raise StudyError(f"{self.folder}: there is no table '{name}' yet; adaptive_rank_resume goes on")
        return pl.read_parquet(path, glob=False)

    @property
    def stopped(self) -> str | None:
        """Why no further round was asked; None while the session is under way."""
        found = self.table("precision") if (self.tables / "precision.parquet").exists() else None
        return None if found is None or found.is_empty() else found["stopped"][-1]

    def study(self) -> Study:
        kept = self._kept
        return Study(
            name=_RUN,
            task="compare",
            items=pl.read_parquet(self.folder / _SAMPLES),
            id="ID",
            text="text",
            trait={"name": kept.question.trait_name, "description": kept.question.trait_description},
            templates=[{"name": "template", "text": kept.question.prompt_template}],
            pairs={"select": "adaptive", **kept.pairs},
            tags=list(kept.question.tags),
            models=[kept.judge.entry],
            mode=kept.mode,
        )

    def go_on(self, *, verbose: bool = True, progress: bool = True, api_key: str | None = None) -> Run:
        share_emulator(settings(runs=self.folder), settings())
        with key_of(self._kept.judge.backend, api_key), Voice(100, verbose=verbose, progress=progress) as voice:
            return run(self.study(), runs=self.folder, say=voice.say, tell=voice.tell)


def _read_session(folder: Path) -> _Kept:
    file = folder / _SESSION
    if not file.is_file() or not (folder / _SAMPLES).is_file():
        raise StudyError(f"{folder}: this is no adaptive session: {_SESSION} or {_SAMPLES} is missing")
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Kept)
    except msgspec.DecodeError as error:
        raise StudyError(f"{file}: not as a session keeps it: {error}") from None


@checked
def make_adaptive_judge_llm(
    backend: str,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Who judges, and what is asked, for `adaptive_rank_start`."""
    template = get_prompt_template() if prompt_template is None else prompt_template
    question = Question(trait_name=trait_name, trait_description=trait_description, prompt_template=template, tags=TAGS)
    return {"judge": judge_of(backend, model, options), "question": question}


@checked
def adaptive_rank_start(
    samples: Any,
    judge: Mapping[str, Any],
    session_dir: str | Path = "adaptive-session",
    *,
    n_pairs: int | None = None,
    rounds: int = 6,
    until: Mapping[str, Any] | None = None,
    reverse: float = 0.0,
    seed: int = 0,
    mode: Mode = "live",
) -> AdaptiveSession:
    """A session that has asked nothing yet. There may be one already, with the same samples and the same judge.

    `n_pairs` is the most pairs there may be, 20 comparisons of each sample unless told. `until` is when they are
    enough, as in a study: `{"reliability": 0.9}`, `{"width": 0.8}` or `{"top": 5}`; a reliability of .9 unless told,
    and `{}` for never.
    """
    frame = read_samples_df(samples)
    folder = folder_at(Path(session_dir), "session_dir")
    most = frame.height * (frame.height - 1) // 2
    pairs: dict[str, Any] = {
        "n": min(most, frame.height * _EACH // 2) if n_pairs is None else n_pairs,
        "rounds": rounds,
        "reverse": reverse,
        "seed": seed,
    }
    rule = {"reliability": 0.9} if until is None else dict(until)
    who, question = judge.get("judge"), judge.get("question")
    if not isinstance(who, Judge) or not isinstance(question, Question):
        raise WrongArgument("adaptive_rank_start: judge: wanted what `make_adaptive_judge_llm` gives")
    kept = _Kept(judge=who, question=question, pairs=pairs | ({"until": rule} if rule else {}), mode=mode)
    replace_file(folder / _SAMPLES, _parquet(frame))
    replace_file(folder / _SESSION, msgspec.json.format(msgspec.json.encode(kept), indent=2))
    return AdaptiveSession(folder)


def _parquet(frame: pl.DataFrame) -> bytes:
    from io import BytesIO  # noqa: PLC0415

    out = BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


@checked
def adaptive_rank_run_live(
    session: AdaptiveSession, *, verbose: bool = True, progress: bool = True, api_key: str | None = None
) -> AdaptiveSession:
    """Go on with a session until it stops by itself; what was asked is never asked again."""
    session.go_on(verbose=verbose, progress=progress, api_key=api_key)
    return session


@checked
def adaptive_rank_resume(
    session_dir: str | Path, *, verbose: bool = True, progress: bool = True, api_key: str | None = None
) -> AdaptiveSession:
    """The session of a folder, from where it was."""
    return adaptive_rank_run_live(AdaptiveSession(session_dir), verbose=verbose, progress=progress, api_key=api_key)


@checked
def adaptive_rank(
    samples: Any,
    model: str,
    trait_name: str,
    trait_description: str,
    prompt_template: str | None = None,
    backend: str = "openai",
    session_dir: str | Path = "adaptive-session",
    *,
    n_pairs: int | None = None,
    rounds: int = 6,
    until: Mapping[str, Any] | None = None,
    reverse: float = 0.0,
    seed: int = 0,
    mode: Mode = "live",
    verbose: bool = True,
    progress: bool = True,
    api_key: str | None = None,
    **options: Any,
) -> AdaptiveSession:
    """Start a session and run it to its end; the same call again goes on where the last one ended."""
    judge = make_adaptive_judge_llm(backend, model, trait_name, trait_description, prompt_template, **options)
    session = adaptive_rank_start(
        samples,
        judge,
        session_dir,
        n_pairs=n_pairs,
        rounds=rounds,
        until=until,
        reverse=reverse,
        seed=seed,
        mode=mode,
    )
    return adaptive_rank_run_live(session, verbose=verbose, progress=progress, api_key=api_key)


@checked
def save_adaptive_session(session: AdaptiveSession, session_dir: str | Path) -> Path:
    """A copy of a session that has stopped. One that is under way is saved where it is, at every step."""
    target = Path(session_dir)
    # A link that leads to itself has no place, and `resolve` raises there.
    if os.path.realpath(target) == os.path.realpath(session.folder):
        return target
    if session.stopped is None:
        raise StudyError(f"{session.folder}: still under way, and kept there; two copies would both go on and pay")
    if target.exists():
        raise StudyError(f"{target}: exists already; choose another folder")
    copytree(session.folder, target)
    return target


@checked
def load_adaptive_session(session_dir: str | Path) -> AdaptiveSession:
    return AdaptiveSession(session_dir)


@checked
def validate_session_dir(session_dir: str | Path) -> bool:
    """Whether a folder holds a session that can be gone on with; a StudyError says what is missing."""
    AdaptiveSession(session_dir).study()
    return True


@checked
def adaptive_step_log(session: AdaptiveSession) -> pl.DataFrame:
    """A row for each pair in each order that was asked: when it was chosen and why, and who won."""
    return step_log(session.table("selection"), session.table("verdicts"))


@checked
def adaptive_round_log(session: AdaptiveSession) -> pl.DataFrame:
    """A row for each round: pairs and dollars so far, and how sure the order was by then."""
    return round_log(session.table("precision"))


@checked
def adaptive_item_log(session: AdaptiveSession, refit: int | None = None) -> pl.DataFrame:
    """A row for each sample after a round (the last, unless told): ability and rank, with what is known of both."""
    return item_log(session.table("verdicts"), session.table("selection"), refit)


@checked
def adaptive_get_logs(session: AdaptiveSession) -> dict[str, pl.DataFrame]:
    return {
        "step_log": adaptive_step_log(session),
        "round_log": adaptive_round_log(session),
        "item_log": adaptive_item_log(session),
    }


@checked
def adaptive_results_history(session: AdaptiveSession) -> pl.DataFrame:
    """All verdicts so far, as `build_bt_data` takes them."""
    return session.table("verdicts")


@checked
def summarize_adaptive(session: AdaptiveSession) -> pl.DataFrame:
    """One row: how far it is, what it cost, how sure the order is, and why it stopped."""
    return adaptive_round_log(session).tail(1)


@checked
def summarize_items(session: AdaptiveSession) -> pl.DataFrame:
    """The ranking over all verdicts, best first."""
    return session.table("rankings").filter(pl.col("scope") == "all").drop("stage", "scope")


@checked
def summarize_refits(session: AdaptiveSession) -> pl.DataFrame:
    """A row for each round: the same as the round log, by which rules are held."""
    columns = ("round", "pairs", "mean_se", "width", "reliability", "top_certainty", "split_half", "stopped")
    return adaptive_round_log(session).select(columns)
