"""SpecEval's pipelines: the very runs that `overnight generate`, `rank` and `comply` make of the same words."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from overnight.api import Run, run, submit
from overnight.core.arguments import checked
from overnight.core.errors import StudyError, WrongArgument
from overnight.speceval.models import BatchedModel
from overnight.study import Study, resolve
from overnight.study.task_kind import Exports
from overnight.tasks import comply, generate, rank
from overnight.tasks._judging.flags import JudgingFlags

Spec = str | Path


class _Pipeline:
    """A study of one stage by one model, and SpecEval's files of it.

    The run is named by what it does, so that the same pipeline, in this process or another, goes on with it.
    """

    def __init__(
        self, task: str, flags: Any, model: BatchedModel, *, name: str | None, runs: str | Path | None, verbose: bool
    ) -> None:
        self._task = task
        self._flags = flags
        self._model = model
        self._pace = model.pace(flags.batch_size)
        self._name = name
        self._runs = None if runs is None else Path(runs)
        self._verbose = verbose

    @property
    def study(self) -> Study:
        """What is asked of whom."""
        keys = self._flags.keys()
        written = {
            "task": self._task,
            "models": [self._model.entry()],
            **keys,
            "batch": None,
            "name": keys["name"] if self._name is None else self._name,
            **self._pace,
        }
        return Study.from_mapping({key: value for key, value in written.items() if value is not None}, self._task)

    @checked
    def submit(self) -> Run:
        """Send what is not sent yet and come back; `run` collects it, whenever that is."""
        if self._model.live:
            raise StudyError(f"{self._model!r} is asked call by call, so there is nothing to hand over: use run()")
        with self._model.key():
            return submit(self.study, runs=self._runs, say=self._say)

    @checked
    def run(self, timeout: float | str | None = None) -> Run:
        """Send, wait, collect, and write SpecEval's files. The same again goes on where the last one ended."""
        study = self.study
        with self._model.key():
            done = run(study, timeout=timeout, runs=self._runs, say=self._say)
        if isinstance(self._flags, Exports) and (done.path / "tables" / "results.parquet").exists():
            for line in self._flags.export(done.path / "tables", resolve(study).stages):
                self._say(line)
        return done

    def _say(self, text: str) -> None:
        if self._verbose:
            print(text, file=sys.stderr)  # noqa: T201 - what `verbose` asks for


class BatchedGenerationPipeline(_Pipeline):
    """A model answers the inputs of a specification.

    `output_base_dir` gets the answers as SpecEval lays them out, beside the run in `runs`.
    """

    @checked
    def __init__(
        self,
        spec_path: Spec | None,
        batched_model: BatchedModel,
        pregenerated_inputs_dir: str | Path,
        batch_size: int | None = None,
        output_base_dir: str | Path | None = None,
        *,
        spec_name: str | None = None,
        name: str | None = None,
        runs: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        flags = generate.Flags(
            spec_path=None if spec_path is None else Path(spec_path),
            pregenerated_inputs_dir=Path(pregenerated_inputs_dir),
            model_name=batched_model.model_name,
            org=batched_model.org,
            output_base_dir=None if output_base_dir is None else Path(output_base_dir),
            **_common(batched_model, batch_size, spec_name),
        )
        super().__init__("generate", flags, batched_model, name=name, runs=runs, verbose=verbose)


class BatchedRankingPipeline(_Pipeline):
    """A judge compares the answers of candidates, two at a time and in both orders, statement by statement."""

    @checked
    def __init__(
        self,
        spec_path: Spec,
        candidate_generation_dirs: Sequence[str | Path],
        ranking_judge: BatchedModel,
        batch_size: int | None = None,
        output_dir_base: str | Path | None = None,
        *,
        spec_name: str | None = None,
        name: str | None = None,
        runs: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        common = _common(ranking_judge, batch_size, spec_name)
        flags = _judging(rank.Flags, spec_path, candidate_generation_dirs, ranking_judge, output_dir_base, common)
        super().__init__("rank", flags, ranking_judge, name=name, runs=runs, verbose=verbose)


class BatchedCompliancePipeline(_Pipeline):
    """A judge says of each answer whether it keeps to its statement."""

    @checked
    def __init__(
        self,
        spec_path: Spec,
        candidate_generation_dirs: Sequence[str | Path],
        compliance_judge: BatchedModel,
        batch_size: int | None = None,
        output_dir_base: str | Path | None = None,
        *,
        spec_name: str | None = None,
        name: str | None = None,
        runs: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        common = _common(compliance_judge, batch_size, spec_name)
        flags = _judging(comply.Flags, spec_path, candidate_generation_dirs, compliance_judge, output_dir_base, common)
        super().__init__("comply", flags, compliance_judge, name=name, runs=runs, verbose=verbose)


def _judging(
    flags: type[JudgingFlags],
    spec: Spec,
    candidates: Sequence[str | Path],
    judge: BatchedModel,
    files: str | Path | None,
    common: dict[str, Any],
) -> JudgingFlags:
    """The flags of a command that judges, by SpecEval's names for them."""
    if not candidates:
        raise WrongArgument("candidate_generation_dirs: the list is empty")
    names: dict[str, Any] = {f"{flags.judge}_judge_model_name": judge.model_name, f"{flags.judge}_judge_org": judge.org}
    return flags(
        spec_path=Path(spec),
        candidate_generation_dirs=[str(one) for one in candidates],
        output_dir_base=None if files is None else Path(files),
        **names,
        **common,
    )


def _common(model: BatchedModel, batch_size: int | None, spec_name: str | None) -> dict[str, Any]:
    if spec_name is not None and not spec_name.strip():
        raise WrongArgument("spec_name: the text is empty")
    buckets = {"input_bucket": model.input_bucket, "output_bucket": model.output_bucket}
    return {"batch_size": batch_size, "spec_name": spec_name, **buckets}
