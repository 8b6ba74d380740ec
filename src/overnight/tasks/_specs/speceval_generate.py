"""SpecEval's flags of generation, those of its Together and Google scripts among them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from overnight.core.errors import StudyError
from overnight.core.stage import Stage
from overnight.tasks._specs.reading import MARKDOWN
from overnight.tasks._specs.speceval_export import Target, export_generations
from overnight.tasks._specs.speceval_flags import buckets_of, model_of, run_name
from overnight.terminal.parameters import Parameter

_NOT_NEEDED = "Taken as it is, and not needed: what may pass is asked again anyway."


@dataclass(frozen=True, kw_only=True)
class SpecEvalFlags:
    """The inputs of a specification instead of items; and where SpecEval's files go."""

    spec_path: Annotated[
        Path | None, Parameter(help="A specification, a .jsonl or .md file: see --inputs.", metavar="FILE")
    ] = None
    pregenerated_inputs_dir: Annotated[
        Path | None,
        Parameter(
            alias="--inputs", help="What is asked: a folder of <statement id>.json, or a table.", metavar="DIR|FILE"
        ),
    ] = None
    spec: Annotated[
        str | None, Parameter(help="The same as --spec-path; Together's script: --spec-name.", metavar="FILE|NAME")
    ] = None
    spec_name: Annotated[
        str | None,
        Parameter(help="How the specification is called in exports; default: its file's name.", metavar="NAME"),
    ] = None
    model_name: Annotated[str | None, Parameter(help="SpecEval's word for --model.", metavar="MODEL")] = None
    org: Annotated[
        str | None, Parameter(help="Whose model that is: openai, anthropic, google, together.", metavar="NAME")
    ] = None
    batch_size: Annotated[
        int | None,
        Parameter(help="At most so many requests in a batch; with Together, so many calls at once.", metavar="N"),
    ] = None
    output_base_dir: Annotated[
        Path | None, Parameter(help="Also write the answers here, as SpecEval lays them out.", metavar="DIR")
    ] = None
    input_bucket: Annotated[str | None, Parameter(help="Vertex: where requests lie, gs://...", metavar="URL")] = None
    output_bucket: Annotated[str | None, Parameter(help="Vertex: where answers lie, gs://...", metavar="URL")] = None
    max_retries: Annotated[int | None, Parameter(help=_NOT_NEEDED, metavar="N")] = None
    initial_retry_delay: Annotated[float | None, Parameter(help="The same.", metavar="S")] = None
    retry_backoff_factor: Annotated[float | None, Parameter(help="The same.", metavar="X")] = None
    retriable_error_substrings: Annotated[
        list[str] | None, Parameter(help="The same.", metavar="TEXT...", consume_multiple=True)
    ] = None

    @property
    def _spec_file(self) -> str | None:
        if self.spec_path is not None:
            return str(self.spec_path)
        return self.spec if self.spec is not None and self.spec.endswith((".jsonl", *MARKDOWN)) else None

    @property
    def _called(self) -> str:
        """The specification's name: as it is given, or its file's, or that of the folder of inputs."""
        if self.spec_name is not None:
            return self.spec_name
        if self.spec is not None and not self.spec.endswith(".jsonl"):
            return self.spec
        return Path(self._spec_file or str(self.pregenerated_inputs_dir)).stem

    @property
    def _together(self) -> bool:
        return any(one["model"].startswith("together/") for one in self.models())

    def models(self) -> list[dict[str, Any]]:
        return [] if self.model_name is None else [{"model": model_of(self.model_name, self.org)}]

    def spec_keys(self) -> dict[str, Any]:
        """As a study writes them; None for what is not given."""
        if self.spec is not None and self._spec_file is None and not self._together:
            raise StudyError(
                f"generate: --spec: wanted a .jsonl or .md file, found '{self.spec}'; a name is --spec-name"
            )
        if self.pregenerated_inputs_dir is None and self.output_base_dir is not None:
            raise StudyError("generate: --output-base-dir goes with --inputs, which is missing")
        if self.pregenerated_inputs_dir is None and self._spec_file is None:
            return {}
        live = {"mode": "live", "live": {"concurrency": self.batch_size}} if self._together and self.batch_size else {}
        batch = None if self.batch_size is None or self._together else {"max_requests": self.batch_size}
        return {
            "name": run_name(
                "generate" if self.pregenerated_inputs_dir else "statements",
                self._called,
                self.model_name or "",
                *(("vertex",) if self.input_bucket else ()),
            ),
            "spec": self._spec_file,
            "inputs": None if self.pregenerated_inputs_dir is None else str(self.pregenerated_inputs_dir),
            "batch": batch,
            "buckets": buckets_of(self.input_bucket, self.output_bucket),
            **({"mode": "live"} if self._together else {}),
            **live,
        }

    def export(self, tables: Path, stages: Sequence[Stage]) -> Iterator[str]:
        if self.output_base_dir is None:
            return
        (stage,) = stages
        if len({arm.name for arm in stage.arms}) > 1:
            raise StudyError("--output-base-dir: a folder holds the answers of one model; name one")
        model = self.model_name or stage.arms[0].model.name
        target = Target(self.output_base_dir, self._called)
        yield from export_generations(tables, stage, model, target, together=self._together)
